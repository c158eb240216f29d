// SPDX-License-Identifier: MIT
// roofline.js: all kernels under their roofs; level, precision, baseline and another GPU are in the URL. Table twin below.
import { useRef } from "preact/hooks";
import { catalogue, useApi } from "../api.js";
import { Roofline, SHAPES, ceilingsOf, shape } from "../charts/roofline.js";
import { exact, format, opUnit, shortName, when as time } from "../format.js";
import { go, query, setQuery } from "../router.js";
import { ChartTools, Mark, Panel, Segment, V, Why, html, useWidth, when } from "../ui.js";
import { Table } from "../table.js";
import { mainPrecision, whatIfOn } from "../verdict.js";
import { RangeChip, useRange } from "../range.js";

const LEVELS = ["DRAM", "L2", "L1"];

/** A board of the catalogue as a device whose ceilings are all data-sheet ones. */
export function boardDevice(b) {
  const ceilings = [];
  if (b.dram_bytes_per_s) ceilings.push({ key: "dram_read", unit: "B/s", title: "DRAM", measured: null, sheet: b.dram_bytes_per_s });
  for (const [k, v] of Object.entries(b.rates ?? {})) if (v) ceilings.push({ key: k, unit: /int/.test(k) ? "op/s" : "FLOP/s", title: k, measured: null, sheet: v });
  return { index: 0, name: boardName(b), cc: b.cc, ceilings };
}
export const boardName = (b) => (Array.isArray(b.names) ? b.names[0] : String(b.names ?? b.name ?? "").split("|")[0]);

/** Every ceiling as a table: measured (how, at which clock, when) beside the data sheet's. */
function Ceilings({ device }) {
  const list = device.ceilings.filter((c) => c.measured !== null || c.sheet !== null || c.why === "out-of-range");
  const columns = [
    { key: "title", title: "Roof", get: (c) => c.title },
    { key: "measured", title: "Measured", num: true, get: (c) => (c.measured === null ? { value: null, why: c.why ?? "not-measured" } : c.measured), render: (c) => (c.measured === null ? html`<${Why} v=${{ why: c.why ?? "not-measured" }} />` : html`<${V} v=${c.measured} unit=${c.unit} />`) },
    { key: "sheet", title: "Data sheet", num: true, get: (c) => c.sheet, render: (c) => (c.sheet === null ? html`<${Why} v=${{ why: c.sheet_why ?? "not-in-source" }} />` : html`<${V} v=${c.sheet} unit=${c.unit} />`) },
    { key: "of", title: "Measured ÷ sheet", num: true, unit: "", bar: 1, get: (c) => (c.measured && c.sheet ? c.measured / c.sheet : null) },
    { key: "clock", title: "SM clock", num: true, unit: "Hz", get: (c) => c.clock_hz ?? null },
    { key: "method", title: "How", cls: "wide", get: (c) => c.method ?? "", render: (c) => html`<span class="soft">${c.method ? `${c.method} (${c.statistic})` : ""}</span>` },
    { key: "when", title: "When", cls: "nowrap", get: (c) => c.measured_at ?? "", render: (c) => html`<span class="soft num" title=${c.measured_at ?? ""}>${c.measured_at ? time(c.measured_at) : ""}</span>` },
  ];
  return html`<details class="panel flush roofbox"><summary><h2>Roofs of this GPU</h2><span class="note">measured by <code>warpsight ceilings</code> on this board, beside the data sheet's</span></summary><${Table} columns=${columns} rows=${list} rowKey=${(c) => c.key} name="ceilings" caption="Roofs of this GPU" empty="No roof is known." /><p class="caption pad">${device.sheet_source ? `Data sheet: ${device.sheet_source}. ` : ""}DRAM's roof in the chart is the best of read, write and copy.</p></details>`;
}

