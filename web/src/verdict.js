// SPDX-License-Identifier: MIT
// verdict.js: what limits a kernel, from the numbers of its report. Pure: facts in, facts out; the words are made in ui and pages.

const has = (v) => v !== null && v !== undefined && v.value !== null && v.value !== undefined;
const UNITS = [["sm_throughput", "SM"], ["l1_throughput", "L1"], ["l2_throughput", "L2"], ["dram_throughput", "DRAM"]];

/** From here on a unit is called the limit: below, waiting is. The rules draw the line at the same place. */
export const BUSY = 0.6;

/** Everything that could be the limit, the nearest first: {title, kind: memory | compute | unit, share, rate, of, unit}. */
export function limits(k) {
  const out = [];
  for (const t of k.roofline?.traffic ?? []) if (t.percent !== null && t.percent !== undefined) out.push({ title: t.level, kind: "memory", share: t.percent, rate: t.rate, of: t.ceiling, unit: "B/s" });
  for (const p of k.roofline?.points ?? []) {
    if (p.bound === "compute" && p.percent !== null && p.percent !== undefined && !out.some((x) => x.title === p.precision)) out.push({ title: p.precision, kind: "compute", share: p.percent, rate: p.flop_rate, of: p.roof, unit: (/int/.test(p.precision) ? "OP" : "FLOP") + "/s", from: p.roof_source });
  }
  for (const [key, title] of UNITS) if (has(k.metrics?.[key])) out.push({ title, kind: "unit", share: k.metrics[key].value });
  return out.sort((a, b) => b.share - a.share);
}

/** The reason for which warps wait most, as [reason, share], or null. */
export function wait(k) {
  const list = Object.entries(k.metrics ?? {}).filter(([key, v]) => key.startsWith("stall_share_") && has(v)).map(([key, v]) => [key.slice(12), v.value]);
  return list.sort((a, b) => b[1] - a[1])[0] ?? null;
}

/** {limit, wait, finding}: limit = what is busy enough to be one, or null; best = the busiest even so. */
export function verdict(k) {
  const list = limits(k);
  const finding = (k.findings ?? []).find((f) => f.severity !== "info") ?? null;
  return { best: list[0] ?? null, limit: list[0]?.share >= BUSY ? list[0] : null, wait: wait(k), finding };
}

/** What is left of a time when a finding's whole gain is had. */
export const without = (seconds, gain) => (seconds > 0 && gain > 0 ? seconds * (1 - gain) : null);

/** The precision that a kernel is about: the one nearest to its roof; integers (addresses, loop counts) only if they lead by far. */
export function mainPrecision(points) {
  const score = new Map();
  for (const p of points) {
    const s = (p.percent ?? 0) * (/int/.test(p.precision) ? 1 / 3 : 1), old = score.get(p.precision) ?? [-1, 0];
    score.set(p.precision, [Math.max(old[0], s), Math.max(old[1], p.flop_rate ?? 0)]);
  }
  const list = [...score].sort((a, b) => b[1][0] - a[1][0] || /int/.test(a[0]) - /int/.test(b[0]) || b[1][1] - a[1][1]);
  return list[0]?.[0];
}

/** Names of the reference kernels in a rule's "stride_read (stride 2 and up), mat_add (x = row)". */
export const twinNames = (text) => [...(text ?? "").replace(/\([^)]*\)/g, "").matchAll(/[A-Za-z_]\w+/g)].map((m) => m[0]).filter((w) => /_|^[a-z]+$/.test(w) && !["all", "others", "where", "the", "pipe", "is", "that", "busy", "instead"].includes(w));

/** Metrics by the root of their absence: "needs warps_active, which has no value" becomes the reason why that has none. */
export function rooted(metrics) {
  const root = (v, left = 8) => (left > 0 && v?.value === null && v.why === "input-missing" && metrics[v.needs]?.value === null ? root(metrics[v.needs], left - 1) : v);
  return Object.fromEntries(Object.entries(metrics ?? {}).map(([k, v]) => [k, v?.value === null ? { ...v, ...root(v), unit: v.unit } : v]));
}

/** What a point could reach on another board, if it keeps its share of the data-sheet roof; null where a rate is not stated. */
export function whatIfOn(p, board, here) {
  const bw = board.dram_bytes_per_s, peak = board.rates?.[p.precision.replaceAll("-", "_")];
  const bwHere = here?.ceilings.find((c) => c.key === "dram_read")?.sheet;
  let factor = null;
  if (p.level === "DRAM" && bw && peak && p.sheet_roof) factor = Math.min(peak, bw * p.intensity) / p.sheet_roof;
  else if (p.level === "DRAM" && bw && bwHere && p.bound === "memory" && !p.sheet_roof) factor = bw / bwHere;
  return factor === null ? null : { factor, rate: p.flop_rate * factor, duration: (p.duration ?? 0) / factor };
}
