// SPDX-License-Identifier: MIT
// overview.js: where the time went, the three findings that matter most, what is missing and why.
import { useRef, useState } from "preact/hooks";
import { catalogue, live, send, useApi } from "../api.js";
import { Stack } from "../charts/bars.js";
import { count, dims, exact, format, shortName, when as time } from "../format.js";
import { RangeChip, RangeStrip, keepRange, kernelsIn, range, useRange } from "../range.js";
import { embedded, go } from "../router.js";
import { ChartTools, Finding, Loading, Mark, Panel, Prose, V, has, html, rows, useWidth, when, whyText } from "../ui.js";
import { Table } from "../table.js";
import { outcome } from "./sessions.js";
import { LineLink } from "./source.js";

export const unitsOf = (cat) => Object.fromEntries([...(cat?.metrics ?? []).map((m) => [m.key, m.unit]), ...(cat?.timeline ?? []).map((t) => [t.key, t.unit || "1"])]);

export const titlesOf = (cat) => Object.fromEntries((cat?.metrics ?? []).map((m) => [m.key, m.title]));

/** What a table of kernels says while there is none. */
export const noKernel = (isLive) => (isLive ? "Connected: waiting for the first kernel." : "No kernel was seen in this session. Either the program launched none, or it ended before the collector was in: `warpsight doctor` tells what works here.");

const LISTED = 5;
const nameOf = (k) => shortName(k.demangled || k.name);

/** Kernels by total time: a bar of the longest, clickable, and the same as a table. */
function KernelBar({ id, kernels, width, svgRef }) {
  const sum = kernels.reduce((t, k) => t + (k.duration?.total ?? 0), 0);
  if (!(sum > 0)) return null;
  const top = kernels.filter((k) => k.duration?.total > 0).slice(0, 8), rest = sum - top.reduce((t, k) => t + k.duration.total, 0);
  const parts = top.map((k, i) => ({ key: k.id, title: nameOf(k), value: k.duration.total, cls: "kp" + (i % 2), open: () => go(`/sessions/${id}/kernels/${k.id}`) }));
  if (rest > sum * 1e-4) parts.push({ key: "rest", title: "all others", value: rest, cls: "t-idle" });
  return html`<${Stack} svgRef=${svgRef} width=${width} unit="s" label="Kernels by total time" parts=${parts} />`;
}

function KernelTable({ id, kernels, sum, rest }) {
  const top = kernels.slice(0, LISTED);
  return html`<table class="plain"><caption class="sr">Kernels by total time</caption><thead><tr><th scope="col">Kernels by total time</th><th scope="col" class="r">Launches</th><th scope="col" class="r">Time</th><th scope="col" class="r">Of kernels</th></tr></thead>
    <tbody>${top.map((k) => html`<tr key=${k.id}><td><a class="mono clip" href=${`/sessions/${id}/kernels/${k.id}`} title=${k.demangled}>${nameOf(k)}</a></td><td class="r"><${V} v=${k.launches} unit="1" /></td><td class="r">${k.duration?.total ? html`<${V} v=${k.duration.total} unit="s" />` : html`<span class="why">no time</span>`}</td><td class="r">${sum ? html`<${V} v=${(k.duration?.total ?? 0) / sum} unit="" />` : ""}</td></tr>`)}
    ${rest > sum * 0.001 && kernels.length > top.length && html`<tr><td><a href=${`/sessions/${id}/kernels${keepRange()}`}>all others</a></td><td></td><td class="r"><${V} v=${rest} unit="s" /></td><td class="r"><${V} v=${rest / sum} unit="" /></td></tr>`}</tbody></table>`;
}

