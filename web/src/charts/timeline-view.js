// SPDX-License-Identifier: MIT
// timeline-view.js: the canvas of the timeline. Lanes of kernels and copies, merged runs under a pixel, minimap, selection.
// It draws from typed arrays (timeline-data.js) and keeps no state of its own but the canvas: view and selection are given.
import { format } from "../format.js";
import { laneRanges, lowerBound } from "./timeline-data.js";

/** Colours of the theme, as the canvases take them. */
export function timelineColors() {
  const s = getComputedStyle(document.documentElement), v = (k) => s.getPropertyValue(k).trim();
  return { ink: v("--ink"), ink2: v("--ink2"), ink3: v("--ink3"), line: v("--line"), ground: v("--panel"), kernel: v("--t-kernel"), copy: v("--t-copy"), idle: v("--st-front"), wait: v("--st-sync"), queue: v("--st-shared"), memory: v("--memory"), held: v("--whatif"), select: v("--accent"), shade: v("--bg"), onFill: v("--on-fill"), font: "11.5px " + v("--sans") };
}

export const HEAD = 26, GROUPGAP = 6;
/** Pixels for the names of the lanes. */
export const labelOf = (width) => (width < 620 ? 100 : 164);
const laneHeight = (n) => (n <= 8 ? 34 : 22);

/** Colour of a kernel: hue by id, spread by the golden angle; lightness by theme. */
export const hue = (id) => (id * 137.508) % 360;
export const kernelFill = (id, dark) => `hsl(${hue(id).toFixed(0)} ${dark ? "34% 60%" : "36% 45%"})`;

const NICE = [1, 2, 5];
function ticks(span, width) {
  const target = span / Math.max(2, width / 110);
  const p = 10 ** Math.floor(Math.log10(target));
  return (NICE.find((n) => n * p >= target) ?? 10) * p;
}

/** Vertical layout: [{lane, y, label, first}] in the order given by the daemon. */
export function layout(lanes) {
  let y = HEAD, last = "";
  const LANE = laneHeight(lanes.length);
  return lanes.map((l) => {
    const group = `${l.process}/${l.device}`;
    if (last && group !== last) y += GROUPGAP;
    last = group;
    const row = { lane: l, y, h: LANE - 5 };
    y += LANE;
    return row;
  });
}
const lanesEnd = (lanes) => (lanes.length ? layout(lanes).at(-1).y + laneHeight(lanes.length) + 6 : HEAD + 40);
export const heightOf = (lanes, extra) => extraRows(lanes, extra).reduce((y, r) => Math.max(y, r.y + r.h + 8), lanesEnd(lanes));

const WAITS = { event: "host waits, event", "stream-event": "stream waits", stream: "host waits", context: "host waits, all" };
/** Colour of a sampled metric by what it is of: the SMs, the memory, the link. */
export const sampleColor = (key, colors) => (/^pcie/.test(key) ? colors.copy : /^(dram|l2)/.test(key) ? colors.memory : /^tensor/.test(key) ? colors.queue : colors.kernel);
/** Top of a sampled metric's row: a share is drawn against all of it. */
const sampleTop = (m) => { const most = m.max.reduce((a, v) => (v > a ? v : a), 0); return m.unit === "" ? Math.max(1, most) : most || 1; };
/** Rows below the lanes: what the GPU was sampled at, and what the host did: waits, queue delays, allocated bytes. extra: {samples, waits, queue, memory}, answers of the API. */
export function extraRows(lanes, extra) {
  const rows = [];
  let y = lanesEnd(lanes) + 4;
  const add = (h, row) => { rows.push({ ...row, y, h }); y += h + 6; };
  const sampled = (extra?.samples?.series ?? []).filter((s) => s.start.length);
  for (const s of sampled) for (const m of s.metrics) if (m.mean.some((v) => v !== null)) add(26, { type: "sample", s, m, top: sampleTop(m), label: `${sampled.length > 1 ? `GPU ${s.device} ` : ""}${m.title}${m.unit === "" ? "" : `, to ${format(sampleTop(m), m.unit)}`}` });
  for (const l of extra?.waits?.lanes ?? []) add(14, { type: "wait", l, label: (WAITS[l.kind] ?? l.kind) + (l.stream === null || l.kind === "context" ? "" : `, stream ${l.stream}`) });
  for (const l of extra?.queue?.lanes ?? []) add(12, { type: "queue", l, label: `queued, stream ${l.stream}` });
  for (const s of extra?.memory?.series ?? []) if (s.t.length) add(46, { type: "memory", s, top: Math.max(s.before, ...s.high), label: `${s.kind}, 0 to ${format(Math.max(s.before, ...s.high), "B")}` });
  return rows;
}

