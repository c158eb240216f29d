// SPDX-License-Identifier: MIT
// pure.test.js: what needs no browser: the number formatter, CSV cells, timeline blocks and the time bill.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./bundle.mjs";

const f = await load("format.js");
const { csvCell } = await load("export.js");
const t = await load("charts/timeline-data.js");
const v = await load("verdict.js");
const { score } = await load("fuzzy.js");
const src = await load("lines.js");
const sc = await load("scale.js");
const grp = await load("groups.js");
const S = "\u202f";

test("numbers have three significant digits and the unit's prefix", () => {
  for (const [x, unit, want] of [
    [0, "B", `0${S}B`], [1, "B", `1${S}B`], [999, "B", `999${S}B`], [999.7, "B/s", `1.00${S}kB/s`], [1000, "B", `1${S}kB`], [4.41e12, "B/s", `4.41${S}TB/s`],
    [2097152, "sector", `2.10${S}M${S}sectors`], [0.125, "", `12.5${S}%`], [1, "", `100${S}%`], [0.00004, "", `0.004${S}%`], [1.5e-6, "s", `1.50${S}µs`], [0.9999, "s", `1.00${S}s`],
    [9.8e-5, "s", `98${S}µs`], [0, "s", `0${S}s`], [7200, "s", `120${S}min`], [0.0833333, "FLOP/B", `0.0833${S}FLOP/B`], [31.8, "thread", `31.8${S}threads`], [-0.05, "", `\u22125${S}%`], [1500, "ns", `1.50${S}µs`], [123456, "1", `123${S}k`],
  ]) assert.equal(f.format(x, unit), want, `${x} ${unit}`);
});

test("a rounded number never shows four digits before a prefix", () => {
  for (let i = 0; i < 20000; i++) {
    const x = 10 ** (Math.random() * 18) * (Math.random() < 0.5 ? 1 : 0.9999999);
    const n = f.format(x, "B").split(S)[0].replace(".", "");
    assert.ok(n.length <= 3 || x >= 1e18, `${x} -> ${f.format(x, "B")}`);
  }
});

test("what is not a number is never printed as one", () => {
  for (const x of [NaN, Infinity, null, undefined]) assert.equal(f.format(x, "B"), "–");
});

test("the exact value keeps every digit", () => {
  assert.equal(f.exact(9007199254740991, "B").replaceAll(S, ""), "9007199254740991 B");
  assert.equal(f.exact(0.1, ""), "0.1 (ratio)");
});

test("kernel names are shortened only where they stay readable", () => {
  for (const [name, want] of [
    ["vec_add(float const*, float const*, float*, int)", "vec_add"], ["void fma_peak<16>(float*, int)", "fma_peak<16>"], ["void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)", "at::native::vectorized_elementwise_kernel<…>"],
    ["<script>alert(1)</script>", "<script>alert(1)</script>"], ["", "(unnamed)"], ["kernel", "kernel"], ["(anonymous namespace)::reduce(int)", "(anon)::reduce"],
  ]) assert.equal(f.shortName(name), want);
});