/** A replayed session has no kernels on its timeline: the kernels' own times are the bill. */
function KernelTimes({ id, kernels, children }) {
  const [box, width] = useWidth();
  const svg = useRef(null);
  const sum = kernels.reduce((t, k) => t + (k.duration?.total ?? 0), 0);
  const rest = sum - kernels.slice(0, LISTED).reduce((t, k) => t + (k.duration?.total ?? 0), 0);
  return html`<${Panel} title=${sum ? "Where the time of the kernels went" : "Kernels"} note=${sum ? `${format(sum, "s")} ${kernels.length >= MANY ? `in the ${MANY} longest` : "in all"}` : ""} tools=${html`${sum > 0 && html`<${ChartTools} svg=${() => svg.current} name=${`session-${id}-kernels`} />`}${!embedded && html`<a class="quiet" href=${`/sessions/${id}/timeline${keepRange()}`}>Timeline</a>`}`}>
    <div ref=${box} class="fit"><${KernelBar} id=${id} kernels=${kernels} width=${width} svgRef=${svg} /></div><div class="bill one"><${KernelTable} id=${id} kernels=${kernels} sum=${sum} rest=${rest} /></div>${children}<//>`;
}

const ratio = (v) => ({ ...v, unit: "" });
const TITLES = { kernels: "Kernels alone", both: "Kernels and copies", copies: "Copies alone", other: "On-device copies, fills", gaps: "Nothing (gaps)" };
const CLASSES = { kernels: "t-kernel", both: "t-both", copies: "t-copy", other: "t-other", gaps: "t-idle" };

/** Copies, launches and kernels as they were, beside what this device's link and DRAM rates would make of them. */
function TimeModel({ t }) {
  const rate = (r, what) => has(r?.rate) && html`${what} ${format(r.rate.value, "B/s")} (${r.source})`;
  const some = t.model.filter((m) => (has(m.measured) || has(m.modelled)) && !(m.measured.value === 0 && m.modelled.value === 0));
  if (!some.length) return null;
  return html`<table class="plain modeltable"><caption>Beside the model <${Mark} source="modelled" /></caption><thead><tr><th scope="col">What</th><th scope="col" class="r">As it was</th><th scope="col" class="r">Modelled</th><th scope="col" class="r">Times</th></tr></thead>
    <tbody>${some.map((m) => html`<tr key=${m.key}><td title=${m.formula}>${m.title}</td><td class="r"><${V} v=${m.measured} /></td><td class="r" title=${m.formula}><${V} v=${m.modelled} /></td><td class="r">${has(m.ratio) ? html`<span class="num" title=${exact(m.ratio.value)}>${format(m.ratio.value, "1")}×</span>` : html`<span class="why">–</span>`}</td></tr>`)}</tbody></table>
    <details class="behind"><summary>${rate(t.rates.link, "Link")}${has(t.rates.link?.rate) && has(t.rates.dram?.rate) ? ", " : ""}${rate(t.rates.dram, "DRAM")}</summary>${rows(some.map((m) => [m.title, m.formula]))}</details>`;
}

const HOST = [["launch_api", "in launch calls"], ["alloc_time", "in cudaMalloc and cudaFree"]];
const AFTER = [["syncs", "waits for the device"], ["idle_after_sync", "device idle after a wait"], ["failed_calls", "failing calls"]];

/** The host's share: it works beside the device, so its time is not a part of the bar. */
function HostTable({ t }) {
  const list = [...HOST, ...AFTER].filter(([key]) => has(t.facts?.[key]) && (t.facts[key].value > 0 || key === "launch_api"));
  if (!list.length) return html`<p class="caption">What the host did was not recorded: <code>warpsight run --set api</code> does.</p>`;
  return html`<table class="plain"><caption class="sr">What the host did</caption><thead><tr><th scope="col">The host, meanwhile</th><th scope="col" class="r">Time</th><th scope="col" class="r">Share</th></tr></thead>
    <tbody>${list.map(([key, title]) => html`<tr key=${key}><td>${title}</td><td class="r"><${V} v=${{ ...t.facts[key], unit: t.facts[key].unit || "1" }} /></td><td class="r">${t.facts[key].unit === "s" && has(t.bill.window) ? html`<${V} v=${t.facts[key].value / t.bill.window.value} unit="" />` : ""}</td></tr>`)}</tbody></table>`;
}