/** When profiling held the program: a bar on top, and below it the lanes hatched (a strip that is too low for it: tinted). X: time to pixel. */
function drawHolds(c, holds, { X, from, to, colors, top, height, low, hatched = true }) {
  c.strokeStyle = c.fillStyle = colors.held;
  c.lineWidth = 1;
  holds?.start.forEach((s, i) => {
    if (holds.end[i] < from || s > to) return;
    const a = Math.max(low, X(s)), b = Math.min(X(to), X(holds.end[i])), w = Math.max(1, b - a);
    c.globalAlpha = 0.9;
    c.fillRect(a, top, w, 4);
    c.globalAlpha = hatched ? 0.07 : 0.12;
    c.fillRect(a, top + 4, w, height - top - 4);
    c.globalAlpha = 1;
    if (!hatched) return;
    c.globalAlpha = 0.3;
    c.save();
    c.beginPath();
    c.rect(a, top + 4, w, height - top - 4);
    c.clip();
    c.beginPath();
    for (let x = Math.floor(a / 9) * 9 - height; x < b; x += 9) { c.moveTo(x, height); c.lineTo(x + height, 0); }
    c.stroke();
    c.restore();
    c.globalAlpha = 1;
  });
}
/** The hold under a point of the canvas, or -1: only on its bar, for below it other things lie. */
export function pickHold(holds, view, width, px, py) {
  const LABEL = labelOf(width);
  if (!holds || px < LABEL || py > HEAD - 1) return -1;
  const per = (view[1] - view[0]) / (width - LABEL), t = view[0] + (px - LABEL) * per;
  return holds.start.findIndex((s, i) => t >= s - 2 * per && t <= holds.end[i] + 2 * per);
}

/** A sampled metric: the mean as a filled line, and from least to greatest where samples are merged. No sample, no line. */
function drawSample(c, r, X, view, colors) {
  const { start, end } = r.s, { mean, min, max } = r.m, Y = (v) => r.y + r.h * (1 - v / r.top);
  // Whole pixels: neighbours that overlap by a part of one would show as stripes.
  const bar = (i, y, h) => { const a = Math.round(X(start[i])); c.fillRect(a, y, Math.max(1, Math.round(X(end[i])) - a), h); };
  const seen = start.map((_, i) => i).filter((i) => mean[i] !== null && end[i] >= view[0] && start[i] <= view[1]);
  c.fillStyle = c.strokeStyle = sampleColor(r.m.key, colors);
  c.globalAlpha = 0.22;
  for (const i of seen) bar(i, Y(mean[i]), r.y + r.h - Y(mean[i]));
  c.globalAlpha = 0.3;
  for (const i of seen) if (max[i] > min[i]) bar(i, Y(max[i]), Math.max(1, Y(min[i]) - Y(max[i])));
  c.globalAlpha = 1;
  c.lineWidth = 1.2;
  c.beginPath();
  let last = -2;
  for (const i of seen) {
    if (last !== i - 1 || start[i] - end[last] > r.s.interval_ns) c.moveTo(X(start[i]), Y(mean[i]));
    c.lineTo(X(start[i]), Y(mean[i]));
    c.lineTo(X(end[i]), Y(mean[i]));
    last = i;
  }
  c.stroke();
  c.lineWidth = 1;
  c.strokeStyle = colors.line;
  c.strokeRect(X(view[0]) - 1, r.y + r.h + 0.5, X(view[1]) - X(view[0]) + 2, 0);
}

const ARROWS = 120; // more waits than that in view: bars alone

