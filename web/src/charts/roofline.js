// SPDX-License-Identifier: MIT
// roofline.js: log-log roofline in SVG. Every point is a link-like node: hover, keyboard, test and export alike.
// Measured roofs are solid, data-sheet roofs dotted, another GPU's roofs dashed. A point above its roof is shown as it is.
import { useMemo, useRef, useState } from "preact/hooks";
import { count, format, opUnit, shortName } from "../format.js";
import { scaleLog } from "../scale.js";
import { html, noTip, rows, tipAt, whyText } from "../ui.js";

const M = { l: 74, r: 14, t: 18, b: 46 };
const LEVELS = ["DRAM", "L2", "L1"];
const NAMED = 26; // points whose name is written beside them: those that took most time

/** Ceilings of a device as {memory:[{level,measured,sheet}], compute:[{precision,…}]}. DRAM is the best of read, write and copy, as in analyzer/roofline.c. */
export function ceilingsOf(device) {
  const all = device?.ceilings ?? [];
  const best = (prefix, kind) => all.filter((c) => c.key.startsWith(prefix) && c[kind] !== null).reduce((m, c) => (m === null || c[kind] > m ? c[kind] : m), null);
  return {
    memory: LEVELS.map((level) => ({ level, measured: best(level.toLowerCase() + "_", "measured"), sheet: best(level.toLowerCase() + "_", "sheet") })),
    compute: all.filter((c) => c.unit === "FLOP/s" || (c.unit === "op/s" && /int/.test(c.key))).map((c) => ({ precision: c.key.replaceAll("_", "-"), title: c.title, measured: c.measured, sheet: c.sheet })),
  };
}

const decades = ([a, b]) => {
  const out = [];
  for (let e = Math.ceil(Math.log10(a) - 1e-9); e <= Math.floor(Math.log10(b) + 1e-9); e++) out.push(10 ** e);
  return out;
};