function TimeBill({ id, kernels, info }) {
  const state = useApi(`/sessions/${id}/time`);
  const [box, width] = useWidth();
  const svg = useRef(null);
  const profiling = (info.cost ?? []).filter((c) => c.what === "profile").reduce((t, c) => ({ ns: t.ns + c.total_ns, n: t.n + c.count }), { ns: 0, n: 0 });
  const again = html`A bill of the program as it runs alone: <code>warpsight run --set trace ./your_program</code>`;
  const t = state.data;
  if (!t && !state.error) return html`<${Panel} title="Where the time went"><${Loading} what="Loading the time bill" /><//>`;
  if (!t || !has(t.bill.window)) {
    return html`<${KernelTimes} id=${id} kernels=${kernels}><p class="hint below">${info.session.source === "modelled" ? html`The model has no clock: it predicts counts, not times. On a machine with a GPU: <code>warpsight run ./your_program</code>` : profiling.n > 0 ? html`${exact(profiling.n)} launches were replayed for counters, which took WarpSight ${format(profiling.ns, "ns")} and stretched the run: shares are of the kernels' own times. ${again}` : html`No bill of the whole run: ${state.error?.message ?? whyText(t.bill.window)}.`}</p><//>`;
  }
  const parts = t.bill.parts.filter((p) => has(p.time));
  const sum = kernels.reduce((s, k) => s + (k.duration?.total ?? 0), 0), rest = sum - kernels.slice(0, LISTED).reduce((s, k) => s + (k.duration?.total ?? 0), 0);
  return html`<${Panel} title="Where the time went" note=${`${format(t.bill.window.value, "s")} from the first to the last device work`} tools=${html`<${ChartTools} svg=${() => svg.current} name=${`session-${id}-time`} />${!embedded && html`<a class="quiet" href=${`/sessions/${id}/timeline${keepRange()}`}>Timeline</a>`}`}>
    <div ref=${box} class="fit"><${Stack} svgRef=${svg} width=${width} unit="s" whole=${t.bill.window.value} label="Time bill" parts=${parts.filter((p) => p.time.value > 0).map((p) => ({ key: p.key, title: TITLES[p.key] ?? p.title, value: p.time.value, cls: CLASSES[p.key], doc: p.title }))} /></div>
    ${profiling.n > 0 && html`<p class="caption">Without the ${format(profiling.ns, "ns")} in which WarpSight replayed ${exact(profiling.n)} launches: they are cut out, and a replayed launch lasts as long as its counters say.</p>`}
    ${t.bill.copy_bound && html`<p class="hint below">Copies run in more than half of the window: the link is the limit, not the kernels.</p>`}
    <div class="bill">
      <div><table class="plain"><caption class="sr">Time bill</caption><thead><tr><th scope="col">What the device did</th><th scope="col" class="r">Time</th><th scope="col" class="r">Share</th></tr></thead>
        <tbody>${t.bill.parts.map((p) => html`<tr key=${p.key}><td title=${p.title}><i class=${"key " + CLASSES[p.key]}></i>${TITLES[p.key] ?? p.title}</td><td class="r"><${V} v=${p.time} /></td><td class="r"><${V} v=${ratio(p.share)} /></td></tr>`)}</tbody></table><${HostTable} t=${t} /></div>
      <div><${KernelTable} id=${id} kernels=${kernels} sum=${sum} rest=${rest} /><${TimeModel} t=${t} /></div></div><//>`;
}

const PART_CLASSES = { kernel: "kernels", both: "both", copy: "copies", idle: "gaps" };