test("csv cells cannot become formulas", () => {
  for (const s of ["=1+1", "+1", "-1", "@x", "\tx"]) assert.match(csvCell(s), /^"?'/);
  assert.equal(csvCell(-1.5), "-1.5");
  assert.equal(csvCell('a"b,c'), '"a""b,c"');
  assert.equal(csvCell(null), "");
});

const point = (precision, level, percent, bound, flop_rate = 1e9) => ({ precision, level, percent, bound, flop_rate, roof: flop_rate / (percent || 1), roof_source: "measured" });

test("the verdict names the unit nearest to its roof, or the wait where none is near", () => {
  const metrics = { sm_throughput: { value: 0.2 }, dram_throughput: { value: 0.7 }, l2_throughput: { value: null, why: "not-collected" }, stall_share_barrier: { value: 0.3 }, stall_share_wait: { value: 0.1 } };
  const memory = v.verdict({ metrics, roofline: { traffic: [{ level: "DRAM", rate: 9, ceiling: 10, percent: 0.9 }, { level: "L1", rate: 1, ceiling: null, percent: null }], points: [point("fp32", "DRAM", 0.9, "memory")] }, findings: [{ rule: "A", severity: "info" }, { rule: "B", severity: "low", gain: 0.25 }] });
  assert.deepEqual([memory.limit.title, memory.limit.kind, memory.limit.share, memory.wait[0], memory.finding.rule], ["DRAM", "memory", 0.9, "barrier", "B"]);
  const compute = v.verdict({ metrics, roofline: { points: [point("int32", "DRAM", 0.95, "compute")] } });
  assert.deepEqual([compute.limit.kind, compute.limit.unit], ["compute", "OP/s"]);
  const idle = v.verdict({ metrics: { sm_throughput: { value: 0.2 } } });
  assert.deepEqual([idle.limit, idle.best.title, idle.wait, idle.finding], [null, "SM", null, null]);
  assert.deepEqual(v.verdict({}), { best: null, limit: null, wait: null, finding: null });
  assert.equal(v.without(8, 0.25), 6);
  for (const [t, g] of [[null, 0.5], [8, null], [8, 0]]) assert.equal(v.without(t, g), null);
});

test("a kernel is about its floating-point work unless integers lead by far", () => {
  assert.equal(v.mainPrecision([point("int32", "DRAM", 0.5, "memory", 9e9), point("fp32", "DRAM", 0.5, "memory", 1e9)]), "fp32");
  assert.equal(v.mainPrecision([point("int32", "DRAM", 0.4, "compute"), point("fp16", "DRAM", 0.005, "memory")]), "int32");
  assert.equal(v.mainPrecision([point("int32", "DRAM", null, "unknown")]), "int32");
  assert.equal(v.mainPrecision([]), undefined);
});

test("a missing metric gives the root of its absence, cycles included", () => {
  const m = v.rooted({ a: { value: null, why: "input-missing", needs: "b", unit: "s" }, b: { value: null, why: "input-missing", needs: "c" }, c: { value: null, why: "needs-gpu" }, d: { value: 1 }, e: { value: null, why: "input-missing", needs: "f" }, f: { value: null, why: "input-missing", needs: "e" }, g: { value: null, why: "input-missing", needs: "d" } });
  assert.deepEqual([m.a.why, m.a.unit, m.b.why, m.d.value, m.e.why, m.g.needs], ["needs-gpu", "s", "needs-gpu", 1, "input-missing", "d"]);
});

test("another board moves a point with its data-sheet roof, and says nothing where a rate is not stated", () => {
  const here = { ceilings: [{ key: "dram_read", sheet: 4e12 }] }, board = { dram_bytes_per_s: 2e12, rates: { fp32: 20e12, tensor_fp16: 300e12 } };
  const at = (precision, intensity, sheet_roof, more) => v.whatIfOn({ level: "DRAM", precision, intensity, flop_rate: 1e12, sheet_roof, duration: 2, ...more }, board, here);
  assert.deepEqual(at("fp32", 1, 4e12), { factor: 0.5, rate: 0.5e12, duration: 4 }, "bandwidth bound: half of it");
  assert.equal(at("fp32", 1000, 60e12).factor, 20 / 60, "compute bound: a third");
  assert.equal(at("tensor-fp16", 1000, 900e12).factor, 300 / 900);
  assert.equal(at("int32", 1, null, { bound: "memory" }).factor, 0.5);
  assert.equal(at("int32", 1000, null, { bound: "compute" }), null);
  assert.equal(at("fp64", 1, 4e12), null);
  assert.equal(at("fp32", 1, 4e12, { level: "L2" }), null);
});

test("a few letters find a text: words before scattered letters, order kept", () => {
  assert.ok(score("tile", "transpose_tile<32>") > score("tile", "a text in letters only e"));
  assert.ok(score("trtile", "transpose_tile<32>") !== null);
  assert.equal(score("elit", "transpose_tile"), null);
  assert.ok(score("roof", "Roofline") > score("roof", "all about proof"));
  assert.equal(score("", "anything"), 0);
});

test("the names of twins are found in a rule's text", () => {
  assert.deepEqual(v.twinNames("stride_read (stride 2 and up), mat_add (x = row)"), ["stride_read", "mat_add"]);
  assert.deepEqual(v.twinNames("copy_width (float), where the pipe is that busy"), ["copy_width"]);
  assert.deepEqual(v.twinNames("all others"), []);
  assert.deepEqual(v.twinNames(""), []);
});

function block(rows, flags = 0) {
  const n = rows.length, off = [], sizes = [8, 4, 4, 4, 4, 2];
  let o = 64;
  for (const s of sizes) { off.push(o); o = (o + s * n + 7) & ~7; }
  const b = new ArrayBuffer(o), v = new DataView(b);
  v.setUint32(0, t.MAGIC, true); v.setUint16(4, 1, true); v.setUint16(6, 64, true); v.setUint32(8, n, true); v.setUint32(12, flags, true);
  v.setBigUint64(32, BigInt(n), true);
  off.forEach((x, i) => v.setUint32(40 + 4 * i, x, true));
  rows.forEach(([start, duration, item, lane, busy = duration, count = 1], i) => {
    v.setFloat64(off[0] + 8 * i, start, true); v.setFloat32(off[1] + 4 * i, duration, true); v.setFloat32(off[2] + 4 * i, busy, true);
    v.setUint32(off[3] + 4 * i, item, true); v.setUint32(off[4] + 4 * i, count, true); v.setUint16(off[5] + 2 * i, lane, true);
  });
  return b;
}
const LANES = [{ lane: 0, kind: "memcpy" }, { lane: 1, kind: "kernel" }, { lane: 2, kind: "kernel" }];

test("a timeline block cut off at any byte is refused", () => {
  const whole = block([[0, 10, 1, 0], [5, 10, 7, 1], [20, 5, 8, 1]]);
  assert.equal(t.decode(whole).n, 3);
  for (let n = 0; n < whole.byteLength - 8; n++) assert.throws(() => t.decode(whole.slice(0, n)), `${n} bytes`);
  const other = block([[0, 1, 1, 0]]);
  new DataView(other).setUint16(4, 2, true);
  assert.throws(() => t.decode(other), /version 2/);
});

test("the time bill adds up to the window, overlap counted once", () => {
  const d = t.decode(block([[0, 10, 1, 0], [5, 10, 7, 1], [20, 5, 8, 1], [21, 5, 8, 2]]));
  const b = t.bill(d, LANES);
  const part = Object.fromEntries(b.parts.map((p) => [p.key, p.value]));
  assert.deepEqual({ window: b.window, ...part }, { window: 26, kernel: 11, both: 5, copy: 5, idle: 5 });
  assert.equal(b.kernelSum, 20);
});

test("the time bill of random timelines equals a count of every nanosecond", () => {
  for (let round = 0; round < 60; round++) {
    const rows = [];
    for (const lane of [0, 1, 2]) { let at = 0; for (let i = 0; i < 8; i++) { at += Math.floor(Math.random() * 12); const len = 1 + Math.floor(Math.random() * 9); rows.push([at, len, i, lane]); at += len; } }
    const a = Math.floor(Math.random() * 90), holds = { start: [a, a + 30], end: [a + 20, a + 41] };
    const b = t.bill(t.decode(block(rows)), LANES, holds);
    const lo = Math.min(...rows.map((r) => r[0])), hi = Math.max(...rows.map((r) => r[0] + r[1]));
    const want = { kernel: 0, both: 0, copy: 0, idle: 0, held: 0 };
    for (let ns = lo; ns < hi; ns++) {
      const on = (k) => rows.some((r) => (r[3] === 0) === k && r[0] <= ns && ns < r[0] + r[1]);
      want[on(false) ? (on(true) ? "both" : "kernel") : on(true) ? "copy" : holds.start.some((s, i) => s <= ns && ns < holds.end[i]) ? "held" : "idle"]++;
    }
    for (const p of b.parts) assert.ok(Math.abs(p.value - want[p.key]) < 1e-6, `${p.key} ${p.value} ${want[p.key]}`);
    assert.ok(Math.abs(b.held - want.held) < 1e-6 && Math.abs(b.window + b.held - (hi - lo)) < 1e-6, `held ${b.held} ${want.held}`);
  }
});

test("a range clips what sticks out of it", () => {
  const r = t.inRange(t.decode(block([[0, 10, 1, 0], [5, 10, 7, 1], [20, 5, 8, 1]])), LANES, 8, 21);
  assert.equal(r.kinds.memcpy, 2);
  assert.equal(r.kinds.kernel, 8);
  assert.deepEqual([...r.kernels].map(([k, e]) => [k, e.busy]), [[7, 7], [8, 1]]);
});

test("scales hit their ends, and ticks are round and inside", () => {
  const x = sc.scaleLinear([10, 30], [100, 0]), l = sc.scaleLog([0.01, 100], [0, 400]);
  assert.deepEqual([x(10), x(30), x(20)], [100, 0, 50]);
  assert.deepEqual([0.01, 1, 100].map((v) => Math.round(l(v) * 1e6) / 1e6), [0, 200, 400]);
  assert.equal(sc.scaleLinear([5, 5], [0, 10])(5), 0, "a point has a place, too");
  assert.deepEqual(sc.ticks([0, 11], 4), [0, 5, 10]);
  assert.deepEqual(sc.ticks([0, 0], 4), []);
  for (let i = 0; i < 500; i++) {
    const top = 10 ** (Math.random() * 14), t = sc.ticks([0, top], 4);
    assert.ok(t.length >= 2 && t.length <= 8 && t[0] === 0 && t.at(-1) <= top * (1 + 1e-9), `${top}: ${t}`);
    assert.ok(t.every((v) => Number(v.toPrecision(2)) === v), String(t));
  }
});

test("instructions add up to lines, a launch each, and the hottest line is the wasteful one", () => {
  const ins = (over) => ({ code: "ptx", at: 1, opcode: "ld.global.f32", file: 0, line: 5, space: "global", access: "load", launches: 2, runs: 20, lanes: 640, diverged: 0, requests: 20, bytes: 2560, sectors: 80, ideal_sectors: 80, wavefronts: 0, ideal_wavefronts: 0, ...over });
  const d = { launches: 2, files: [{ path: "/a.cu", first: 4, lines: ["x", "a[i]", "b[i]"] }], instructions: [
    ins({}), ins({ at: 2, line: 6, sectors: 640 }), ins({ at: 2, line: 6, sectors: 0, ideal_sectors: 0, requests: 0 }), ins({ at: 3, file: null, line: null, sectors: 2 }),
  ] };
  const { lines, total } = src.linesOf(d);
  assert.deepEqual(lines.map((l) => [l.line, l.text, l.sectors, l.requests, l.excess, l.instructions.length]), [[5, "a[i]", 40, 10, 0, 1], [6, "b[i]", 320, 10, 280, 1]]);
  assert.equal(total.sectors, 361);
  assert.equal(src.mainHeat(total), "excess");
  assert.deepEqual(src.hottest(lines, "excess").map((l) => l.line), [6]);
  assert.equal(src.mainHeat({ ...total, excess: 1 }), "sectors");
  assert.equal(src.mainHeat({ ...total, excess: 0, sectors: 0, wavefronts: 32, conflicts: 31 }), "conflicts");
  assert.equal(src.linesOf({ launches: 0, files: [], instructions: [] }).lines.length, 0);
});

test("PC samples are facts of lines: summed with their reasons, of all launches, hottest first", () => {
  const d = { launches: 0, instructions: [], files: [{ first: 1, lines: ["a", "b"] }], samples: { rows: [
    { at: 0, file: 0, line: 1, samples: 3, stalls: { wait: 2, barrier: 1 } }, { at: 16, file: 0, line: 1, samples: 1, stalls: { barrier: 1 } },
    { at: 32, file: 0, line: 2, samples: 9, stalls: { wait: 9 } }, { at: 48, file: null, line: null, samples: 2, stalls: { selected: 2 } }, { at: 64, file: 0, line: 3, samples: 0, stalls: {} }] } };
  const { lines, total } = src.linesOf(d);
  assert.deepEqual(lines.map((l) => [l.line, l.text, l.samples, src.reasonsOf(l.stalls)]), [[1, "a", 4, [["barrier", 2], ["wait", 2]]], [2, "b", 9, [["wait", 9]]]]);
  assert.equal(total.samples, 15);
  assert.equal(src.mainHeat(total), "samples");
  assert.deepEqual(src.hottest(lines, "samples").map((l) => l.line), [2, 1]);
});

test("a file is shown around the lines that have facts, folded between, and no line twice", () => {
  assert.deepEqual(src.stretches([2, 5, 40], 41), [[1, 8], [37, 41]]);
  assert.deepEqual(src.stretches([], 10), []);
  for (let i = 0; i < 300; i++) {
    const n = [...new Set(Array.from({ length: 8 }, () => 1 + Math.floor(Math.random() * 60)))].sort((a, b) => a - b), s = src.stretches(n, 60);
    const flat = s.flatMap(([a, b]) => Array.from({ length: b - a + 1 }, (_, j) => a + j));
    assert.equal(new Set(flat).size, flat.length);
    assert.ok(n.every((x) => flat.includes(x)) && flat.every((x) => x >= 1 && x <= 60));
  }
});

test("launch groups of a kernel add up, one side counts whole, and a changed shape is told", () => {
  const k = (name, base, target, b, t) => ({ name, demangled: name, base: b === null ? null : 1, target: t === null ? null : 2, total: { base: b, target: t }, impact: (t ?? 0) - (b ?? 0) });
  const list = [k("a", 1, 1, 4, 3), k("a", 1, null, 2, null), k("b", null, 1, null, 9), k("c", 1, null, 5, null), k("c", null, 1, null, 1), k("d", 1, 1, undefined, undefined)];
  list[5].total = { base: null, target: null };
  assert.deepEqual(list.map(grp.sideOf), ["both", "base", "target", "base", "target", "both"]);
  assert.deepEqual(list.map(grp.impactOf), [-1, -2, 9, -5, 1, null]);
  const by = grp.byKernel(list);
  assert.deepEqual(by.map((g) => [g.name, g.impact, g.side, g.reshaped, g.matched]), [["b", 9, "target", false, 0], ["c", -4, "both", true, 0], ["a", -3, "both", false, 1], ["d", null, "both", false, 1]]);
  assert.equal(by[1].percent, -0.8);
});

test("the bill leaves out what profiling held, and looks at a range", () => {
  const d = t.decode(block([[220, 100, 1, 0], [0, 100, 7, 1], [200, 50, 7, 1]]));
  const whole = t.bill(d, LANES), cut = t.bill(d, LANES, { start: [90, 300], end: [190, 400] });
  const part = (b) => Object.fromEntries(b.parts.map((p) => [p.key, p.value]));
  assert.deepEqual([whole.window, whole.held], [320, 0]);
  // 90…190 less the 10 in which a kernel ran on; of 300…400 a copy fills 20, and the window ends with it.
  assert.deepEqual([cut.window, cut.held, part(cut).idle], [230, 90, part(whole).idle - 90]);
  assert.deepEqual([part(cut).kernel, part(cut).copy, part(cut).both], [part(whole).kernel, part(whole).copy, part(whole).both]);
  const r = t.bill(d, LANES, { start: [90], end: [190] }, [50, 240]);
  assert.deepEqual([r.window, r.held, part(r)], [100, 90, { kernel: 70, both: 20, copy: 0, idle: 10 }]);
  assert.equal(t.bill(d, LANES, null, [1000, 2000]).window, 1000);
});
