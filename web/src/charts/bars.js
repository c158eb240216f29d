// SPDX-License-Identifier: MIT
// bars.js: bars of shares: utilisation, stall reasons, the time bill. SVG rects, so that no style attribute is needed.
import { exact, format } from "../format.js";
import { V, has, html, noTip, rows, tipAt } from "../ui.js";

/** items: {key, title, v (ws_value, 0…1), note, mark (0…1: a second tick)}. One line each, aligned numbers. */
export function Gauges({ items, label }) {
  return html`<div class="gauges" role="list" aria-label=${label}>${items.map((g) => html`<div class="gauge" role="listitem" key=${g.key}>
    <span class="gtitle" title=${g.hint}>${g.title}</span>
    ${has(g.v)
      ? html`<svg class="gbar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="10" /><rect class=${"fill " + (g.cls ?? "")} width=${Math.max(0, Math.min(1, g.v.value)) * 100} height="10" />${g.mark !== undefined && g.mark !== null && html`<rect class="tick" x=${Math.min(99.4, g.mark * 100)} width=".6" height="10" />`}</svg>`
      : html`<span class="gwhy"></span>`}
    <span class="gval"><${V} v=${g.v} unit="" /></span>
    ${g.note && html`<span class="gnote">${g.note}</span>`}
  </div>`)}</div>`;
}

// What a stall reason waits for: neighbours in meaning share a hue.
export const STALL_GROUPS = [
  ["memory", "Global and local memory", ["long_scoreboard", "lg_throttle", "drain", "tex_throttle"]],
  ["shared", "Shared memory, special functions", ["mio_throttle", "short_scoreboard"]],
  ["sync", "Other warps", ["barrier", "membar", "sleeping"]],
  ["math", "Arithmetic and latency", ["math_pipe_throttle", "wait", "dispatch_stall", "gmma"]],
  ["front", "Instructions and constants", ["no_instruction", "branch_resolving", "imc_miss"]],
];
export const stallGroup = (reason) => STALL_GROUPS.find(([, , list]) => list.includes(reason))?.[0] ?? "other";

/** One bar from 0 to the sum; parts: {key, title, value, cls, doc, open: what a click does (the table beside it has the same as a link)}. */
export function Stack({ parts, width, height = 26, unit, svgRef, label, whole }) {
  const sum = whole ?? (parts.reduce((s, p) => s + p.value, 0) || 1);
  let at = 0;
  return html`<svg ref=${svgRef} class="chart stack" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${`${label}: ${parts.map((p) => `${p.title} ${format(p.value / sum, "")}`).join(", ")}`}>
    ${parts.map((p) => {
      const w = (p.value / sum) * width, x0 = at;
      at += w;
      const text = w > 54 ? (w > p.title.length * 6.9 + 58 ? p.title + "  " : "") + format(p.value / sum, "") : "";
      return html`<g key=${p.key} class=${`part ${p.cls} ${p.open ? "opens" : ""}`} onClick=${p.open} onPointerMove=${(e) => tipAt(e, html`<strong>${p.title}</strong>${rows([["Share", format(p.value / sum, "")], unit !== "" && ["Time", `${format(p.value, unit)} (${exact(p.value, unit)})`], p.doc && ["", p.doc]])}`)} onPointerLeave=${noTip}>
        <rect x=${x0} y="0" width=${Math.max(0, w - 1)} height=${height} />${text && html`<text x=${x0 + 8} y=${height / 2 + 4}>${text}</text>`}</g>`;
    })}</svg>`;
}
