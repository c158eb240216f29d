// SPDX-License-Identifier: MIT
// access.js: a warp's memory access as a picture: lanes above, the sectors (or bank rounds) they cost below.
// Drawn from averages per request: which lane touched which sector is not recorded, and the caption says so.
import { exact, format } from "../format.js";
import { ChartTools, has, html, num, whyText } from "../ui.js";
import { useRef } from "preact/hooks";

const LANES = 32, CELL = 15, GAP = 3;

function Strip({ n, cls, fill = () => "", y, title }) {
  return html`<g class=${cls}>${Array.from({ length: n }, (_, i) => html`<rect key=${i} class=${fill(i)} x=${i * (CELL + GAP)} y=${y} width=${CELL} height=${CELL} rx="2" />`)}${title && html`<title>${title}</title>`}</g>`;
}

/** One direction of global memory. Used bytes fill each sector's cell from below. */
export function Sectors({ m, dir, name }) {
  const svgRef = useRef(null);
  const spr = num(m, dir + "_sectors_per_request"), bps = num(m, dir + "_bytes_per_sector"), req = num(m, dir + "_requests"), sec = num(m, dir + "_sectors"), by = num(m, dir + "_bytes");
  const word = dir === "gld" ? "load" : "store";
  if (req === 0) return html`<div class="access"><h3>Global ${word}s</h3><p class="soft">This kernel makes none.</p></div>`;
  const perSector = bps ?? (by !== null && sec ? by / sec : null);
  const perRequest = spr ?? (req && sec !== null ? sec / req : null);
  if (perRequest === null) return html`<div class="access"><h3>Global ${word}s</h3><p class="why">${whyText(m[dir + "_sectors_per_request"] ?? m[dir + "_sectors"])}</p></div>`;
  const used = perSector === null ? null : Math.min(1, perSector / 32);
  const ideal = used === null ? null : Math.max(1, perRequest * used);
  const n = Math.max(1, Math.ceil(perRequest - 1e-9));
  const W = LANES * (CELL + GAP) - GAP, y0 = 44, high = 22, H = y0 + high + 1, cell = (W + GAP) / n, gap = n > 40 ? 1 : GAP;
  const bad = used !== null && used < 0.75;
  // Lanes spread evenly over the sectors: 8 lanes to a sector where neighbours read neighbours, a sector a lane where they do not.
  const links = Math.max(LANES, n);
  return html`<div class="access"><h3>Global ${word}s <span class=${"verdict " + (used === null ? "" : bad ? "poor" : "fine")}>${format(perRequest, "sector/request")}${ideal !== null ? html`, best possible ${format(Math.ceil(ideal - 0.05), "1")}` : ""}</span></h3>
    <svg ref=${svgRef} class="chart pic" width=${W} height=${H} viewBox=${`0 0 ${W} ${H}`} role="img" aria-label=${`A warp ${word} of 32 lanes touches ${format(perRequest, "1")} sectors of 32 bytes on average${used === null ? "" : `; ${format(used, "")} of their bytes are used`}`}>
      <${Strip} n=${LANES} cls="lanes" y=${0} title="32 lanes of a warp" />
      <g class="fan">${Array.from({ length: links }, (_, t) => html`<line key=${t} x1=${Math.floor((t * LANES) / links) * (CELL + GAP) + CELL / 2} y1=${CELL + 2} x2=${Math.floor((t * n) / links) * cell + (cell - gap) / 2} y2=${y0 - 2} />`)}</g>
      ${Array.from({ length: n }, (_, i) => { const part = (i === n - 1 ? perRequest - (n - 1) : 1) * (cell - gap); return html`<g key=${i} class="sector"><rect class="shell" x=${i * cell} y=${y0} width=${part} height=${high} rx="2" />${used !== null && html`<rect class=${"used " + (bad ? "poor" : "fine")} x=${i * cell} y=${y0 + high * (1 - used)} width=${part} height=${high * used} rx="1" />`}</g>`; })}
    </svg>
    <p class="caption">32 lanes above; below them the 32-byte sectors that one ${word} touches. ${used === null ? "" : html`Filled: the <span title=${exact(perSector, "B")}>${format(perSector, "B")}</span> of each sector that were asked for (${format(used, "")}).`} <${ChartTools} svg=${() => svgRef.current} name=${`${name}-global-${word}s`} /></p></div>`;
}

/** Shared memory: 32 lanes × rounds. Each lane is served in one round; every round after the first is one that lanes wait for. */
export function Banks({ m, dir, name }) {
  const svgRef = useRef(null);
  const word = dir === "ld" ? "load" : "store";
  const req = num(m, `shared_${dir}_requests`), wpr = m[`shared_${dir}_wavefronts_per_request`];
  if (req === 0) return html`<div class="access"><h3>Shared ${word}s</h3><p class="soft">This kernel makes none.</p></div>`;
  if (!has(wpr)) return html`<div class="access"><h3>Shared ${word}s</h3><p class="why">${whyText(wpr)}</p></div>`;
  const w = Math.max(1, wpr.value), whole = Math.min(32, Math.ceil(w - 0.05));
  const ch = whole > 12 ? 4 : 8, W = LANES * (CELL + GAP) - GAP, H = whole * (ch + 2);
  const round = (lane) => Math.min(whole - 1, Math.floor((lane * w) / LANES));
  return html`<div class="access"><h3>Shared ${word}s <span class=${"verdict " + (w > 1.1 ? "poor" : "fine")}>${format(w, "1")} round${w === 1 ? "" : "s"} a request, best possible 1</span></h3>
    <svg ref=${svgRef} class="chart pic" width=${W} height=${H} viewBox=${`0 0 ${W} ${H}`} role="img" aria-label=${`A shared-memory ${word} serves its 32 lanes in ${format(w, "1")} rounds on average`}>
      ${Array.from({ length: whole }, (_, r) => html`<g key=${r} class=${r === 0 ? "round first" : "round extra"}><path class="waits" d=${`M0 ${r * (ch + 2) + ch / 2}H${W}`} />${Array.from({ length: LANES }, (_, l) => (round(l) === r ? html`<rect key=${l} x=${l * (CELL + GAP)} y=${r * (ch + 2)} width=${CELL} height=${ch} rx="1.5" /> ` : null))}</g>`)}
    </svg>
    <p class="caption">32 lanes across, rounds downwards; filled: the lanes that a round serves. ${w > 1.1 ? "More than one round: lanes want different words of one of the 32 banks, or each asks for more than 4 bytes." : "One round: no two lanes want different words of one bank."} <${ChartTools} svg=${() => svgRef.current} name=${`${name}-shared-${word}s`} /></p></div>`;
}
