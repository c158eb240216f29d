// SPDX-License-Identifier: MIT
// roofline.js: all kernels under their roofs; level, precision, baseline and another GPU are in the URL. Table twin below.
import { useRef } from "preact/hooks";
import { catalogue, useApi } from "../api.js";
import { Roofline, SHAPES, ceilingsOf, shape } from "../charts/roofline.js";
import { exact, shortName } from "../format.js";
import { go, query, setQuery } from "../router.js";
import { ChartTools, Mark, Panel, Segment, Why, html, useWidth, when } from "../ui.js";
import { Table } from "../table.js";
import { RangeChip, useRangeKernels } from "./kernels.js";

const LEVELS = ["DRAM", "L2", "L1"];

/** A board of the catalogue as a device whose ceilings are all data-sheet ones. */
export function boardDevice(b) {
  const ceilings = [];
  if (b.dram_bytes_per_s) ceilings.push({ key: "dram_read", unit: "B/s", title: "DRAM", measured: null, sheet: b.dram_bytes_per_s });
  for (const [k, v] of Object.entries(b.rates ?? {})) if (v) ceilings.push({ key: k, unit: /int/.test(k) ? "op/s" : "FLOP/s", title: k, measured: null, sheet: v });
  return { index: 0, name: boardName(b), cc: b.cc, ceilings };
}
export const boardName = (b) => (Array.isArray(b.names) ? b.names[0] : String(b.names ?? b.name ?? "").split("|")[0]);

