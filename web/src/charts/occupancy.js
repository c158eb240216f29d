// SPDX-License-Identifier: MIT
// occupancy.js: the what-if: sliders over the daemon's calculator, the limits as bars, the curves as steps.
import { useEffect, useRef, useState } from "preact/hooks";
import { useApi } from "../api.js";
import { exact, format, kib } from "../format.js";
import { ChartTools, Failure, V, html, noTip, rows, tipAt, useWidth } from "../ui.js";

const LIMITS = [["warps", "Warp slots, threads"], ["blocks", "Block slots"], ["registers", "Registers"], ["shared", "Shared memory"], ["barriers", "Barriers"], ["cluster", "Cluster"]];

export const limitTitle = (k) => LIMITS.find(([n]) => n === k)?.[1] ?? k;

/** Blocks per SM that each resource allows; the least one is the limiter. */
export function Limits({ o }) {
  const list = LIMITS.filter(([k]) => o.limits && k in o.limits && (o.limits[k] !== null || k === o.limiter));
  const most = Math.max(1, ...list.map(([k]) => o.limits[k] ?? 0));
  const binds = (k) => (o.limiters ? o.limiters.includes(k) : k === o.limiter);
  return html`<table class="plain limits"><caption>Blocks per SM that each resource allows</caption><tbody>${list.map(([k, t]) => html`<tr key=${k} class=${binds(k) ? "binds" : ""}><th scope="row">${t}</th>
    <td class="lbar"><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width=${((o.limits[k] ?? most) / most) * 100} height="8" /></svg></td>
    <td class="r"><${V} v=${o.limits[k]} unit="1" /></td><td class="soft">${binds(k) ? "limits" : ""}</td></tr>`)}</tbody></table>`;
}

/** Warps per SM over one resource, as steps; now = where the slider stands, was = where the kernel is. */
function Curve({ curve, now, was, max, title, unit, width, onPick }) {
  const h = 92, l = 30, r = 8, t = 8, b = 22;
  if (!curve?.length) return null;
  const x0 = curve[0].x, x1 = curve[curve.length - 1].x;
  const x = (v) => l + ((v - x0) / (x1 - x0 || 1)) * (width - l - r);
  const y = (v) => h - b - (v / max) * (h - t - b);
  const show = (v) => (unit === "B" ? kib(v) : exact(v));
  const near = (v) => curve.reduce((m, p) => (Math.abs(p.x - v) < Math.abs(m.x - v) ? p : m), curve[0]);
  const at = (e) => near(x0 + ((e.offsetX - l) / (width - l - r)) * (x1 - x0));
  const d = curve.map((p, i) => `${i ? `H${x(p.x).toFixed(1)}V${y(p.warps).toFixed(1)}` : `M${x(p.x).toFixed(1)} ${y(p.warps).toFixed(1)}`}`).join("");
  const here = near(now);
  return html`<figure class="curve"><figcaption>${title}</figcaption><svg class="chart" width=${width} height=${h} viewBox=${`0 0 ${width} ${h}`} role="img" aria-label=${`Warps per SM over ${title.toLowerCase()}: ${here.warps} at ${show(here.x)}`}
    onPointerMove=${(e) => { const p = at(e); tipAt(e, rows([[title, show(p.x)], ["Warps per SM", `${p.warps} of ${max}`], ["Blocks per SM", p.blocks], ["Limiter", limitTitle(p.limiter)]])); }} onPointerLeave=${noTip} onClick=${(e) => onPick(at(e).x)}>
    <g class="grid"><line x1=${l} x2=${width - r} y1=${y(0)} y2=${y(0)} /><line x1=${l} x2=${width - r} y1=${y(max)} y2=${y(max)} /><text x=${l - 5} y=${y(0) + 4} text-anchor="end">0</text><text x=${l - 5} y=${y(max) + 4} text-anchor="end">${max}</text>
      <text x=${l} y=${h - 6}>${show(x0)}</text><text x=${width - r} y=${h - 6} text-anchor="end">${show(x1)}</text></g>
    <path class="steps" d=${d} />${was !== null && was !== undefined && was >= x0 && was <= x1 && html`<line class="was" x1=${x(was)} x2=${x(was)} y1=${t} y2=${h - b} />`}
    <circle class="now" cx=${x(Math.max(x0, Math.min(x1, now)))} cy=${y(here.warps)} r="4" /></svg></figure>`;
}

const SLIDERS = [
  ["threads", "Threads per block", 32, 1024, 32, "1"],
  ["regs", "Registers per thread", 16, 255, 1, "1"],
  ["smem", "Static shared memory", 0, 49152, 256, "B"],
  ["dynamic", "Dynamic shared memory", 0, 232448, 256, "B"],
];

