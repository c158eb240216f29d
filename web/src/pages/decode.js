// SPDX-License-Identifier: MIT
// decode.js: the decode step of a language model (reference kernel K29) over the batch: the predicted curves, one under
// the measured roofs and one under the data sheet's, and the measured launches on them.
import { useRef } from "preact/hooks";
import { useApi } from "../api.js";
import { exact, format } from "../format.js";
import { go } from "../router.js";
import { scaleLog } from "../scale.js";
import { ChartTools, Mark, Panel, V, has, html, noTip, rows, tipAt, useWidth, when } from "../ui.js";
import { Table } from "../table.js";

const H = 330, M = { l: 70, r: 16, t: 14, b: 44 };

function Chart({ d, width, svgRef }) {
  const curves = d.predicted.filter((c) => c.curve.length), points = d.points.filter((p) => has(p.seconds));
  const batches = [...new Set([...curves.flatMap((c) => c.curve.map((x) => x.batch)), ...points.map((p) => p.batch)])];
  const times = [...curves.flatMap((c) => c.curve.map((x) => x.seconds)), ...points.map((p) => p.seconds.value)];
  if (!times.length) return html`<p class="soft">No roof is known and no batch was launched: nothing to draw.</p>`;
  const x = scaleLog([Math.min(...batches) / 1.15, Math.max(...batches) * 1.15], [M.l, width - M.r]);
  const range = [Math.min(...times) / 1.5, Math.max(...times) * 1.5], y = scaleLog(range, [H - M.b, M.t]);
  const ticks = (lo, hi) => { const out = []; for (let e = Math.floor(Math.log10(lo)); e <= Math.ceil(Math.log10(hi)); e++) for (const m of [1, 2, 5]) { const v = m * 10 ** e; if (v >= lo && v <= hi) out.push(v); } return out; };
  const turn = curves.find((c) => c.source === "measured" && has(c.turn)) ?? curves.find((c) => has(c.turn));
  return html`<svg ref=${svgRef} class="chart decode" width=${width} height=${H} viewBox=${`0 0 ${width} ${H}`} role="img" aria-label=${`Time of a decode step over the batch: ${points.length} measured points, ${curves.length} predicted curves; the table below holds the same numbers`}>
    <g class="grid">${points.map((p) => p.batch).filter((v, i, a) => a.indexOf(v) === i).map((v) => html`<g key=${"x" + v}><line x1=${x(v)} x2=${x(v)} y1=${M.t} y2=${H - M.b} /><text x=${x(v)} y=${H - M.b + 16} text-anchor="middle">${v}</text></g>`)}
      ${ticks(...range).map((v) => html`<g key=${"y" + v}><line x1=${M.l} x2=${width - M.r} y1=${y(v)} y2=${y(v)} /><text x=${M.l - 8} y=${y(v) + 4} text-anchor="end">${format(v, "s")}</text></g>`)}
      <text class="axis" x=${(M.l + width - M.r) / 2} y=${H - 6} text-anchor="middle">Batch</text></g>
    ${turn && x(turn.turn.value) < width - M.r && html`<g class="turn"><line x1=${x(turn.turn.value)} x2=${x(turn.turn.value)} y1=${M.t} y2=${H - M.b} /><text x=${x(turn.turn.value) - 6} y=${M.t + 12} text-anchor="end">memory-bound</text><text x=${x(turn.turn.value) + 6} y=${M.t + 12}>compute-bound from ${format(turn.turn.value, "1")}</text></g>`}
    ${curves.map((c) => html`<path key=${c.source} class=${"roof " + (c.source === "measured" ? "measured" : "sheet")} d=${c.curve.map((p, i) => `${i ? "L" : "M"}${x(p.batch).toFixed(1)} ${y(p.seconds).toFixed(1)}`).join("")} />`)}
    ${points.map((p) => html`<circle key=${p.batch} class="meas" cx=${x(p.batch)} cy=${y(p.seconds.value)} r="5" onClick=${() => p.kernel && go(`/sessions/${d.session}/kernels/${p.kernel}`)} onPointerMove=${(e) => tipAt(e, html`<strong class="mono">${p.name}</strong>${rows([["Batch", p.batch], ["Takes", format(p.seconds.value, "s")]])}`)} onPointerLeave=${noTip} />`)}</svg>`;
}

export function Decode({ id }) {
  const state = useApi(`/sessions/${id}/decode`);
  const [box, width] = useWidth(900);
  const svg = useRef(null);
  return when(state, (d) => {
    const at = (source, batch) => d.predicted.find((c) => c.source === source)?.curve.find((x) => x.batch === batch)?.seconds;
    const none = (v) => (v === undefined ? { value: null, why: "not-measured" } : { value: v, unit: "s" });
    const seen = d.points.some((p) => p.kernel !== null);
    return html`<${Panel} title="Decode step over the batch" note=${`K29: a ${exact(d.size)} × ${exact(d.size)} matrix times B vectors`} tools=${html`<${ChartTools} svg=${() => svg.current} name=${`session-${id}-decode`} />`}>
      <p>One token of a language model reads every weight once, whatever the batch: while that reading is the limit, further sequences cost nothing. From the turn on arithmetic is, and time grows with the batch.</p>
      ${!seen && html`<p class="hint">This session launched no batch of K29: only the prediction is drawn.</p>`}
      <div ref=${box} class="fit"><${Chart} d=${d} width=${width} svgRef=${svg} /></div>
      <p class="legend"><span><svg class="dot" viewBox="0 0 12 12" aria-hidden="true"><circle class="meas" cx="6" cy="6" r="5" /></svg><${Mark} source=${d.source} /> launches</span><span><i class="line solid"></i><${Mark} source="modelled" /> under the measured roofs</span><span><i class="line dotted"></i><${Mark} source="modelled" /> under the data sheet's</span><code>${d.model}</code></p><//>
    <section class="panel flush"><${Table} caption="Decode step: measured and predicted" name=${`session-${id}-decode`} rows=${d.points} rowKey=${(p) => p.batch} columns=${[
      { key: "batch", title: "Batch", num: true, unit: "1", get: (p) => p.batch }, { key: "name", title: "Kernel", cls: "kname", get: (p) => p.name ?? "", render: (p) => (p.kernel ? html`<a class="mono" href=${`/sessions/${id}/kernels/${p.kernel}`}>${p.name}</a>` : html`<span class="why">not launched</span>`) },
      { key: "seconds", title: "Measured", num: true, get: (p) => p.seconds }, { key: "model", title: "Predicted", num: true, get: (p) => none(at("measured", p.batch)), render: (p) => html`<${V} v=${{ ...none(at("measured", p.batch)), origin: "model" }} />` },
      { key: "times", title: "Measured ÷ predicted", num: true, get: (p) => (has(p.seconds) && at("measured", p.batch) ? p.seconds.value / at("measured", p.batch) : null), render: (p) => (has(p.seconds) && at("measured", p.batch) ? html`<span class="num" title=${exact(p.seconds.value / at("measured", p.batch))}>${format(p.seconds.value / at("measured", p.batch), "1")}×</span>` : html`<span class="why">–</span>`) },
      { key: "expected", title: "Multiply-adds expected", num: true, unit: "1", get: (p) => p.multiply_adds_expected }, { key: "multiply_adds", title: "counted", num: true, get: (p) => ({ ...p.multiply_adds, unit: "1" }) }, { key: "dram_bytes", title: "DRAM bytes", num: true, get: (p) => p.dram_bytes }]} /></section>`;
  }, "Loading the sweep");
}