function drawExtra(c, { rows, lanes, X, view, colors, width }) {
  const LABEL = labelOf(width);
  const seen = (a, b) => b >= view[0] && a <= view[1];
  for (const r of rows) {
    if (r.type === "sample") drawSample(c, r, X, view, colors);
    else if (r.type === "wait") {
      const { start, end, merged } = r.l, lane = lanes.find((x) => x.lane.kind === "kernel" && x.lane.process === r.l.process && x.lane.context === r.l.context && x.lane.stream === r.l.stream);
      const some = start.map((_, i) => i).filter((i) => seen(start[i], end[i]));
      c.fillStyle = c.strokeStyle = colors.wait;
      for (const i of some) c.fillRect(X(start[i]), r.y, Math.max(1.5, X(end[i]) - X(start[i])), r.h);
      if (!lane || some.length > ARROWS) continue;
      // A stream that waits: the arrow goes into it, where it began to. A host that waits: out of the stream, when it was done.
      for (const i of some) {
        if (merged[i] > 1) continue;
        const into = r.l.kind === "stream-event", x = Math.round(X(into ? start[i] : end[i])) + 0.5, a = lane.y + lane.h + 1, tip = into ? a : r.y - 1, d = into ? 5 : -5;
        c.globalAlpha = 0.75;
        c.beginPath();
        c.moveTo(x, a);
        c.lineTo(x, r.y);
        c.stroke();
        c.beginPath();
        c.moveTo(x, tip);
        c.lineTo(x - 3.5, tip + d);
        c.lineTo(x + 3.5, tip + d);
        c.fill();
        c.globalAlpha = 1;
      }
    } else if (r.type === "queue") {
      // From the return of the launch call to the start of the kernel; where several stand in the queue it grows darker.
      c.fillStyle = colors.queue;
      c.globalAlpha = 0.45;
      r.l.start.forEach((t, i) => { if (r.l.longest[i] > 0 && seen(t - r.l.longest[i], t)) c.fillRect(X(t - r.l.longest[i]), r.y, Math.max(1, X(t) - X(t - r.l.longest[i])), r.h); });
      c.globalAlpha = 1;
    } else {
      const Y = (b) => r.y + r.h * (1 - b / (r.top || 1)), { t, low, high, last, before } = r.s;
      c.beginPath();
      c.moveTo(LABEL, Y(before));
      let now = before;
      for (let i = 0; i < t.length; i++) {
        const x = X(t[i]);
        c.lineTo(x, Y(now));
        if (high[i] > low[i]) { c.lineTo(x, Y(low[i])); c.lineTo(x, Y(high[i])); }
        c.lineTo(x, Y(last[i]));
        now = last[i];
      }
      c.lineTo(width, Y(now));
      c.strokeStyle = c.fillStyle = colors.memory;
      c.lineWidth = 1.4;
      c.stroke();
      c.lineTo(width, r.y + r.h);
      c.lineTo(LABEL, r.y + r.h);
      c.globalAlpha = 0.16;
      c.fill();
      c.globalAlpha = 1;
      c.lineWidth = 1;
    }
  }
}

/** What of the extra rows lies under a point of the canvas: {row, i}; i = index within it, -1 = before the first. */
export function pickExtra(lanes, extra, view, width, px, py) {
  const LABEL = labelOf(width);
  const row = extraRows(lanes, extra).find((r) => py >= r.y - 3 && py <= r.y + r.h + 3);
  if (!row || px < LABEL) return null;
  const per = (view[1] - view[0]) / (width - LABEL), t = view[0] + (px - LABEL) * per;
  if (row.type === "sample") { const i = row.s.start.findLastIndex((x) => x <= t); return i >= 0 && row.s.end[i] + 2 * per >= t ? { row, i } : null; }
  if (row.type === "memory") return { row, i: row.s.t.findLastIndex((x) => x <= t) };
  const a = row.type === "wait" ? row.l.start : row.l.start.map((s, i) => s - Math.max(0, row.l.longest[i])), b = row.type === "wait" ? row.l.end : row.l.start;
  let best = null, near = 4 * per;
  a.forEach((_, i) => { const gap = Math.max(0, a[i] - t, t - b[i]); if (gap < near) { near = gap; best = { row, i }; } });
  return best;
}