/** The bill of the chosen range, from the events themselves: no model, no host. */
function RangeBill({ id, kernels, picked }) {
  const [box, width] = useWidth(), svg = useRef(null);
  // As in the bill of the whole run, a replayed launch lasts as long as its counters say, and only the rest of its time is cut out.
  const r = range(), own = kernels.reduce((t, k) => t + k.profiled * 1e9, 0), b = { ...picked.bill, window: picked.bill.window + own, held: picked.bill.held - own }, sum = kernels.reduce((t, k) => t + k.duration.total, 0), rest = sum - kernels.slice(0, LISTED).reduce((t, k) => t + k.duration.total, 0);
  const parts = b.parts.map((p) => ({ ...p, value: p.value + (p.key === "kernel" ? own : 0), title: p.key === "copy" ? "Copies and fills alone" : p.title, cls: CLASSES[PART_CLASSES[p.key]] }));
  return html`<${Panel} title="Time in the range" note=${`${format(b.window, "ns")} of the program${b.merged ? ", estimated where events are merged" : ""}`} tools=${html`<${ChartTools} svg=${() => svg.current} name=${`session-${id}-range`} /><a class="quiet" href=${`/sessions/${id}/timeline${keepRange()}`}>Timeline</a>`}>
    <div ref=${box} class="fit">${b.window > 0 && html`<${Stack} svgRef=${svg} width=${width} unit="ns" whole=${b.window} label="Time bill of the range" parts=${parts.filter((p) => p.value > 0)} />`}</div>
    ${b.held > 0 && html`<p class="caption">Without the ${format(b.held, "ns")} of these ${format(r[1] - r[0], "ns")} in which profiling held the program or nothing was collected.</p>`}
    <div class="bill"><table class="plain"><caption class="sr">Time bill of the range</caption><thead><tr><th scope="col">What the device did</th><th scope="col" class="r">Time</th><th scope="col" class="r">Share</th></tr></thead><tbody>${parts.map((p) => html`<tr key=${p.key}><td title=${p.doc}><i class=${"key " + p.cls}></i>${p.title}</td><td class="r"><${V} v=${p.value} unit="ns" /></td><td class="r">${b.window > 0 ? html`<${V} v=${p.value / b.window} unit="" />` : ""}</td></tr>`)}</tbody></table>
      ${kernels.length ? html`<${KernelTable} id=${id} kernels=${kernels} sum=${sum} rest=${rest} />` : html`<p class="soft">No kernel ran in this range.</p>`}</div><//>`;
}

/** Ranks and children beside each other: who worked how long, and how evenly. */
function ByProcess({ id }) {
  const r = useApi(`/sessions/${id}/processes`);
  return when(r, (d) => html`<${Panel} title="Processes" note=${d.imbalance > 0 ? `the busiest has ${format(d.imbalance, "")} more kernel time than the mean` : ""}>
    <${Table} caption="Processes of this session" name=${`session-${id}-processes`} rows=${d.processes} rowKey=${(p) => p.id} columns=${[
      { key: "rank", title: "Rank", get: (p) => (p.rank ? Number(p.rank.replace(/^.*=/, "")) : null), render: (p) => p.rank.replace(/^.*=/, "") || "–" },
      { key: "pid", title: "Process", num: true, get: (p) => p.pid, render: (p) => html`<span title=${p.exe}>${p.pid}</span>` },
      { key: "host", title: "Host", get: (p) => p.host },
      { key: "launches", title: "Launches", num: true, unit: "1", get: (p) => p.launches },
      { key: "kernel_time", title: "Kernels", num: true, unit: "s", bar: true, get: (p) => p.kernel_time },
      { key: "window", title: "Window", num: true, unit: "s", get: (p) => p.window },
      { key: "busy_share", title: "Busy", num: true, unit: "", get: (p) => p.busy_share },
      { key: "uncollected", title: "Not collected", num: true, unit: "s", get: (p) => p.uncollected },
      { key: "ended", title: "End", get: (p) => (p.ended ? "in order" : "killed or running") },
    ]} /><//>`, "Loading the processes");
}

function Note({ s }) {
  const [text, set] = useState(null);
  const [failed, fail] = useState(null);
  const save = async () => { try { await send("PUT", `/sessions/${s.id}/note`, { note: text }); s.note = text; set(null); fail(null); } catch (e) { fail(e); } };
  if (text === null) return html`<span>${s.note || html`<span class="soft">none</span>`} <button class="quiet" onClick=${() => set(s.note ?? "")}>edit</button></span>`;
  return html`<span class="noteedit"><textarea rows="2" aria-label="Note" value=${text} onInput=${(e) => set(e.target.value)}></textarea><button onClick=${save}>Save</button><button class="quiet" onClick=${() => set(null)}>cancel</button>${failed && html`<span class="poor">${failed.message}</span>`}</span>`;
}

const MANY = 200, MOST = 1000; // kernels that are summed; of more, the note says so. In a range any may be the longest