/** start: {threads, regs, smem, dynamic} of the kernel, or the page's defaults; now: the setting of a shared link. onChange gets every new setting. */
export function WhatIf({ cc, start, now, onChange, achieved, own = true }) {
  const [at, set] = useState(now ?? start);
  const [box, width] = useWidth(600);
  const [asked, ask] = useState(at);
  const timer = useRef(0);
  const first = useRef(true);
  useEffect(() => { if (first.current) first.current = false; else { set(start); ask(start); } }, [JSON.stringify(start)]);
  const move = (k, v) => {
    const next = { ...at, [k]: Number(v) };
    set(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => { ask(next); onChange?.(next); }, 60);
  };
  const extra = ["barriers", "cluster", "carveout"].filter((k) => asked[k]).map((k) => `&${k}=${asked[k]}`).join("");
  const state = useApi(`/occupancy?cc=${cc}&threads=${asked.threads}&regs=${asked.regs}&smem=${asked.smem}&dynamic=${asked.dynamic}${extra}`);
  const o = state.data?.occupancy;
  const changed = own && SLIDERS.some(([k]) => at[k] !== start[k]);
  const svg = useRef(null);
  const cols = width > 640 ? 3 : 1, cw = Math.floor((width - (cols - 1) * 18) / cols);
  return html`<div class="whatif" ref=${box}>
    <div class="sliders">${SLIDERS.map(([k, title, lo, hi, step, unit]) => html`<label key=${k} class="slider"><span>${title}</span><input type="range" min=${lo} max=${hi} step=${step} value=${at[k]} aria-valuetext=${unit === "B" ? kib(at[k]) : exact(at[k])} onInput=${(e) => move(k, e.target.value)} />
      <input type="number" min=${k === "threads" ? 1 : 0} max=${hi} value=${at[k]} aria-label=${title} onChange=${(e) => move(k, Math.max(k === "threads" ? 1 : 0, Math.min(hi, Number(e.target.value) || 0)))} />
      <span class="soft">${own && at[k] !== start[k] ? "was " + exact(start[k]) : ""}</span></label>`)}
      ${changed && html`<button class="quiet" onClick=${() => { set(start); ask(start); onChange?.(start); }}>Back to the kernel as it is</button>`}</div>
    ${state.error ? html`<${Failure} error=${state.error} />` : o && html`<div class="answer" aria-live="polite"><p class="big"><b><${V} v=${o.theoretical} unit="" /></b> theoretical: ${o.blocks_per_sm} block${o.blocks_per_sm === 1 ? "" : "s"}, ${o.warps_per_sm} of ${o.max_warps} warps per SM${o.limiter ? html`, limited by <b>${limitTitle(o.limiter).toLowerCase()}</b>` : ""}${achieved !== undefined && achieved !== null && !changed ? html`; achieved <b>${format(achieved, "")}</b>` : ""}</p>
      <${Limits} o=${o} /></div>
    <div class="curves" ref=${svg}>
      <${Curve} curve=${state.data.curves?.threads} now=${asked.threads} was=${own ? start.threads : null} max=${o.max_warps} title="Threads per block" unit="1" width=${cw} onPick=${(v) => move("threads", v)} />
      <${Curve} curve=${state.data.curves?.registers} now=${asked.regs} was=${own ? start.regs : null} max=${o.max_warps} title="Registers per thread" unit="1" width=${cw} onPick=${(v) => move("regs", v)} />
      <${Curve} curve=${state.data.curves?.shared} now=${asked.smem + asked.dynamic} was=${own ? start.smem + start.dynamic : null} max=${o.max_warps} title="Shared memory per block" unit="B" width=${cw} onPick=${(v) => move("dynamic", Math.max(0, v - at.smem))} /></div>
    <details class="twin"><summary>Curves as a table</summary><div class="scroll" tabindex="0" role="region" aria-label="Occupancy curves"><table class="plain"><thead><tr><th>Over</th><th class="r">At</th><th class="r">Blocks</th><th class="r">Warps</th><th>Limiter</th></tr></thead>
      <tbody>${Object.entries(state.data.curves ?? {}).flatMap(([k, list]) => list.map((p) => html`<tr key=${k + p.x}><td>${k}</td><td class="r num">${exact(p.x)}</td><td class="r num">${p.blocks}</td><td class="r num">${p.warps}</td><td>${limitTitle(p.limiter)}</td></tr>`))}</tbody></table></div></details>
    <p class="caption">Warps per SM over each resource, the others as set above; click a curve to go there. <${ChartTools} svg=${() => svg.current.querySelector("svg")} name="occupancy" /></p>`}
  </div>`;
}