export function draw(canvas, { data, lanes, names, view, selection, chosen, hover, colors, dark, tick, width, height, extra, holds }) {
  const LABEL = labelOf(width);
  const dpr = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * dpr) || canvas.height !== Math.round(height * dpr)) {
    canvas.width = Math.round(width * dpr);
    canvas.height = Math.round(height * dpr);
  }
  const c = canvas.getContext("2d");
  c.setTransform(dpr, 0, 0, dpr, 0, 0);
  c.clearRect(0, 0, width, height);
  const [from, to] = view;
  const plot = width - LABEL, scale = plot / (to - from);
  const X = (t) => LABEL + (t - from) * scale;
  c.font = colors.font;
  c.textBaseline = "middle";
  // time axis, counted from the start of the view's own round step
  const step = ticks(to - from, plot);
  c.strokeStyle = colors.line;
  c.fillStyle = colors.ink3;
  c.beginPath();
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    const x = Math.round(X(t)) + 0.5;
    c.moveTo(x, HEAD - 6);
    c.lineTo(x, height);
    c.fillText(tick(t), x + 4, 11);
  }
  c.stroke();
  const ranges = laneRanges(data);
  const rows = layout(lanes);
  c.save();
  c.beginPath();
  c.rect(LABEL, 0, plot, height);
  c.clip();
  drawHolds(c, holds, { X, from, to, colors, top: HEAD - 6, height, low: LABEL });
  let drawn = 0;
  for (const { lane, y, h } of rows) {
    const r = ranges.get(lane.lane);
    if (!r) continue;
    const [lo, hi] = r;
    let i = Math.max(lo, lowerBound(data.start, lo, hi, from) - 1);
    while (i < hi && data.start[i] <= to) {
      const x0 = X(data.start[i]);
      let x1 = x0 + data.duration[i] * scale, best = i, j = i + 1;
      // runs under a pixel become one rectangle, coloured by the longest event in it
      if (x1 - x0 < 1) {
        const edge = Math.floor(x0) + 1;
        let busy = data.busy[i];
        while (j < hi && X(data.start[j]) < edge) {
          if (data.duration[j] > data.duration[best]) best = j;
          busy += data.busy[j];
          x1 = Math.max(x1, X(data.start[j]) + data.duration[j] * scale);
          j++;
        }
        c.globalAlpha = Math.min(1, Math.max(0.35, busy * scale));
        x1 = Math.max(x1, Math.floor(x0) + 1);
      }
      c.fillStyle = lane.kind === "kernel" ? kernelFill(data.item[best], dark) : lane.kind === "memcpy" ? colors.copy : colors.idle;
      if (data.count[best] > 1 && data.duration[best] > 0 && x1 - x0 > 2) c.globalAlpha = Math.max(0.35, Math.min(1, data.busy[best] / data.duration[best]));
      c.fillRect(x0, y, Math.max(1, x1 - x0 - (x1 - x0 > 4 ? 0.8 : 0)), h);
      c.globalAlpha = 1;
      drawn++;
      const w = Math.min(x1, width) - Math.max(x0, LABEL);
      if (j === i + 1 && w > 46 && data.count[i] === 1) {
        c.fillStyle = colors.onFill;
        const label = lane.kind === "kernel" ? names.get(data.item[i]) ?? "" : COPY[data.item[i]] ?? lane.kind;
        c.fillText(cut(c, label, w - 10), Math.max(x0, LABEL) + 5, y + h / 2 + 0.5);
      }
      if (i === chosen || i === hover) {
        c.strokeStyle = colors.ink;
        c.lineWidth = i === chosen ? 2 : 1;
        c.strokeRect(Math.max(x0, LABEL) + 0.5, y + 0.5, Math.max(2, Math.min(x1, width) - Math.max(x0, LABEL) - 1), h - 1);
        c.lineWidth = 1;
      }
      i = j;
    }
  }
  const below = extraRows(lanes, extra);
  drawExtra(c, { rows: below, lanes: rows, X, view, colors, width });
  if (selection) {
    const a = X(selection[0]), b = X(selection[1]);
    c.fillStyle = colors.select;
    c.globalAlpha = 0.14;
    c.fillRect(a, 0, b - a, height);
    c.globalAlpha = 1;
    c.fillStyle = colors.select;
    c.fillRect(a - 0.5, 0, 1, height);
    c.fillRect(b - 0.5, 0, 1, height);
  }
  c.restore();
  c.fillStyle = colors.ground;
  c.fillRect(0, 0, LABEL - 1, height);
  for (const { lane, y, h } of rows) {
    c.fillStyle = lane.kind === "kernel" ? colors.ink : colors.ink2;
    c.fillText(cut(c, laneName(lane), LABEL - 14), 10, y + h / 2 + 0.5);
  }
  c.fillStyle = colors.ink2;
  for (const r of below) c.fillText(cut(c, r.label, LABEL - 14), 10, r.y + r.h / 2 + 0.5);
  return drawn;
}