export function Overview({ id }) {
  const info = useApi(`/sessions/${id}`);
  const r = range(), picked = useRange(id);
  const list = useApi(`/sessions/${id}/kernels?sort=-duration&limit=${r ? MOST : MANY}`);
  const best = useApi(list.data?.next ? `/sessions/${id}/kernels?sort=-gain&limit=50` : null);
  const first = list.data?.kernels[0]?.id;
  const whole = useApi(list.data ? (first === undefined ? `/sessions/${id}/report` : `/sessions/${id}/kernels/${first}`) : null);
  const cat = catalogue().data, units = unitsOf(cat), titles = titlesOf(cat);
  return when(info, (d) => when(list, (every) => {
    const s = d.session;
    const ks = picked ? { ...every, kernels: kernelsIn(every.kernels, picked) } : every;
    const all = new Map([...ks.kernels, ...(picked ? [] : (best.data?.kernels ?? []))].map((k) => [k.id, k]));
    const total = ks.kernels.reduce((t, k) => t + (k.duration?.total ?? 0), 0);
    const found = [];
    for (const f of (picked ? [] : whole.data?.findings) ?? []) found.push({ f, weight: f.gain ?? 0 });
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
      <div class="pagehead"><h1>${s.name || s.exe}</h1><${Mark} source=${s.source} /><${RangeChip} /><span class="grow"></span><span class="note">session ${s.id}</span></div>
      ${!embedded && html`<${RangeStrip} id=${id} />`}
      <div class="two">
      <div class="main">
        ${r ? (picked ? html`<${RangeBill} id=${id} kernels=${ks.kernels} picked=${picked} />` : html`<${Panel} title="Time in the range"><${Loading} what="Loading the range" /><//>`) : html`<${TimeBill} id=${id} kernels=${ks.kernels} info=${d} />`}
        <${Panel} title="What matters most" note=${told.length > 3 ? `the first 3 of ${told.length} findings, by what they may save of ${picked ? "the range's" : "all"} kernel time` : ""} tools=${html`<a class="quiet" href=${`/sessions/${id}/kernels?sort=-gain${keepRange("&")}`}>All, by kernel</a>`}>
          ${told.length === 0 ? html`<p class="soft">${picked ? "No rule fired for a kernel of this range." : ks.kernels.length === 0 ? noKernel(s.live || live.value.includes(id)) : bare === ks.kernels.length ? "No launch got counters, so no rule could judge a kernel. Why, and what helps, stands under “What is missing”." : "No rule fired. Either the kernels are near their roofs, or the counters that the rules need are missing (“What is missing, and why”)."}</p>` : html`<ol class="findings">${told.slice(0, 3).map(({ f, k, weight }) => html`<li key=${f.rule + k?.id}><${Finding} f=${f} units=${units} titles=${titles} time=${k?.duration?.mean} kernel=${k ? shortName(k.demangled || k.name) : "The session as a whole"} link=${k ? `/sessions/${id}/kernels/${k.id}` : `/sessions/${id}/timeline`} />${k && html`<p class="caption">${weight > 0 && html`<b>${format(weight, "")}</b> of ${picked ? "the range's" : "all"} kernel time · `}grid ${dims(k.grid)}, block ${dims(k.block)} · <a href=${`/sessions/${id}/kernels/${k.id}`}>why, with pictures and numbers</a><${LineLink} id=${id} k=${k} rule=${f.rule} /></p>`}</li>`)}</ol>`}
        <//>
        ${!embedded && (d.processes ?? []).length > 1 && html`<${ByProcess} id=${id} />`}
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

const SAVES = [["csv", "Table, CSV"], ["json", "Report, JSON"], ["chrome-trace", "Trace for Perfetto"], ["pprof", "pprof"], ["roofline-svg", "Roofline, SVG"], ["markdown", "Markdown"], ["sqlite", "SQLite"], ["capture", "Capture (.wscap)"]];
function Export({ id }) {
  const formats = catalogue().data?.formats ?? [];
  const list = SAVES.filter(([f]) => formats.includes(f));
  if (!list.length || embedded) return null;
  return html`<${Panel} title="Take it along"><p class="exports">${list.map(([f, t]) => html`<a key=${f} href=${`/api/v1/sessions/${id}/export?format=${f}`} download>${t}</a>`)}</p><//>`;
}
