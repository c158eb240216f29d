// SPDX-License-Identifier: MIT
// timeline-data.js: the binary timeline: decode, time bill, and what of it lies in a range. Pure; no DOM.

export const MAGIC = 0x4c545357;

/** ArrayBuffer -> columns as typed arrays on the same memory. Throws on anything that is not one whole block. */
export function decode(buffer) {
  const v = new DataView(buffer);
  if (buffer.byteLength < 64 || v.getUint32(0, true) !== MAGIC) throw new Error("not a timeline block");
  if (v.getUint16(4, true) !== 1) throw new Error(`timeline block of version ${v.getUint16(4, true)}; this page reads version 1`);
  const n = v.getUint32(8, true);
  const at = (i) => v.getUint32(40 + 4 * i, true);
  const sizes = [8, 4, 4, 4, 4, 2];
  sizes.forEach((s, i) => { if (at(i) + s * n > buffer.byteLength) throw new Error("timeline block is cut off"); });
  return {
    n,
    merged: (v.getUint32(12, true) & 1) === 1,
    from: v.getFloat64(16, true),
    to: v.getFloat64(24, true),
    events: Number(v.getBigUint64(32, true)),
    start: new Float64Array(buffer, at(0), n),
    duration: new Float32Array(buffer, at(1), n),
    busy: new Float32Array(buffer, at(2), n),
    item: new Uint32Array(buffer, at(3), n),
    count: new Uint32Array(buffer, at(4), n),
    lane: new Uint16Array(buffer, at(5), n),
  };
}

/** First index in [lo, hi) whose event does not end before t. Starts rise within a lane. */
export function lowerBound(start, lo, hi, t) {
  while (lo < hi) {
    const m = (lo + hi) >> 1;
    if (start[m] < t) lo = m + 1;
    else hi = m;
  }
  return lo;
}

/** lane number -> [first, after last] of its rows. */
export function laneRanges(d) {
  const out = new Map();
  for (let i = 0; i < d.n; ) {
    let j = i + 1;
    while (j < d.n && d.lane[j] === d.lane[i]) j++;
    out.set(d.lane[i], [i, j]);
    i = j;
  }
  return out;
}

/** Kernels alone, copies alone, both, nothing: shares of the window. A merged run counts with the part of it that was busy.
 *  holds: {start, end}: when profiling held the program: what of it no work fills is `held`, and not part of the window.
 *  range: [from, to] to look at; else from the first to the last work. */
export function bill(d, lanes, holds = null, range = null) {
  const kind = new Map(lanes.map((l) => [l.lane, l.kind === "kernel" ? 0 : 1]));
  const edges = [];
  let first = Infinity, last = -Infinity, kernelSum = 0;
  for (let i = 0; i < d.n; i++) {
    const k = kind.get(d.lane[i]) ?? 1;
    const w = d.duration[i] > 0 ? Math.min(1, d.busy[i] / d.duration[i]) : 0;
    const a = range ? Math.max(range[0], d.start[i]) : d.start[i], b = range ? Math.min(range[1], d.start[i] + d.duration[i]) : d.start[i] + d.duration[i];
    if (b < a) continue;
    if (k === 0) kernelSum += w > 0 ? (b - a) * w : 0;
    first = Math.min(first, a);
    last = Math.max(last, b);
    if (w > 0) edges.push([a, k, w], [b, k, -w]);
  }
  if (range) [first, last] = range;
  if (first > last) first = last = 0;
  holds?.start.forEach((s, i) => { const a = Math.max(s, first), b = Math.min(holds.end[i], last); if (b > a) edges.push([a, 2, 1], [b, 2, -1]); });
  edges.sort((a, b) => a[0] - b[0]);
  const on = [0, 0, 0], t = { kernel: 0, copy: 0, both: 0, held: 0 };
  let at = first;
  for (const [when, k, w] of edges) {
    const span = when - at;
    if (span > 0) {
      const a = Math.min(1, Math.max(0, on[0])), b = Math.min(1, Math.max(0, on[1]));
      t.both += span * a * b;
      t.kernel += span * a * (1 - b);
      t.copy += span * b * (1 - a);
      if (on[2] > 0) t.held += span * (1 - a) * (1 - b);
    }
    on[k] += w;
    if (Math.abs(on[k]) < 1e-6) on[k] = 0;
    at = when;
  }
  const window = last - first - t.held;
  const idle = Math.max(0, window - t.kernel - t.copy - t.both);
  return {
    window, held: t.held, kernelSum, merged: d.merged, events: d.events,
    parts: [
      { key: "kernel", title: "Kernels alone", value: t.kernel, cls: "t-kernel", doc: "a kernel ran and nothing was copied" },
      { key: "both", title: "Both at once", value: t.both, cls: "t-both", doc: "copies hidden behind kernels" },
      { key: "copy", title: "Copies alone", value: t.copy, cls: "t-copy", doc: "copies and fills while no kernel ran" },
      { key: "idle", title: "Nothing (gaps)", value: idle, cls: "t-idle", doc: "the device waited for the host" },
    ],
  };
}

/** What ran in [from, to]: per kernel id {busy, count}, and per kind of lane the busy time, parts clipped. */
export function inRange(d, lanes, from, to) {
  const kind = new Map(lanes.map((l) => [l.lane, l.kind]));
  const kernels = new Map(), kinds = { kernel: 0, memcpy: 0, memset: 0 };
  let events = 0;
  for (let i = 0; i < d.n; i++) {
    const a = Math.max(from, d.start[i]), b = Math.min(to, d.start[i] + d.duration[i]);
    if (b <= a && !(d.duration[i] === 0 && d.start[i] >= from && d.start[i] <= to)) continue;
    const part = d.duration[i] > 0 ? d.busy[i] * ((b - a) / d.duration[i]) : 0;
    const k = kind.get(d.lane[i]);
    kinds[k] += part;
    events += d.count[i];
    if (k === "kernel") {
      const e = kernels.get(d.item[i]) ?? { busy: 0, count: 0 };
      e.busy += part;
      e.count += d.count[i];
      kernels.set(d.item[i], e);
    }
  }
  return { kernels, kinds, events, merged: d.merged };
}