export const COPY = { 1: "host to device", 2: "device to host", 3: "host to array", 4: "array to host", 8: "device to device", 9: "host to host", 10: "peer" };
export const laneName = (l) => (l.kind === "kernel" ? "" : l.kind === "memcpy" ? "copies, " : "fills, ") + `stream ${l.stream}` + (l.legacy && l.kind === "kernel" ? " (legacy default)" : "");

const widths = new Map();
function cut(c, s, w) {
  if (w < 12) return "";
  let m = widths.get(s);
  if (m === undefined) { m = c.measureText(s).width; if (widths.size > 4000) widths.clear(); widths.set(s, m); }
  if (m <= w) return s;
  const n = Math.floor((s.length * (w - 8)) / m);
  return n < 3 ? "" : s.slice(0, n) + "…";
}

/** Whole run in one strip: how busy the device was, pixel by pixel. */
export function drawMinimap(canvas, { data, lanes, whole, view, selection, colors, width, height, holds }) {
  const dpr = devicePixelRatio || 1;
  canvas.width = Math.round(width * dpr);
  canvas.height = Math.round(height * dpr);
  const c = canvas.getContext("2d");
  c.setTransform(dpr, 0, 0, dpr, 0, 0);
  c.clearRect(0, 0, width, height);
  const kind = new Map(lanes.map((l) => [l.lane, l.kind]));
  const n = Math.ceil(width), span = whole[1] - whole[0] || 1;
  const sums = { kernel: new Float64Array(n), other: new Float64Array(n) };
  for (let i = 0; i < data.n; i++) {
    const a = ((data.start[i] - whole[0]) / span) * n, b = a + (data.duration[i] / span) * n;
    const into = kind.get(data.lane[i]) === "kernel" ? sums.kernel : sums.other;
    const dense = data.duration[i] > 0 ? data.busy[i] / data.duration[i] : 0;
    for (let x = Math.max(0, Math.floor(a)); x < Math.min(n, Math.ceil(b)); x++) into[x] += (Math.min(b, x + 1) - Math.max(a, x)) * dense;
  }
  for (let x = 0; x < n; x++) {
    const k = Math.min(1, sums.kernel[x]), o = Math.min(1, sums.other[x]);
    c.fillStyle = colors.kernel;
    c.fillRect(x, height * (1 - 0.72 * k), 1, height * 0.72 * k);
    c.fillStyle = colors.copy;
    c.fillRect(x, 2, 1, height * 0.22 * o);
  }
  const X = (t) => ((t - whole[0]) / span) * width;
  drawHolds(c, holds, { X, from: whole[0], to: whole[1], colors, top: 0, height, low: 0, hatched: false });
  c.fillStyle = colors.shade;
  c.globalAlpha = 0.55;
  c.fillRect(0, 0, X(view[0]), height);
  c.fillRect(X(view[1]), 0, width - X(view[1]), height);
  c.globalAlpha = 1;
  if (selection) {
    c.fillStyle = colors.select;
    c.globalAlpha = 0.25;
    c.fillRect(X(selection[0]), 0, Math.max(1, X(selection[1]) - X(selection[0])), height);
    c.globalAlpha = 1;
  }
  c.strokeStyle = colors.select;
  c.strokeRect(X(view[0]) + 0.5, 0.5, Math.max(2, X(view[1]) - X(view[0]) - 1), height - 1);
}

/** Row of the event at a point of the canvas, or -1. */
export function pick(data, lanes, view, width, px, py) {
  const LABEL = labelOf(width);
  const row = layout(lanes).find((r) => py >= r.y && py < r.y + r.h + 1);
  if (!row || px < LABEL) return -1;
  const [from, to] = view, per = (to - from) / (width - LABEL), t = from + (px - LABEL) * per;
  const r = laneRanges(data).get(row.lane.lane);
  if (!r) return -1;
  const [lo, hi] = r;
  let best = -1, near = 3 * per;
  for (let i = Math.max(lo, lowerBound(data.start, lo, hi, t) - 2); i < hi && data.start[i] <= t + near; i++) {
    const gap = t < data.start[i] ? data.start[i] - t : t > data.start[i] + data.duration[i] ? t - data.start[i] - data.duration[i] : 0;
    if (gap <= near) { near = gap; best = i; }
  }
  return best;
}