export const SHAPES = { memory: "circle", compute: "diamond", unknown: "triangle" };
export function shape(bound, r) {
  if (bound === "compute") return `M0 ${-r * 1.2}L${r * 1.2} 0L0 ${r * 1.2}L${-r * 1.2} 0Z`;
  if (bound === "memory") return `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  return `M0 ${-r * 1.2}L${r * 1.1} ${r * 0.8}L${-r * 1.1} ${r * 0.8}Z`;
}

export function pointTip(p) {
  return html`<strong class="mono">${shortName(p.name)}</strong>${rows([
    ["Level, precision", `${p.level}, ${p.precision}`],
    ["Intensity", format(p.intensity, opUnit(p.precision, "B"))],
    ["Rate", format(p.flop_rate, opUnit(p.precision))],
    ["Of its roof", p.percent === null || p.percent === undefined ? "not known" : format(p.percent, "")],
    ["Roof", p.roof === null || p.roof === undefined ? whyText({ why: p.roof_source }) : `${format(p.roof, opUnit(p.precision))} (${p.roof_source})`],
    ["Bound by", p.bound],
    p.launches !== undefined && ["Launches, time", `${count(p.launches)}, ${format(p.duration, "s")}`],
    p.there && ["There, at most", `${format(p.there.rate, opUnit(p.precision))}, ${format(p.there.factor, "1")}× (modelled)`],
    p.percent > 1 && ["Doubt", "above its roof: the counters or the ceiling are wrong"],
  ])}`;
}

/** points: API points, with .there = {rate, factor} where another GPU is asked for; device: with ceilings; levels, precisions: what is drawn; from: points of a baseline; what: ceilings of another GPU. */
export function Roofline({ points, device, levels, precisions, width, height, svgRef, onOpen, from, whatIf, mini = false, focusId }) {
  const { memory, compute } = useMemo(() => ceilingsOf(device), [device]);
  const other = whatIf ? ceilingsOf(whatIf) : null;
  const shown = points.filter((p) => levels.includes(p.level) && precisions.includes(p.precision) && p.intensity > 0 && p.flop_rate > 0);
  const mem = memory.filter((c) => levels.includes(c.level));
  const cmp = compute.filter((c) => precisions.includes(c.precision));
  const domain = useMemo(() => {
    const bw = mem.flatMap((c) => [c.measured, c.sheet]).concat((other?.memory ?? []).filter((c) => levels.includes(c.level)).map((c) => c.sheet)).filter(Boolean);
    const pk = cmp.flatMap((c) => [c.measured, c.sheet]).concat((other?.compute ?? []).filter((c) => precisions.includes(c.precision)).map((c) => c.sheet)).filter(Boolean);
    const xs = shown.map((p) => p.intensity), ys = shown.flatMap((p) => [p.flop_rate, ...(p.there ? [p.there.rate] : [])]);
    const ridges = bw.flatMap((b) => pk.map((p) => p / b));
    const x0 = Math.min(...xs, ...(ridges.length ? [Math.min(...ridges) / 30] : []), ...(xs.length + ridges.length ? [] : [0.1])) / 1.7;
    const x1 = Math.max(...xs, ...(ridges.length ? [Math.max(...ridges) * 12] : []), ...(xs.length + ridges.length ? [] : [100])) * 1.7;
    const y1 = Math.max(...ys, ...pk, ...(pk.length + ys.length ? [] : [1e12])) * 2.4;
    const y0 = Math.min(...ys, ...(bw.length ? [Math.min(...bw) * x0] : []), ...(bw.length + ys.length ? [] : [1e9]), y1 / 1000) / 1.6;
    return { x: [x0, x1], y: [y0, y1] };
  }, [points, device, levels.join(), precisions.join(), whatIf]);
  const x = scaleLog(domain.x, [M.l, width - M.r]);
  const y = scaleLog(domain.y, [height - M.b, M.t]);
  const most = Math.max(1e-12, ...shown.map((p) => p.duration ?? 0));
  const radius = (p) => (mini ? 6 : 4 + 9 * Math.sqrt((p.duration ?? 0) / most));
  const order = useMemo(() => [...shown].sort((a, b) => a.intensity - b.intensity || a.flop_rate - b.flop_rate), [points, levels.join(), precisions.join()]);
  const [at, setAt] = useState(-1);
  const [hover, setHover] = useState(null);
  const group = useRef(null);
  const keys = (e) => {
    const i = Number(e.target.dataset?.i ?? -1);
    if (i < 0) return;
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[e.key];
    const to = e.key === "Home" ? 0 : e.key === "End" ? order.length - 1 : step ? Math.max(0, Math.min(order.length - 1, i + step)) : -1;
    if (to >= 0) { setAt(to); group.current.querySelector(`[data-i="${to}"]`)?.focus(); e.preventDefault(); e.stopPropagation(); }
    if (e.key === "Enter" || e.key === " ") { onOpen?.(order[i]); e.preventDefault(); }
  };

  const slope = (bw, cap, cls, key) => {
    // From the left edge (or where it enters at the bottom) up to the cap.
    const xa = Math.max(domain.x[0], domain.y[0] / bw);
    const xb = Math.min(domain.x[1], cap / bw);
    return xb > xa ? html`<line key=${key} class=${cls} x1=${x(xa)} y1=${y(xa * bw)} x2=${x(xb)} y2=${y(xb * bw)} />` : null;
  };
  const top = (kind) => Math.max(0, ...cmp.map((c) => c[kind] ?? c.measured ?? c.sheet ?? 0)) || domain.y[1];
  const widest = (kind, list) => Math.max(0, ...list.map((c) => c[kind] ?? 0));
  const flat = (peak, bw, cls, key) => {
    const xa = Math.max(domain.x[0], bw ? peak / bw : domain.x[0]);
    return html`<line key=${key} class=${cls} x1=${x(xa)} y1=${y(peak)} x2=${x(domain.x[1])} y2=${y(peak)} />`;
  };
  // Labels lie above their line, where no point can be; each says what was measured and what the data sheet promises.
  const both = (c, unit) => (c.measured ? `${format(c.measured, unit)} measured${c.sheet && !mini && width > 640 ? `, data sheet ${format(c.sheet, unit)}` : ""}` : `${format(c.sheet, unit)} data sheet`);
  const slopeLabel = (c) => {
    const bw = Math.max(c.measured ?? 0, c.sheet ?? 0);
    if (!bw) return null;
    const xa = Math.max(domain.x[0], domain.y[0] / bw), xm = xa * (mini ? 1.1 : 1.25);
    const angle = (-Math.atan2((y(domain.y[0]) - y(domain.y[1])) / Math.log10(domain.y[1] / domain.y[0]), (x(domain.x[1]) - x(domain.x[0])) / Math.log10(domain.x[1] / domain.x[0])) * 180) / Math.PI;
    return html`<text key=${"s" + c.level} class="rooflabel" transform=${`translate(${x(xm)},${y(xm * bw)}) rotate(${angle})`} dy="-6">${c.level} ${both(c, "B/s")}</text>`;
  };
  // Where those labels lie, as small boxes, so that no name is put on them.
  const slopeBoxes = mem.flatMap((c) => {
    const bw = Math.max(c.measured ?? 0, c.sheet ?? 0);
    if (!bw) return [];
    const x0 = x(Math.max(domain.x[0], domain.y[0] / bw) * 1.25), y0 = y(Math.max(domain.x[0], domain.y[0] / bw) * 1.25 * bw), slant = (height - M.t - M.b) / Math.log10(domain.y[1] / domain.y[0]) / ((width - M.l - M.r) / Math.log10(domain.x[1] / domain.x[0]));
    return Array.from({ length: 16 }, (_, i) => { const bx = x0 + i * 17, by = y0 - i * 17 * slant; return [bx - 4, by - 24, bx + 17, by + 2]; });
  });
  const used = [];
  const flatLabel = (c) => {
    const v = c.measured ?? c.sheet;
    if (!v) return null;
    let ly = y(Math.max(v, c.sheet ?? 0)) - 6;
    while (used.some((u) => Math.abs(u - ly) < 14)) ly -= 14;
    used.push(ly);
    return html`<text key=${"f" + c.precision} class="rooflabel" x=${width - M.r - 4} y=${ly} text-anchor="end">${c.precision} ${both(c, opUnit(c.precision))}</text>`;
  };
  const flatLabels = [...cmp].sort((a, b) => (a.measured ?? a.sheet ?? 0) - (b.measured ?? b.sheet ?? 0)).map(flatLabel);
  const maxBw = widest("measured", mem), maxSheet = widest("sheet", mem);
  const lines = hover && hover.roof;
  const ops = precisions.every((p) => /int/.test(p)) ? "OP" : precisions.some((p) => /int/.test(p)) ? "FLOP (integers: OP)" : "FLOP";
  // Names stand beside their point where there is room; where there is none, hover and table have them.
  const labels = useMemo(() => {
    if (mini) return null;
    const taken = order.map((p) => { const r = radius(p) + 2; return [x(p.intensity) - r, y(p.flop_rate) - r, x(p.intensity) + r, y(p.flop_rate) + r]; });
    taken.push(...slopeBoxes);
    for (const ly of used) taken.push([width - M.r - 330, ly - 11, width - M.r, ly + 3]);
    const out = new Map();
    const named = new Set();
    for (const p of [...order].sort((a, b) => (b.duration ?? 0) - (a.duration ?? 0))) {
      const text = shortName(p.name), label = text.length > 30 ? text.slice(0, 29) + "…" : text, w = label.length * 6.95 + 4, r = radius(p) + 5, cx = x(p.intensity), cy = y(p.flop_rate);
      const spot = [[cx + r, cy - 7, "start", r, 4], [cx - r - w, cy - 7, "end", -r, 4], [cx - w / 2, cy - r - 14, "middle", 0, -r - 4], [cx - w / 2, cy + r, "middle", 0, r + 10]].find(([bx, by]) => bx > M.l && bx + w < width - M.r && by > M.t && by + 14 < height - M.b && !taken.some((t) => bx < t[2] && bx + w > t[0] && by < t[3] && by + 14 > t[1]));
      if (!spot || named.has(p.kernel + p.precision) || named.size >= NAMED) continue;
      named.add(p.kernel + p.precision);
      taken.push([spot[0], spot[1], spot[0] + w, spot[1] + 14]);
      out.set(p, { label, anchor: spot[2], dx: spot[3], dy: spot[4] });
    }
    return out;
  }, [order, width, height, domain, mini]);
  const base = new Map((from ?? []).map((p) => [p.name + p.level + p.precision, p]));

  return html`<svg ref=${svgRef} class="chart roofline" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="group" aria-label=${`Roofline: ${shown.length} points, ${levels.join(", ")}; the table below holds the same numbers`}>
    <defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 .8 8 4 0 7.2Z" class="arrowhead" /></marker>
    <clipPath id="frame"><rect x=${M.l} y=${M.t} width=${Math.max(0, width - M.l - M.r)} height=${Math.max(0, height - M.t - M.b)} /></clipPath></defs>
    <g class="grid" aria-hidden="true">
      ${decades(domain.x).map((v) => html`<g key=${"x" + v}><line x1=${x(v)} x2=${x(v)} y1=${M.t} y2=${height - M.b} /><text x=${x(v)} y=${height - M.b + 16} text-anchor="middle">${v >= 1000 ? format(v, "1") : String(Number(v.toPrecision(1)))}</text></g>`)}
      ${decades(domain.y).map((v) => html`<g key=${"y" + v}><line x1=${M.l} x2=${width - M.r} y1=${y(v)} y2=${y(v)} /><text x=${M.l - 8} y=${y(v) + 4} text-anchor="end">${format(v, "1")}</text></g>`)}
      <text class="axis" x=${(M.l + width - M.r) / 2} y=${height - 8} text-anchor="middle">Arithmetic intensity, ${ops} per byte</text>
      <text class="axis" transform=${`translate(14,${(M.t + height - M.b) / 2}) rotate(-90)`} text-anchor="middle">Rate, ${ops}/s</text>
    </g>
    <g class="roofs" clip-path="url(#frame)" aria-hidden="true">
      ${mem.map((c) => [c.sheet && slope(c.sheet, top("sheet"), "roof sheet", "ds" + c.level), c.measured && slope(c.measured, top("measured"), "roof measured", "dm" + c.level)])}
      ${cmp.map((c) => [c.sheet && flat(c.sheet, maxSheet || maxBw, "roof sheet", "cs" + c.precision), c.measured && flat(c.measured, maxBw || maxSheet, "roof measured", "cm" + c.precision)])}
      ${other && other.memory.filter((c) => levels.includes(c.level) && c.sheet).map((c) => slope(c.sheet, Math.max(...other.compute.filter((k) => precisions.includes(k.precision)).map((k) => k.sheet ?? 0)) || domain.y[1], "roof whatif", "wm" + c.level))}
      ${other && other.compute.filter((c) => precisions.includes(c.precision) && c.sheet).map((c) => flat(c.sheet, Math.max(0, ...other.memory.filter((m) => levels.includes(m.level)).map((m) => m.sheet ?? 0)), "roof whatif", "wc" + c.precision))}
      ${mem.flatMap((m) => cmp.map((c) => m.measured && c.measured ? html`<circle key=${"r" + m.level + c.precision} class="ridge" cx=${x(c.measured / m.measured)} cy=${y(c.measured)} r="2.5" />` : null))}
      ${mem.map(slopeLabel)}${flatLabels}
      ${lines && html`<line class="gap" x1=${x(hover.intensity)} x2=${x(hover.intensity)} y1=${y(hover.flop_rate)} y2=${y(hover.roof)} />`}
    </g>
    ${levels.length > 1 && html`<g class="joins" aria-hidden="true">${[...new Set(shown.map((p) => p.kernel + p.precision))].map((id) => {
      const own = shown.filter((p) => p.kernel + p.precision === id).sort((a, b) => a.intensity - b.intensity);
      return own.length > 1 ? html`<line key=${id} x1=${x(own[0].intensity)} x2=${x(own[own.length - 1].intensity)} y1=${y(own[0].flop_rate)} y2=${y(own[0].flop_rate)} />` : null;
    })}</g>`}
    ${from && html`<g class="moves" aria-hidden="true">${shown.map((p) => { const b = base.get(p.name + p.level + p.precision); return b && Math.hypot(x(b.intensity) - x(p.intensity), y(b.flop_rate) - y(p.flop_rate)) > 5 ? html`<g key=${p.kernel + p.level}><circle class="was" cx=${x(b.intensity)} cy=${y(b.flop_rate)} r="3" /><line x1=${x(b.intensity)} y1=${y(b.flop_rate)} x2=${x(p.intensity)} y2=${y(p.flop_rate)} marker-end="url(#head)" /></g>` : null; })}</g>`}
    ${other && html`<g class="wouldbe" aria-hidden="true">${shown.filter((p) => p.there).map((p) => html`<g key=${"w" + p.kernel + p.level + p.precision}><line x1=${x(p.intensity)} y1=${y(p.flop_rate)} x2=${x(p.intensity)} y2=${y(p.there.rate)} /><circle cx=${x(p.intensity)} cy=${y(p.there.rate)} r="2.6" /></g>`)}</g>`}
    <g class="points" ref=${group} onKeyDown=${keys}>${order.map((p, i) => html`<g key=${p.kernel + p.level + p.precision} data-i=${i} data-kernel=${p.kernel}
        class=${`point ${p.bound} ${p.percent > 1 ? "above" : ""} ${focusId === p.kernel ? "chosen" : ""} ${levels.length > 1 ? "lv" + p.level : ""}`}
        transform=${`translate(${x(p.intensity)},${y(p.flop_rate)})`} role="link" tabindex=${i === Math.max(0, at) ? 0 : -1}
        aria-label=${`${shortName(p.name)}, ${p.level}, ${p.precision}: ${format(p.intensity, opUnit(p.precision, "B"))}, ${format(p.flop_rate, opUnit(p.precision))}, ${p.percent === null || p.percent === undefined ? "not known" : format(p.percent, "") + " of its roof"}, ${p.bound} bound`}
        onClick=${() => onOpen?.(p)} onPointerEnter=${(e) => { setHover(p); tipAt(e, pointTip(p)); }} onPointerMove=${(e) => tipAt(e, pointTip(p))} onPointerLeave=${() => { setHover(null); noTip(); }}
        onFocus=${(e) => { setHover(p); setAt(i); tipAt(e, pointTip(p)); }} onBlur=${() => { setHover(null); noTip(); }}>
        <circle class="hit" r=${Math.max(12, radius(p) + 3)} /><path d=${shape(p.bound, radius(p))} />
        ${mini ? html`<text class="name" y=${-radius(p) - 5} text-anchor="middle">${p.level}</text>` : labels.get(order[i]) && html`<text class="name" x=${labels.get(order[i]).dx} y=${labels.get(order[i]).dy} text-anchor=${labels.get(order[i]).anchor}>${labels.get(order[i]).label}</text>`}
      </g>`)}</g>
  </svg>`;
}
