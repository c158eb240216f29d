// SPDX-License-Identifier: MIT
// lines.js: facts of instructions as facts of source lines: sums per line, which are hottest, which stretches to show. Pure.

const COUNTS = ["runs", "lanes", "diverged", "requests", "bytes", "sectors", "ideal_sectors", "wavefronts", "ideal_wavefronts"];

/** What a line can be hot by: [key, title, unit of the count, definition]. */
export const HEATS = [
  ["samples", "PC samples", "how often a warp was found at the line's instructions, in all launches"],
  ["excess", "Wasted sectors", "sectors beyond those that the bytes asked for would need"],
  ["sectors", "Sectors", "32-byte sectors of global and local memory"],
  ["conflicts", "Extra rounds", "shared-memory rounds beyond those that the access width needs: bank conflicts"],
  ["wavefronts", "Rounds", "rounds (wavefronts) of shared memory"],
  ["diverged", "Splits", "runs of a branch in which a warp split"],
  ["runs", "Instructions", "instructions that warps ran"],
];

const blank = () => Object.fromEntries([...COUNTS, "excess", "conflicts", "samples"].map((c) => [c, 0]));

function add(to, i, launches) {
  for (const c of COUNTS) to[c] += i[c] / launches;
  to.excess += Math.max(0, i.sectors - i.ideal_sectors) / launches;
  to.conflicts += Math.max(0, i.wavefronts - i.ideal_wavefronts) / launches;
}

/** PC samples of a line or an instruction: counts and reasons. They are of all launches, whatever "launches" says. */
function addSamples(to, r) {
  to.samples += r.samples;
  to.stalls ??= {};
  for (const [reason, n] of Object.entries(r.stalls)) to.stalls[reason] = (to.stalls[reason] ?? 0) + n;
}

/** An answer of …/source as {lines: [{id, file, line, text, opcodes, instructions, counts a launch …}], total}; in the order of files and lines. */
export function linesOf(d) {
  const by = new Map(), total = blank(), launches = Math.max(1, d.launches);
  const lineOf = ({ file, line }) => {
    const id = `${file}:${line}`, f = d.files[file];
    if (!by.has(id)) by.set(id, { id, file, line, text: f.lines[line - f.first] ?? null, instructions: new Map(), ...blank() });
    return by.get(id);
  };
  for (const i of d.instructions) {
    add(total, i, launches);
    if (i.file === null) continue;
    const l = lineOf(i), at = `${i.code} ${i.at} ${i.space} ${i.access}`;
    add(l, i, launches);
    // Several processes may tell of one instruction.
    if (!l.instructions.has(at)) l.instructions.set(at, { key: at, at: i.at, opcode: i.opcode, space: i.space, access: i.access, ...blank() });
    add(l.instructions.get(at), i, launches);
  }
  for (const r of d.samples?.rows ?? []) {
    addSamples(total, r);
    if (r.file === null || !r.samples) continue;
    addSamples(lineOf(r), r);
  }
  const lines = [...by.values()].map((l) => ({ ...l, instructions: [...l.instructions.values()].sort((a, b) => a.at - b.at) }));
  return { lines: lines.sort((a, b) => a.file - b.file || a.line - b.line), total };
}

/** The reasons of samples, the most frequent first: [[reason, samples], …]. */
export const reasonsOf = (stalls) => Object.entries(stalls ?? {}).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));

/** What to look at first: where warps were found; what is wasted, if a tenth of it is; else what there is most of. */
export function mainHeat(total) {
  if (total.samples > 0) return "samples";
  const waste = [["conflicts", total.conflicts / (total.wavefronts || 1), total.conflicts], ["excess", total.excess / (total.sectors || 1), total.excess]].filter(([, share]) => share >= 0.1).sort((a, b) => b[2] - a[2]);
  return waste[0]?.[0] ?? ["sectors", "wavefronts"].find((k) => total[k] > 0) ?? "runs";
}

/** Lines by heat, the hottest first; cold ones left out. */
export const hottest = (lines, heat) => lines.filter((l) => l[heat] > 0).sort((a, b) => b[heat] - a[heat]);

const AROUND = 3;
/** Stretches of a file that are shown: [[from, to], …] around its lines with facts; what lies between is folded. */
export function stretches(numbers, last) {
  const out = [];
  for (const n of numbers) {
    const a = Math.max(1, n - AROUND), b = Math.min(last, n + AROUND), before = out.at(-1);
    if (before && a <= before[1] + 2) before[1] = Math.max(before[1], b);
    else out.push([a, b]);
  }
  return out;
}