export function RooflinePage({ id }) {
  const state = useApi(`/sessions/${id}/roofline`);
  const baseId = query("base");
  const base = useApi(baseId ? `/sessions/${baseId}/roofline` : null);
  const info = useApi(`/sessions/${id}`);
  const sessions = useApi("/sessions?limit=100");
  const cat = catalogue().data;
  const [box, width] = useWidth(900);
  const svg = useRef(null);
  const picked = useRangeKernels(id);
  return when(state, (d) => {
    const device = d.devices[Number(query("gpu", "0"))] ?? d.devices[0];
    const levelKey = query("level", "DRAM");
    const levels = levelKey === "all" ? LEVELS : [levelKey];
    const have = [...new Set(d.points.map((p) => p.precision))];
    const precisions = query("precision") ? query("precision").split(",") : have.length ? have : ["fp32"];
    const choices = [...new Set([...have, ...ceilingsOf(device).compute.map((c) => c.precision)])];
    const chips = choices.length <= 6 ? choices : choices.filter((p) => have.includes(p) || precisions.includes(p) || p === "fp32" || p === "fp64");
    const others = choices.filter((p) => !chips.includes(p));
    const points = picked ? d.points.filter((p) => picked.kernels.has(p.kernel)) : d.points;
    const drawable = points.filter((p) => p.intensity !== null && p.flop_rate !== null);
    const undrawn = points.filter((p) => (p.intensity === null || p.flop_rate === null) && levels.includes(p.level) && precisions.includes(p.precision));
    const shown = drawable.filter((p) => levels.includes(p.level) && precisions.includes(p.precision));
    const boards = (cat?.boards ?? []).filter((b) => boardDevice(b).ceilings.length > 1);
    const other = boards.find((b) => boardName(b) === query("whatif"));
    const chosen = Number(query("kernel", "0"));
    const high = Math.max(380, Math.min(620, Math.round(width * 0.56)));
    const anyMeasured = (device?.ceilings ?? []).some((c) => c.measured !== null);
    const columns = [
      { key: "name", title: "Kernel", cls: "kname", get: (p) => p.name, render: (p) => html`<span class="mono" title=${p.name}>${shortName(p.name)}</span>` },
      { key: "level", title: "Level", get: (p) => p.level }, { key: "precision", title: "Precision", get: (p) => p.precision },
      { key: "intensity", title: "Intensity", unit: "FLOP/B", num: true, get: (p) => p.intensity }, { key: "flop_rate", title: "Rate", unit: "FLOP/s", num: true, get: (p) => p.flop_rate },
      { key: "roof", title: "Roof", unit: "FLOP/s", num: true, get: (p) => p.roof ?? { value: null, why: p.roof_source } },
      { key: "roof_source", title: "Roof from", cls: "nowrap", get: (p) => p.roof_source, render: (p) => p.roof_source?.replace("-", " ") },
      { key: "percent", title: "Of roof", unit: "", num: true, bar: 1, get: (p) => p.percent ?? { value: null, why: p.roof_source } },
      { key: "bound", title: "Bound by", get: (p) => p.bound, render: (p) => html`<span class=${"bound " + p.bound}><svg viewBox="-7 -7 14 14" aria-hidden="true"><path d=${shape(p.bound, 5)} /></svg>${p.bound}</span>` },
      { key: "duration", title: "Total time", unit: "s", num: true, bar: true, get: (p) => p.duration }, { key: "launches", title: "Launches", unit: "1", num: true, get: (p) => p.launches },
    ];
    return html`<div class="page wide" data-freeze>
      <div class="pagehead"><h1>Roofline</h1>${info.data && html`<${Mark} source=${info.data.session.source} />`}<p class="note">${device?.name ?? "no GPU in this session"} · ${exact(shown.length)} points</p><${RangeChip} /></div>
      <div class="controls">
        <${Segment} label="Memory level" value=${levelKey} onChange=${(v) => setQuery({ level: v === "DRAM" ? null : v })} options=${[...LEVELS.map((l) => [l, l, `Bytes counted at ${l}`]), ["all", "All levels", "The same work against the bytes of each level"]]} />
        <div class="segment" role="group" aria-label="Precision">${chips.map((p) => html`<button key=${p} aria-pressed=${String(precisions.includes(p))} onClick=${() => { const next = precisions.includes(p) ? precisions.filter((x) => x !== p) : [...precisions, p]; setQuery({ precision: next.length ? next.join(",") : null }); }}>${p}</button>`)}</div>
        ${others.length > 0 && html`<label class="pick"><span class="sr">Another precision</span><select value="" onChange=${(e) => setQuery({ precision: [...precisions, e.target.value].join(",") })}><option value="">more roofs …</option>${others.map((p) => html`<option key=${p} value=${p}>${p}</option>`)}</select></label>`}
        ${d.devices.length > 1 && html`<label class="pick">GPU <select value=${query("gpu", "0")} onChange=${(e) => setQuery({ gpu: e.target.value })}>${d.devices.map((g, i) => html`<option value=${i}>${g.index} ${g.name}</option>`)}</select></label>`}
        <label class="pick">Baseline <select value=${baseId} onChange=${(e) => setQuery({ base: e.target.value })}><option value="">none</option>${(sessions.data?.sessions ?? []).filter((s) => s.id !== id).map((s) => html`<option value=${s.id} key=${s.id}>${s.id} ${s.name || s.exe}</option>`)}</select></label>
        ${boards.length > 0 && html`<label class="pick">What if on <select value=${query("whatif")} onChange=${(e) => setQuery({ whatif: e.target.value })}><option value="">this GPU</option>${boards.map((b) => html`<option key=${boardName(b)} value=${boardName(b)}>${boardName(b)}</option>`)}</select></label>`}
        <span class="grow"></span><${ChartTools} svg=${() => svg.current} name=${`session-${id}-roofline`} />
      </div>
      <${Panel} cls="chartpanel">
        <div ref=${box} class="fit">${shown.length || device ? html`<${Roofline} svgRef=${svg} points=${drawable} device=${device} levels=${levels} precisions=${precisions} width=${width} height=${high} from=${base.data?.points.filter((p) => p.intensity !== null && p.flop_rate !== null)} whatIf=${other ? boardDevice(other) : null} focusId=${chosen} onOpen=${(p) => go(`/sessions/${id}/kernels/${p.kernel}`)} />` : html`<p class="soft">No device, no roofs.</p>`}</div>
        <p class="legend"><span><i class="line solid"></i>measured roof</span><span><i class="line dotted"></i>data-sheet roof</span>${other && html`<span><i class="line dashed"></i>${boardName(other)}, data sheet</span>`}${["memory", "compute", "unknown"].map((b) => html`<span key=${b} class=${"bound " + b}><svg viewBox="-7 -7 14 14" aria-hidden="true"><path d=${shape(b, 5)} /></svg>${b === "unknown" ? "bound not known" : b + "-bound"} (${SHAPES[b]})</span>`)}<span class="soft">area: total time</span></p>
        ${!anyMeasured && html`<p class="hint">No roof of this GPU was measured. On it, <code>warpsight ceilings</code> measures them once; until then only the data sheet's are drawn.</p>`}
        ${base.error && html`<p class="poor">Baseline: ${base.error.message}</p>`}
      <//>
      ${d.not_plotted.length + undrawn.length > 0 && html`<${Panel} title="Not plotted" note="A logarithmic axis has no zero">
        <ul class="unplotted">${d.not_plotted.map((n) => html`<li key=${n.kernel}><a class="mono clip" href=${`/sessions/${id}/kernels/${n.kernel}`} title=${n.name}>${shortName(n.name)}</a> <${Why} v=${n} /></li>`)}${undrawn.map((p) => html`<li key=${"u" + p.kernel + p.level}><a class="mono clip" href=${`/sessions/${id}/kernels/${p.kernel}`} title=${p.name}>${shortName(p.name)}</a> <span class="why">no bytes counted at ${p.level}</span></li>`)}</ul><//>`}
      <section class="panel flush"><${Table} columns=${columns} rows=${shown} sort="-duration" rowKey=${(p) => p.kernel + p.level + p.precision} rowLink=${(p) => `/sessions/${id}/kernels/${p.kernel}`} selected=${chosen ? chosen + levels[0] + precisions[0] : undefined} name=${`session-${id}-roofline`} caption="The same points as a table" empty="No kernel has a point at this level and precision." /></section>
    </div>`;
  }, "Loading the roofline");
}
