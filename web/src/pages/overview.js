// SPDX-License-Identifier: MIT
// overview.js: where the time went, the three findings that matter most, what is missing and why.
import { useMemo, useRef, useState, useEffect } from "preact/hooks";
import { catalogue, getBytes, revision, send, useApi } from "../api.js";
import { bill, decode } from "../charts/timeline-data.js";
import { Stack } from "../charts/bars.js";
import { count, dims, exact, format, shortName, when as time } from "../format.js";
import { embedded } from "../router.js";
import { ChartTools, Finding, Mark, Panel, Prose, V, html, rows, useWidth, when, whyText } from "../ui.js";
import { outcome } from "./sessions.js";

export const unitsOf = (cat) => Object.fromEntries([...(cat?.metrics ?? []).map((m) => [m.key, m.unit]), ...(cat?.timeline ?? []).map((t) => [t.key, t.unit || "1"])]);

/** Timeline data as one decoded block, refetched with the revision. */
export function useTimeline(id, from, to, px) {
  const rev = revision.value;
  const [state, set] = useState({});
  useEffect(() => {
    if (id === null) return undefined;
    const abort = new AbortController();
    const range = from === null ? "" : `&from=${Math.floor(from)}&to=${Math.ceil(to)}`;
    getBytes(`/sessions/${id}/timeline/data?px=${px}${range}`, abort.signal).then((b) => set({ data: decode(b) })).catch((error) => { if (!abort.signal.aborted) set({ error }); });
    return () => abort.abort();
  }, [id, from, to, px, rev]);
  return state;
}

/** A saved report has no timeline: the kernels alone. */
function KernelTimes({ id, kernels }) {
  const sum = kernels.reduce((t, k) => t + (k.duration?.total ?? 0), 0);
  return html`<${Panel} title="Kernels by total time" note=${sum ? `${format(sum, "s")} in all` : ""}><table class="plain"><caption class="sr">Kernels by total time</caption><thead><tr><th scope="col">Kernel</th><th scope="col" class="r">Launches</th><th scope="col" class="r">Time</th><th scope="col" class="r">Of kernels</th></tr></thead><tbody>${kernels.slice(0, 10).map((k) => html`<tr key=${k.id}><td><a class="mono clip" href=${`/sessions/${id}/kernels/${k.id}`} title=${k.demangled}>${shortName(k.demangled || k.name)}</a></td><td class="r"><${V} v=${k.launches} unit="1" /></td><td class="r">${k.duration?.total ? html`<${V} v=${k.duration.total} unit="s" />` : html`<span class="why">no time</span>`}</td><td class="r">${sum ? html`<${V} v=${(k.duration?.total ?? 0) / sum} unit="" />` : ""}</td></tr>`)}</tbody></table><//>`;
}

function TimeBill({ id, kernels }) {
  const meta = useApi(`/sessions/${id}/timeline`);
  const [box, width] = useWidth();
  const svg = useRef(null);
  const has = meta.data && meta.data.events > 0;
  const events = useTimeline(has ? id : null, null, null, 8192);
  const parts = useMemo(() => (has && events.data ? bill(events.data, meta.data.lanes) : null), [events.data, meta.data]);
  const top = kernels.slice(0, 8);
  const rest = parts ? parts.kernelSum - top.reduce((s, k) => s + (k.duration?.total ?? 0) * 1e9, 0) : 0;
  if (meta.error) return html`<${Panel} title="Time"><p class="why">${meta.error.message}</p><//>`;
  if (meta.data && !has) return html`<${Panel} title="Time"><p class="why">No timed activity in this session: the model has no clock, and a replayed launch has no time of its own.</p><//>`;
  return html`<${Panel} title="Where the time went" note=${parts ? `${format(parts.window, "ns")} from the first to the last device work` : ""} tools=${html`<${ChartTools} svg=${() => svg.current} name=${`session-${id}-time`} /><a class="quiet" href=${`/sessions/${id}/timeline`}>Timeline</a>`}>
    <div ref=${box} class="fit">${parts && html`<${Stack} svgRef=${svg} width=${width} unit="ns" label="Time bill" parts=${parts.parts.filter((p) => p.value > 0)} />`}</div>
    ${parts && html`<div class="bill">
      <table class="plain"><caption class="sr">Time bill</caption><thead><tr><th scope="col">What the device did</th><th scope="col" class="r">Time</th><th scope="col" class="r">Share</th></tr></thead>
        <tbody>${parts.parts.map((p) => html`<tr key=${p.key}><td><i class=${"key " + p.cls}></i>${p.title}</td><td class="r"><${V} v=${p.value} unit="ns" /></td><td class="r"><${V} v=${p.value / parts.window} unit="" /></td></tr>`)}</tbody></table>
      <table class="plain"><caption class="sr">Kernels by total time</caption><thead><tr><th scope="col">Kernels by total time</th><th scope="col" class="r">Launches</th><th scope="col" class="r">Time</th><th scope="col" class="r">Of kernels</th></tr></thead>
        <tbody>${top.map((k) => html`<tr key=${k.id}><td><a class="mono clip" href=${`/sessions/${id}/kernels/${k.id}`} title=${k.demangled}>${shortName(k.demangled || k.name)}</a></td><td class="r"><${V} v=${k.launches} unit="1" /></td><td class="r"><${V} v=${k.duration?.total} unit="s" /></td><td class="r">${parts.kernelSum ? html`<${V} v=${(k.duration.total * 1e9) / parts.kernelSum} unit="" />` : ""}</td></tr>`)}
        ${rest > parts.kernelSum * 0.001 && kernels.length > top.length && html`<tr><td><a href=${`/sessions/${id}/kernels`}>all others</a></td><td></td><td class="r"><${V} v=${rest} unit="ns" /></td><td class="r"><${V} v=${rest / parts.kernelSum} unit="" /></td></tr>`}</tbody></table></div>
      ${parts.merged && parts.parts.find((p) => p.key === "both").value > 0 && html`<p class="caption">From ${exact(parts.events)} events, some merged by the daemon: overlap of copies and kernels is estimated there.</p>`}`}
  <//>`;
}

