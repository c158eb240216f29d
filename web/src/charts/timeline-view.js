// SPDX-License-Identifier: MIT
// timeline-view.js: the canvas of the timeline. Lanes of kernels and copies, merged runs under a pixel, minimap, selection.
// It draws from typed arrays (timeline-data.js) and keeps no state of its own but the canvas: view and selection are given.
import { laneRanges, lowerBound } from "./timeline-data.js";

export const HEAD = 26, GROUPGAP = 6, LABEL = 132;
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
export const heightOf = (lanes) => (lanes.length ? layout(lanes).at(-1).y + laneHeight(lanes.length) + 6 : HEAD + 40);

export function draw(canvas, { data, lanes, names, view, selection, chosen, hover, colors, dark, format, width, height }) {
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
    c.fillText(format(t), x + 4, 11);
  }
  c.stroke();
  const ranges = laneRanges(data);
  const rows = layout(lanes);
  c.save();
  c.beginPath();
  c.rect(LABEL, 0, plot, height);
  c.clip();
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
  return drawn;
}

export const COPY = { 1: "host to device", 2: "device to host", 3: "host to array", 4: "array to host", 8: "device to device", 9: "host to host", 10: "peer" };
export const laneName = (l) => (l.kind === "kernel" ? `stream ${l.stream}` + (l.stream === 7 ? " (default)" : "") : `${l.kind === "memcpy" ? "copies" : "fills"} ${l.stream}`);

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
export function drawMinimap(canvas, { data, lanes, whole, view, selection, colors, width, height }) {
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
