// SPDX-License-Identifier: MIT
// access.js: the access calculator: one warp's lanes × sectors and lanes × banks. The whole pattern is in the URL.
import { useRef } from "preact/hooks";
import { useApi } from "../api.js";
import { exact, format } from "../format.js";
import { query, setQuery } from "../router.js";
import { ChartTools, Panel, html, rows, when } from "../ui.js";

// [key, title, default, least, most]
const FIELDS = [["stride", "Stride, elements", 1, -4096, 4096], ["offset", "Offset, elements", 0, -65536, 65536], ["x", "Block x", 32, 1, 1024], ["y", "Block y", 1, 1, 1024], ["z", "Block z", 1, 1, 64], ["pitch", "Pitch, B", "", -65536, 65536], ["warp", "Warp", 0, 0, 31]];
const READY = [["Coalesced", {}], ["Stride 2", { stride: 2 }], ["Misaligned", { offset: 1 }], ["Column", { x: 32, y: 8, pitch: 4096, transposed: 1 }], ["32 × 32 tile, column", { x: 32, y: 32, transposed: 1 }], ["33 wide tile, column", { x: 32, y: 32, pitch: 132, transposed: 1 }], ["float4", { width: 16 }]];
const C = 13;

/** Lanes across, one row for each sector or bank; a filled cell: the lane wants it. */
function Grid({ list, lanes, hits, label, more, name }) {
  const svg = useRef(null), W = 96 + 32 * C + 74, H = 14 + list.length * C;
  return html`<svg ref=${svg} class="chart pic" width=${W} height=${H} viewBox=${`0 0 ${W} ${H}`} role="img" aria-label=${name}>
    ${[0, 8, 16, 24, 31].map((l) => html`<text key=${l} class="tick" x=${96 + l * C + C / 2} y="9" text-anchor="middle">${l}</text>`)}
    ${list.map((r, i) => html`<g key=${r} transform=${`translate(0 ${14 + i * C})`}><text class="tick" x="90" y="10" text-anchor="end">${label(r)}</text><g class="round first">${lanes.map((b, l) => (b !== null && hits(b, r) ? html`<rect key=${l} x=${96 + l * C} y="1" width=${C - 2} height=${C - 2} rx="1.5" />` : null))}</g><text class="tick" x=${104 + 32 * C} y="10">${more(r)}</text></g>`)}
  </svg><p class="caption">Lanes across. <${ChartTools} svg=${() => svg.current} name="access" /></p>`;
}

function Answer({ a }) {
  const w = a.pattern.width, words = Math.max(1, w / 4), lanes = a.lane_bytes, mine = a.per_warp[a.warp];
  const sectors = [...new Set(lanes.filter((b) => b !== null).map((b) => Math.floor(b / 32)))].sort((p, q) => p - q);
  const wanted = (bank) => new Set(lanes.flatMap((b) => (b === null ? [] : Array.from({ length: words }, (_, k) => Math.floor(b / 4) + k))).filter((x) => ((x % 32) + 32) % 32 === bank)).size;
  const counts = Array.from({ length: 32 }, (_, bank) => wanted(bank));
  return html`<div class="two"><div class="main">
    <${Panel} title="Global memory" note=${`warp ${a.warp}: ${exact(mine.sectors)} sectors, side by side ${exact(mine.ideal_sectors)}`}><${Grid} list=${sectors} lanes=${lanes} hits=${(b, s) => Math.floor(b / 32) === s} label=${(s) => `byte ${s * 32}`} more=${() => ""} name=${`${exact(mine.lanes)} lanes touch ${exact(mine.sectors)} sectors of 32 bytes`} /><//>
    <${Panel} title="Shared memory" note=${`warp ${a.warp}: ${exact(mine.wavefronts)} round${mine.wavefronts === 1 ? "" : "s"}, without conflicts ${exact(mine.ideal_wavefronts)}`}><${Grid} list=${counts.map((_, k) => k)} lanes=${lanes} hits=${(b, bank) => Array.from({ length: words }, (_, k) => (((Math.floor(b / 4) + k) % 32) + 32) % 32).includes(bank)} label=${(b) => `bank ${b}`} more=${(b) => (counts[b] ? `${counts[b]} word${counts[b] > 1 ? "s" : ""}` : "")} name=${`the words of 32 banks that the warp wants; ${exact(mine.wavefronts)} rounds`} />
      ${w > 4 && html`<p class="caption">${w} bytes a lane: a warp is served in ${w / 4} parts. Of a load, two parts join where lanes agree in pairs; of a store never: ${exact(mine.store_wavefronts)} rounds. As an H200 counts.</p>`}<//></div>
    <aside class="side"><${Panel} title="The block">${rows([["Warps", exact(a.warps)], ["Sectors", exact(a.sectors)], ["Sectors per request", format(a.sectors_per_request, "1")], ["Side by side", exact(a.ideal_sectors)], ["Bytes used of those moved", format(a.efficiency, "")], ["Rounds in shared memory", exact(a.wavefronts)], ["of them conflicts", exact(a.bank_conflicts)], ...(a.store_wavefronts !== a.wavefronts ? [["Rounds of a store", exact(a.store_wavefronts)]] : [])])}
      <p>${a.padding_bytes ? html`<b>${exact(a.padding_bytes)} bytes of padding</b> a row of a shared array (pitch ${exact(a.pattern.pitch + a.padding_bytes)}) bring the rounds from ${exact(a.wavefronts)} to ${exact(a.padded_wavefronts)}. <button class="quiet" onClick=${() => setQuery({ pitch: a.pattern.pitch + a.padding_bytes })}>Try it</button>` : a.wavefronts > a.ideal_wavefronts ? "No padding of the row makes the shared accesses cheaper." : "No conflicts in shared memory: nothing to pad."}</p><//></aside></div>`;
}

export function AccessPage() {
  const at = Object.fromEntries([["width", "4"], ["transposed", "0"], ...FIELDS.map(([k, , d]) => [k, String(d)])].map(([k, d]) => [k, query(k, d)]));
  const state = useApi("/access?" + Object.entries(at).filter(([, v]) => v !== "").map(([k, v]) => `${k}=${encodeURIComponent(v)}`).join("&"), true);
  const set = (k) => (e) => setQuery({ [k]: e.target.value === "" ? null : e.target.value });
  const all = Object.fromEntries(Object.keys(at).map((k) => [k, null]));
  return html`<div class="page"><div class="pagehead"><h1>Access calculator</h1><p class="note">What a regular pattern costs: thread (x, y, z) touches element offset + x·stride of row y</p></div>
    <div class="controls"><label class="pick">Bytes a lane <select value=${at.width} onChange=${set("width")}>${[1, 2, 4, 8, 16].map((n) => html`<option key=${n} value=${n}>${n}</option>`)}</select></label>
      ${FIELDS.map(([k, title, , lo, hi]) => html`<label key=${k} class="pick">${title} <input type="number" min=${lo} max=${hi} value=${at[k]} placeholder=${k === "pitch" ? "packed" : ""} onChange=${set(k)} /></label>`)}
      <label class="pick"><input type="checkbox" checked=${at.transposed === "1"} onChange=${(e) => setQuery({ transposed: e.target.checked ? 1 : null })} /> x walks down the rows</label></div>
    <div class="controls"><span class="presets" role="group" aria-label="Ready patterns">${READY.map(([t, v]) => html`<button key=${t} class="quiet" onClick=${() => setQuery({ ...all, ...v })}>${t}</button>`)}</span></div>
    ${when(state, (a) => html`<${Answer} a=${a} />`, "Counting")}</div>`;
}