function Note({ s }) {
  const [text, set] = useState(null);
  const [failed, fail] = useState(null);
  const save = async () => { try { await send("PUT", `/sessions/${s.id}/note`, { note: text }); s.note = text; set(null); fail(null); } catch (e) { fail(e); } };
  if (text === null) return html`<span>${s.note || html`<span class="soft">none</span>`} <button class="quiet" onClick=${() => set(s.note ?? "")}>edit</button></span>`;
  return html`<span class="noteedit"><textarea rows="2" aria-label="Note" value=${text} onInput=${(e) => set(e.target.value)}></textarea><button onClick=${save}>Save</button><button class="quiet" onClick=${() => set(null)}>cancel</button>${failed && html`<span class="poor">${failed.message}</span>`}</span>`;
}

export function Overview({ id }) {
  const info = useApi(`/sessions/${id}`);
  const list = useApi(`/sessions/${id}/kernels?sort=-duration&limit=50`);
  const best = useApi(`/sessions/${id}/kernels?sort=-gain&limit=50`);
  const first = list.data?.kernels[0]?.id;
  const whole = useApi(list.data ? (first === undefined ? `/sessions/${id}/report` : `/sessions/${id}/kernels/${first}`) : null);
  const units = unitsOf(catalogue().data);
  return when(info, (d) => when(list, (ks) => {
    const s = d.session;
    const all = new Map([...ks.kernels, ...(best.data?.kernels ?? [])].map((k) => [k.id, k]));
    const total = ks.kernels.reduce((t, k) => t + (k.duration?.total ?? 0), 0);
    const found = [];
    for (const f of whole.data?.findings ?? []) found.push({ f, weight: f.gain ?? 0 });
    for (const k of all.values()) for (const f of k.findings ?? []) found.push({ f, k, weight: (f.gain ?? 0) * (total > 0 ? (k.duration?.total ?? 0) / total : 1) });
    found.sort((a, b) => b.weight - a.weight);
    const told = found.filter((x) => x.f.severity !== "info");
    // Of the kernel that took most time, every metric by the root of its absence: what a formula needs is not a cause.
    const missing = new Map();
    const longest = whole.data?.kernels?.[0];
    for (const [key, v] of Object.entries(longest?.metrics ?? {})) if (v.value === null && v.why !== "input-missing" && v.why !== "zero-denominator") missing.set(whyText(v), [...(missing.get(whyText(v)) ?? []), key]);
    const derived = Object.values(longest?.metrics ?? {}).filter((v) => v.value === null && v.why === "input-missing").length;
    const bare = ks.kernels.filter((k) => k.profiled_launches === 0).length;
    const w = d.warnings ?? [];
    return html`<div class="page">
      <div class="pagehead"><h1>${s.name || s.exe}</h1><${Mark} source=${s.source} /><span class="grow"></span><span class="note">session ${s.id}</span></div>
      <div class="two">
      <div class="main">
        <${embedded ? KernelTimes : TimeBill} id=${id} kernels=${ks.kernels} />
        <${Panel} title="What matters most" note=${told.length > 3 ? `3 of ${told.length} findings, by gain × share of kernel time` : ""} tools=${html`<a class="quiet" href=${`/sessions/${id}/kernels?sort=-gain`}>All, by kernel</a>`}>
          ${told.length === 0 ? html`<p class="soft">${ks.kernels.length === 0 ? "No kernel was seen." : "No rule fired. Either the kernels are near their roofs, or the counters that the rules need are missing (below)."}</p>` : html`<ol class="findings">${told.slice(0, 3).map(({ f, k, weight }) => html`<li key=${f.rule + k?.id}><${Finding} f=${f} units=${units} kernel=${k ? shortName(k.demangled || k.name) : "The session as a whole"} link=${k ? `/sessions/${id}/kernels/${k.id}` : `/sessions/${id}/timeline`} />${k && weight > 0 && html`<p class="caption">${format(weight, "")} of all kernel time · grid ${dims(k.grid)}, block ${dims(k.block)}</p>`}</li>`)}</ol>`}
        <//>
      </div>
      <aside class="side">
        <${Panel} title="Run">${rows([
          ["Command", html`<code class="wrap">${(s.argv ?? []).join(" ") || s.exe}</code>`],
          ["Started", html`<span title=${s.started}>${time(s.started)}</span>`],
          ["Exit", outcome(s)],
          ["Host", s.host || "–"],
          ...(d.devices ?? []).map((g) => ["GPU " + g.index, html`${g.name}<br /><span class="soft">cc ${g.cc}, ${g.sms} SMs</span>`]),
          s.driver && ["Driver, CUDA", `${s.driver}, ${s.cuda}`],
          ["Kernels", html`<a href=${`/sessions/${id}/kernels`}>${exact(s.kernels)}</a> in ${exact(s.launches)} launches`],
          (d.processes ?? []).length > 1 && ["Processes", exact(d.processes.length)],
          !embedded && ["Note", html`<${Note} s=${s} />`],
        ])}<//>
        <${Panel} title="What is missing, and why">
          ${w.length === 0 && missing.size === 0 && bare === 0 && !(d.loss ?? []).length && html`<p class="soft">Nothing: no warning, no loss, every metric has its number.</p>`}
          ${w.map((x) => html`<div class=${"warn " + (x.severity ?? "warning")} key=${x.code + x.message}><p>${x.message}</p>${x.remedy && html`<p class="soft"><${Prose} text=${x.remedy} /></p>`}</div>`)}
          ${bare > 0 && html`<p class="gap">${exact(bare)} of ${exact(ks.kernels.length)} kernels: no launch was profiled, so they have times but no counters.</p>`}
          ${[...missing].map(([why, keys]) => html`<details key=${why} class="gap"><summary>${exact(keys.length)} ${keys.length === 1 ? "counter" : "counters"}: ${why}</summary><p class="soft">${keys.map((k) => html`<code key=${k}>${k}</code> `)}</p></details>`)}
          ${derived > 0 && missing.size > 0 && html`<p class="caption">For want of these, ${exact(derived)} metrics made by formulas have no value. Counted on the kernel that took most time.</p>`}
        <//>
        ${(d.cost ?? []).length > 0 && html`<${Panel} title="What profiling cost"><table class="plain"><tbody>${d.cost.map((c) => html`<tr key=${c.what}><td>${c.what}</td><td class="r">${count(c.count)}×</td><td class="r"><${V} v=${c.total_ns} unit="ns" /></td></tr>`)}</tbody></table><//>`}
        <${Export} id=${id} />
      </aside></div></div>`;
  }, "Loading kernels"), "Loading the session");
}

const SAVES = [["csv", "Table, CSV"], ["json", "Report, JSON"], ["chrome-trace", "Trace for Perfetto"], ["roofline-svg", "Roofline, SVG"], ["markdown", "Markdown"], ["sqlite", "SQLite"], ["capture", "Capture (.wscap)"]];
function Export({ id }) {
  const formats = catalogue().data?.formats ?? [];
  const list = SAVES.filter(([f]) => formats.includes(f));
  if (!list.length || embedded) return null;
  return html`<${Panel} title="Take it along"><p class="exports">${list.map(([f, t]) => html`<a key=${f} href=${`/api/v1/sessions/${id}/export?format=${f}`} download>${t}</a>`)}</p><//>`;
}