export function RooflinePage({ id }) {
  const state = useApi(`/sessions/${id}/roofline`);
  const baseId = query("base");
  const base = useApi(baseId ? `/sessions/${baseId}/roofline` : null);
  const info = useApi(`/sessions/${id}`);
  const sessions = useApi("/sessions?limit=100");
  const cat = catalogue().data;
  const [box, width] = useWidth(900);
  const svg = useRef(null);
  const picked = useRange(id);
  return when(state, (d) => {
    const device = d.devices[Number(query("gpu", "0"))] ?? d.devices[0];
    const levelKey = query("level", "DRAM");
    const levels = levelKey === "all" ? LEVELS : [levelKey];
    const have = [...new Set(d.points.map((p) => p.precision))];
    // Without a choice each kernel is one point: at the precision that it is about.
    const chosenPrecisions = query("precision") ? query("precision").split(",") : null;
    const byKernel = Map.groupBy ? Map.groupBy(d.points, (p) => p.kernel) : d.points.reduce((m, p) => m.set(p.kernel, [...(m.get(p.kernel) ?? []), p]), new Map());
    const main = new Map([...byKernel].map(([k, list]) => [k, mainPrecision(list)]));
    const wanted = (p) => (chosenPrecisions ? chosenPrecisions.includes(p.precision) : main.get(p.kernel) === p.precision);
    const precisions = chosenPrecisions ?? (have.length ? [...new Set(main.values())] : ["fp32"]);
    const choices = [...new Set([...have, ...ceilingsOf(device).compute.map((c) => c.precision)])];
    const chips = choices.length <= 6 ? choices : choices.filter((p) => have.includes(p) || chosenPrecisions?.includes(p) || p === "fp32" || p === "fp64");
    const others = choices.filter((p) => !chips.includes(p));
    const boards = (cat?.boards ?? []).filter((b) => boardDevice(b).ceilings.length > 1);
    const other = boards.find((b) => boardName(b) === query("whatif"));
    const points = (picked ? d.points.filter((p) => picked.kernels.has(p.kernel)) : d.points).filter(wanted);
    const drawable = points.filter((p) => p.intensity !== null && p.flop_rate !== null).map((p) => (other ? { ...p, there: whatIfOn(p, other, device) } : p));
    const undrawn = points.filter((p) => (p.intensity === null || p.flop_rate === null) && levels.includes(p.level));
    const shown = drawable.filter((p) => levels.includes(p.level));
    const above = shown.filter((p) => p.percent > 1);
    const chosen = Number(query("kernel", "0"));
    const high = Math.max(380, Math.min(620, Math.round(width * 0.52)));
    const anyMeasured = (device?.ceilings ?? []).some((c) => c.measured !== null);
    const rate = (p, v) => (v === null || v === undefined ? v : { value: v, unit: opUnit(p.precision) });
    const columns = [
      { key: "name", title: "Kernel", cls: "kname", get: (p) => p.name, render: (p) => html`<span class="mono" title=${p.demangled ?? p.name}>${shortName(p.name)}</span>` },
      { key: "level", title: "Level", get: (p) => p.level }, { key: "precision", title: "Precision", get: (p) => p.precision },
      { key: "intensity", title: "Intensity", num: true, get: (p) => (p.intensity === null ? null : { value: p.intensity, unit: opUnit(p.precision, "B") }) }, { key: "flop_rate", title: "Rate", num: true, get: (p) => rate(p, p.flop_rate) },
      { key: "roof", title: "Roof", num: true, get: (p) => rate(p, p.roof) ?? { value: null, why: p.roof_source } },
      { key: "roof_source", title: "Roof from", cls: "nowrap", get: (p) => p.roof_source, render: (p) => (p.roof === null ? "" : p.roof_source?.replace("-", " ")) },
      { key: "percent", title: "Of roof", unit: "", num: true, bar: 1, get: (p) => p.percent ?? { value: null, why: p.roof_source } },
      { key: "bound", title: "Bound by", get: (p) => p.bound, render: (p) => html`<span class=${"bound " + p.bound}><svg viewBox="-7 -7 14 14" aria-hidden="true"><path d=${shape(p.bound, 5)} /></svg>${p.bound}</span>` },
      { key: "duration", title: "Total time", unit: "s", num: true, bar: true, get: (p) => p.duration }, { key: "launches", title: "Launches", unit: "1", num: true, get: (p) => p.launches },
      ...(other ? [{ key: "there", title: "Time there", hint: `Predicted for ${boardName(other)}: the same share of its data-sheet roof`, unit: "s", num: true, get: (p) => p.there?.duration ?? { value: null, why: "not-in-source" }, render: (p) => (p.there ? html`<${V} v=${{ value: p.there.duration, unit: "s", origin: "model" }} />` : html`<${Why} v=${{ why: "not-in-source" }} />`) }, { key: "factor", title: "Faster", unit: "1", num: true, get: (p) => p.there?.factor ?? null, render: (p) => (p.there ? html`<span class="num" title=${exact(p.there.factor)}>${format(p.there.factor, "1")}×</span>` : html`<span class="why">–</span>`) }] : []),
    ];
    return html`<div class="page wide" data-freeze>
      <div class="pagehead"><h1>Roofline</h1>${info.data && html`<${Mark} source=${info.data.session.source} />`}<p class="note">${device?.name ?? "no GPU in this session"} · ${exact(shown.length)} points</p><${RangeChip} /></div>
      <div class="controls">
        <${Segment} label="Memory level" value=${levelKey} onChange=${(v) => setQuery({ level: v === "DRAM" ? null : v })} options=${[...LEVELS.map((l) => [l, l, `Bytes counted at ${l}`]), ["all", "All levels", "The same work against the bytes of each level"]]} />
        <div class="segment" role="group" aria-label="Precision"><button aria-pressed=${String(!chosenPrecisions)} title="One point a kernel: at the precision that it is about" onClick=${() => setQuery({ precision: null })}>main</button>${chips.map((p) => html`<button key=${p} aria-pressed=${String(Boolean(chosenPrecisions?.includes(p)))} onClick=${() => { const now = chosenPrecisions ?? [], next = now.includes(p) ? now.filter((x) => x !== p) : [...now, p]; setQuery({ precision: next.length ? next.join(",") : null }); }}>${p}</button>`)}</div>
        ${others.length > 0 && html`<label class="pick"><span class="sr">Another precision</span><select value="" onChange=${(e) => setQuery({ precision: [...(chosenPrecisions ?? []), e.target.value].join(",") })}><option value="">more roofs …</option>${others.map((p) => html`<option key=${p} value=${p}>${p}</option>`)}</select></label>`}
        ${d.devices.length > 1 && html`<label class="pick">GPU <select value=${query("gpu", "0")} onChange=${(e) => setQuery({ gpu: e.target.value })}>${d.devices.map((g, i) => html`<option value=${i}>${g.index} ${g.name}</option>`)}</select></label>`}
        <label class="pick">Baseline <select value=${baseId} onChange=${(e) => setQuery({ base: e.target.value })}><option value="">none</option>${(sessions.data?.sessions ?? []).filter((s) => s.id !== id).map((s) => html`<option value=${s.id} key=${s.id} selected=${String(s.id) === baseId}>${s.id} ${s.name || s.exe}</option>`)}</select></label>
        ${boards.length > 0 && html`<label class="pick">What if on <select value=${query("whatif")} onChange=${(e) => setQuery({ whatif: e.target.value })}><option value="">this GPU</option>${boards.map((b) => html`<option key=${boardName(b)} value=${boardName(b)} selected=${boardName(b) === query("whatif")}>${boardName(b)}</option>`)}</select></label>`}
        <span class="grow"></span><${ChartTools} svg=${() => svg.current} name=${`session-${id}-roofline`} />
      </div>
      <${Panel} cls="chartpanel">
        <div ref=${box} class="fit">${shown.length || device ? html`<${Roofline} svgRef=${svg} points=${drawable} device=${device} levels=${levels} precisions=${precisions} width=${width} height=${high} from=${base.data?.points.filter((p) => p.intensity !== null && p.flop_rate !== null)} whatIf=${other ? boardDevice(other) : null} focusId=${chosen} onOpen=${(p) => go(`/sessions/${id}/kernels/${p.kernel}`)} />` : html`<p class="soft">No device, no roofs.</p>`}</div>
        <p class="legend"><span><i class="line solid"></i>measured roof</span><span><i class="line dotted"></i>data-sheet roof</span>${other && html`<span><i class="line dashed"></i>${boardName(other)}, data sheet; hollow dots: <${Mark} source="modelled" words=${false} /> modelled, each kernel at the same share of its roof</span>`}${base.data && html`<span>→ from session ${baseId} to this one</span>`}${["memory", "compute", "unknown"].filter((b) => shown.some((p) => p.bound === b)).map((b) => html`<span key=${b} class=${"bound " + b}><svg viewBox="-7 -7 14 14" aria-hidden="true"><path d=${shape(b, 5)} /></svg>${b === "unknown" ? "bound not known" : b + "-bound"} (${SHAPES[b]})</span>`)}<span class="soft">area: total time · click or Enter: the kernel</span></p>
        ${above.length > 0 && html`<p class="hint">${above.length === 1 ? html`<a class="mono" href=${`/sessions/${id}/kernels/${above[0].kernel}`}>${shortName(above[0].name)}</a> lies` : `${above.length} points (dashed red) lie`} above the measured roof: the counters or the ceiling are off by at least ${format(Math.max(...above.map((p) => p.percent)) - 1, "")}.</p>`}
        ${device && !anyMeasured && html`<p class="hint">No roof of this GPU was measured. On it, <code>warpsight ceilings</code> measures them once; until then only the data sheet's are drawn.</p>`}
        ${base.error && html`<p class="poor">Baseline: ${base.error.message}</p>`}
        ${base.data && !shown.some((p) => base.data.points.some((b) => b.name === p.name)) && html`<p class="hint">No kernel of session ${baseId} has the name of one here: there is nothing to draw an arrow between.</p>`}
      <//>
      ${d.not_plotted.length + undrawn.length > 0 && html`<${Panel} title="Not plotted" note="A logarithmic axis has no zero">
        <ul class="unplotted">${d.not_plotted.map((n) => html`<li key=${n.kernel}><a class="mono clip" href=${`/sessions/${id}/kernels/${n.kernel}`} title=${n.demangled ?? n.name}>${shortName(n.name)}</a> <${Why} v=${n} /></li>`)}${undrawn.map((p) => html`<li key=${"u" + p.kernel + p.level + p.precision}><a class="mono clip" href=${`/sessions/${id}/kernels/${p.kernel}`} title=${p.demangled ?? p.name}>${shortName(p.name)}</a> <span class="why">no bytes counted at ${p.level}</span></li>`)}</ul><//>`}
      ${device && html`<${Ceilings} device=${device} />`}
      <section class="panel flush tall"><${Table} columns=${columns} sortKey="sort" rows=${shown} sort="-duration" rowKey=${(p) => p.kernel + p.level + p.precision} rowLink=${(p) => `/sessions/${id}/kernels/${p.kernel}`} selected=${chosen ? chosen + levels[0] + main.get(chosen) : undefined} name=${`session-${id}-roofline`} caption="The same points as a table" empty="No kernel has a point at this level and precision." /></section>
    </div>`;
  }, "Loading the roofline");
}
