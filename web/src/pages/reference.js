// SPDX-License-Identifier: MIT
// reference.js: what the numbers mean: metrics, rules, stall reasons, GPUs. All of it comes from the catalogue.
import { useState } from "preact/hooks";
import { catalogue, useApi } from "../api.js";
import { exact, format, isPercent, kib } from "../format.js";
import { embedded, query, setQuery } from "../router.js";
import { STALL_GROUPS, stallGroup } from "../charts/bars.js";
import { Code, Mark, Panel, Prose, Segment, V, html, rows, when } from "../ui.js";
import { Table } from "../table.js";
import { Decode } from "./decode.js";

const PARTS = [["metrics", "Metrics"], ["rules", "Rules"], ["stalls", "Stall reasons"], ["kernels", "Reference kernels"], ["decode", "Decode sweep"], ["gpus", "GPUs"], ["cannot", "What counters cannot show"], ["reasons", "Missing values"]];

/** The session that the two parts about reference kernels show: chosen, or the newest that ran them. */
function Of({ children }) {
  const sessions = useApi("/sessions?limit=200");
  return when(sessions, (d) => {
    const id = Number(query("session")) || d.sessions.find((s) => /warpsight-kernels$/.test(s.exe))?.id;
    if (!id) return html`<div class="state"><h1>No session ran the reference kernels</h1><p>On a machine with a GPU, this runs them with every counter and judges them:</p><${Code} text="warpsight kernels verify" /><p>Or open a capture in which they were recorded:</p><${Code} text="warpsight import FILE.wscap" /></div>`;
    const s = d.sessions.find((x) => x.id === id);
    return html`<p class="controls"><label class="pick">Session <select value=${id} onChange=${(e) => setQuery({ session: e.target.value })}>${d.sessions.map((x) => html`<option key=${x.id} value=${x.id} selected=${x.id === id}>${x.id} · ${x.name || x.exe}</option>`)}</select></label>${s && html`<${Mark} source=${s.source} />`}</p>${children(id)}`;
  }, "Loading sessions");
}

const VERDICTS = { holds: ["✓ holds", "fine"], broken: ["✗ broken", "poor"], unknown: ["? no value", "soft"], "no launch": ["– not launched", "soft"], "needs a GPU": ["– needs a GPU", "soft"] };
const CLASS = { U: "on every GPU", C: "with this compiler", D: "on this kind of device" };

/** What the rules promised on each bad twin, beside what its good twin then took. */
function Scorecard({ d, id }) {
  const card = d.scorecard, list = card?.twins.filter((t) => t.measured !== null) ?? [];
  if (!list.length) return null;
  return html`<details class="panel flush roofbox"><summary><h2>How far the estimates are off</h2><span class="note">${card.error.median === null ? "" : html`median error ${format(card.error.median, "")} of a kernel's time`}, over ${exact(card.error.twins)} pairs of twins</span></summary>
    <${Table} caption="Estimated and measured savings of the twins" name=${`session-${id}-scorecard`} rows=${list} rowKey=${(t) => t.id + t.rule + t.bad + t.good} columns=${[
      { key: "rule", title: "Rule", get: (t) => t.rule, render: (t) => html`<a class="rule" href=${"/reference/rules?q=" + encodeURIComponent(t.rule)}>${t.rule}</a>` }, { key: "bad", title: "Bad twin", cls: "kname", get: (t) => t.bad, render: (t) => html`<span class="mono">${t.bad}</span>` }, { key: "good", title: "Good twin", cls: "kname", get: (t) => t.good, render: (t) => html`<span class="mono">${t.good}</span>` },
      { key: "bad_time", title: "Bad takes", num: true, unit: "s", get: (t) => t.bad_time }, { key: "good_time", title: "Good takes", num: true, unit: "s", get: (t) => t.good_time }, { key: "work", title: "Work", hint: "Of the good one, in what the bad one does", num: true, unit: "1", get: (t) => t.work },
      { key: "estimated", title: "Estimated saving", num: true, unit: "", bar: 1, get: (t) => t.estimated ?? { value: null, why: "did not fire" } }, { key: "measured", title: "Measured saving", num: true, unit: "", bar: 1, get: (t) => t.measured }, { key: "error", title: "Error", num: true, unit: "", get: (t) => t.error ?? { value: null, why: "did not fire" } }]} /></details>`;
}

/** Known answers of the reference kernels: what was expected, by counting on paper, and what this session has. */
function Verify({ id, hit }) {
  const state = useApi(`/sessions/${id}/verify`);
  const [all, setAll] = useState(false);
  const only = query("verdict", "");
  return when(state, (d) => {
    const list = d.lines.filter((l) => (!only || l.verdict === only) && hit(l.id, l.file, l.kernel, l.expected, l.verdict));
    const shown = all ? list : list.slice(0, 200);
    return html`<${Scorecard} d=${d} id=${id} /><section class="panel flush tall"><header><h2>Expected and measured</h2><p class="note">${exact(d.holds)} hold, <span class=${d.broken ? "poor" : ""}>${exact(d.broken)} broken</span>, ${exact(d.not_judged)} not judged${d.needs_gpu ? html`, ${exact(d.needs_gpu)} need a GPU` : ""}</p><span class="grow"></span>
        <${Segment} label="Verdict" value=${only} onChange=${(v) => setQuery({ verdict: v || null })} options=${[["", "all"], ["holds", "hold"], ["broken", "broken"], ["unknown", "no value"], ["no launch", "not launched"], ...(d.needs_gpu ? [["needs a GPU", "need a GPU"]] : [])]} /></header>
      <${Table} caption="Known answers of the reference kernels" sortKey="sort" name=${`session-${id}-verify`} rows=${shown} rowKey=${(l) => l.id + l.file + l.kernel + l.expected} empty="No line matches." columns=${[
        { key: "id", title: "Id", get: (l) => l.id, render: (l) => html`<code>${l.id}</code>` }, { key: "file", title: "Source", get: (l) => l.file, render: (l) => html`<code>kernels/${l.file}.cu</code>` },
        { key: "kernel", title: "Kernel", cls: "kname", get: (l) => l.kernel, render: (l) => (l.kernel_id ? html`<a class="mono" href=${`/sessions/${id}/kernels/${l.kernel_id}`}>${l.kernel}</a>` : html`<span class="mono">${l.kernel}</span>`) },
        { key: "expected", title: "Expected", get: (l) => l.expected, render: (l) => html`<code>${l.expected}</code>` }, { key: "measured", title: "Measured", num: true, get: (l) => l.measured, render: (l) => (typeof l.value === "number" ? html`<${V} v=${l.value} unit=${l.unit} />` : html`<span class="soft">${l.measured}</span>`) },
        { key: "verdict", title: "Verdict", cls: "nowrap", get: (l) => l.verdict, render: (l) => html`<span class=${VERDICTS[l.verdict]?.[1]}>${VERDICTS[l.verdict]?.[0] ?? l.verdict}</span>` },
        { key: "class", title: "Holds", get: (l) => CLASS[l.class] ?? l.class ?? "", render: (l) => html`<span class="soft">${CLASS[l.class] ?? l.class ?? ""}</span>` }]} />
      ${shown.length < list.length && html`<p class="caption pad"><button onClick=${() => setAll(true)}>Show all ${exact(list.length)}</button></p>`}</section>`;
  }, "Judging the known answers");
}

export function Reference({ part = "metrics" }) {
  const cat = catalogue();
  const q = query("q");
  const hit = (...texts) => q.toLowerCase().split(/\s+/).filter(Boolean).every((w) => texts.join(" ").toLowerCase().includes(w));
  return when(cat, (c) => html`<div class="page wide"><div class="pagehead"><h1>Reference</h1><span class="grow"></span><input id="search" type="search" placeholder="Find" aria-label="Find in this reference" value=${q} onInput=${(e) => setQuery({ q: e.target.value }, { replace: true })} /></div>
    <nav class="refnav" aria-label="Parts of the reference">${PARTS.filter(([k]) => !embedded || !["kernels", "decode"].includes(k)).map(([k, t]) => html`<a key=${k} class="tab" href=${"/reference/" + k} aria-current=${k === part ? "page" : null}>${t}</a>`)}</nav>
    ${part === "metrics" && html`<section class="panel flush tall"><${Table} caption="Metrics" name="metrics" rows=${c.metrics.filter((m) => hit(m.key, m.title, m.doc, m.cupti))} rowKey=${(m) => m.key} columns=${[
      { key: "title", title: "Metric", cls: "wide doc", get: (m) => m.title, render: (m) => html`<span class="strong">${m.title}</span><div class="soft">${m.doc}</div>` }, { key: "key", title: "Key", get: (m) => m.key, render: (m) => html`<code>${m.key}</code>` },
      { key: "unit", title: "Unit", get: (m) => m.unit, render: (m) => html`<span class="soft">${isPercent(m.unit) ? "ratio, shown in %" : m.unit}</span>` }, { key: "set", title: "Set", get: (m) => m.set ?? "" },
      { key: "formula", title: "Formula or counter", cls: "wide doc", get: (m) => m.formula || m.cupti || "", render: (m) => html`<code class="wrap">${m.formula || (m.cupti ?? "").replaceAll("|", " or ") || m.kind}</code>` }, { key: "source", title: "Source", cls: "wide src", get: (m) => m.source, render: (m) => html`<span class="soft">${m.source}</span>` }]} /></section>`}
    ${part === "rules" && html`<${Panel}>${c.rules.filter((r) => hit(r.id, r.title, r.why, r.advice)).map((r) => html`<article class="card" key=${r.id} id=${r.id}><h2><code>${r.id}</code>${r.title}<span class="soft">${r.scope}</span></h2><p><${Prose} text=${r.why} /></p>
      ${rows([["Fires when", r.condition], ["Advice", html`<${Prose} text=${r.advice.replace(/\{(\w+)[^}]*\}/g, "`$1`")} />`], r.formula && ["Gain", html`<code>${r.formula}</code>`], r.when_not && ["Not when", r.when_not], (r.bad || r.good) && ["Reference kernels", html`${r.bad && html`fires on <code>${r.bad}</code>`}${r.bad && r.good ? ", " : ""}${r.good && html`quiet on <code>${r.good}</code>`}`], ["Source", r.source]])}</article>`)}<//>`}
    ${part === "stalls" && html`<${Panel} note="Stall shares matter only while schedulers idle: under 80 % of issue slots used.">${[...STALL_GROUPS, ["other", "Other", c.stalls.map((s) => s.reason).filter((r) => stallGroup(r) === "other")]].map(([g, t, list]) => { const own = c.stalls.filter((s) => list.includes(s.reason) && hit(s.reason, s.title, s.doc, s.remedy ?? "")); return own.length ? html`<section class="card" key=${g}><h2><i class=${"key st-" + g}></i>${t}</h2>${rows(own.map((s) => [html`<code>${s.reason}</code>`, html`${s.doc}${s.remedy ? html` <b>${s.remedy}</b>` : ""}${s.applies ? html` <span class="soft">${s.applies}</span>` : ""}`]))}</section>` : null; })}<//>
`}
    ${part === "kernels" && html`<${Of}>${(id) => html`<${Verify} id=${id} hit=${hit} />`}<//>`}
    ${part === "decode" && html`<${Of}>${(id) => html`<${Decode} id=${id} />`}<//>`}
    ${part === "cannot" && html`<${Panel} note="Counters count; they do not see order, bounds or meaning. For each of these another tool does.">${(c.cards ?? []).filter((k) => hit(k.title, k.cannot, k.instead, k.tool)).map((k) => html`<article class="card" key=${k.id}><h2>${k.title}</h2><p><${Prose} text=${k.cannot} /></p>${rows([["Here, at best", html`<${Prose} text=${k.instead} />`], ["The tool that can", k.tool], ["Source", k.source]])}<${Code} text=${k.command} /></article>`)}<//>`}
    ${part === "gpus" && html`<section class="panel flush"><header><h2>Boards</h2><p class="note">Data-sheet rates, dense; an FMA is two operations</p></header><${Table} caption="Boards" name="boards" rows=${c.boards.filter((b) => hit(String(b.names), b.cc))} rowKey=${(b) => String(b.names)} columns=${[
      { key: "names", title: "Board", cls: "nowrap", get: (b) => String(b.names).split(/[|,]/)[0], render: (b) => html`<span title=${String(b.names).replaceAll("|", ", ")}>${String(b.names).split(/[|,]/)[0]}</span>` }, { key: "cc", title: "cc", get: (b) => b.cc }, { key: "sms", title: "SMs", num: true, unit: "1", get: (b) => b.sms },
      { key: "clock", title: "Boost", num: true, unit: "Hz", get: (b) => b.boost_clock_hz ?? none }, { key: "dram", title: "DRAM", num: true, unit: "B/s", get: (b) => b.dram_bytes_per_s ?? none }, { key: "l2", title: "L2", num: true, unit: "B", get: (b) => b.l2_bytes ?? none },
      ...["fp64", "fp32", "fp16", "tensor_tf32", "tensor_fp16", "tensor_bf16", "tensor_fp8"].map((k) => ({ key: k, title: k.replace("_", " "), num: true, unit: "FLOP/s", get: (b) => b.rates?.[k] ?? none })), { key: "source", title: "Source", cls: "wide", get: (b) => b.source ?? "", render: (b) => html`<span class="soft clip" title=${b.source}>${b.source}</span>` }]} /></section>
      <section class="panel flush"><header><h2>Limits by compute capability</h2></header><${Table} caption="Limits by compute capability" name="limits" rows=${c.limits.filter((l) => hit(l.cc))} rowKey=${(l) => l.cc} columns=${[{ key: "cc", title: "cc", get: (l) => l.cc }, ...[["warps_per_sm", "Warps/SM"], ["blocks_per_sm", "Blocks/SM"], ["regs_per_sm", "Regs/SM"], ["regs_per_block", "Regs/block"], ["regs_per_thread", "Regs/thread"], ["smem_per_sm", "Shared/SM"], ["smem_per_block", "Shared/block"], ["smem_reserved", "Reserved"], ["barriers_per_sm", "Barriers/SM"], ["cluster_max", "Cluster"]].map(([k, t]) => ({ key: k, title: t, num: true, unit: k.startsWith("smem") ? "B" : "1", get: (l) => l[k] ?? none, render: (l) => (l[k] === undefined ? html`<span class="why">–</span>` : html`<span class="num" title=${exact(l[k])}>${k.startsWith("smem") ? kib(l[k]) : exact(l[k])}</span>`) }))]} /></section>`}
    ${part === "reasons" && html`<${Panel} title="Why a value may be missing" note="A number is present or says why not: never 0 for “unknown”">${rows((c.reasons ?? []).filter((r) => hit(r.code, r.text)).map((r) => [html`<code>${r.code}</code>`, r.text.replace("%s", "another metric")]))}<//>
      <${Panel} title="Facts of the timeline">${rows((c.timeline ?? []).filter((t) => hit(t.key, t.what)).map((t) => [html`<code>${t.key}</code>`, html`${t.what} ${t.unit ? html`<span class="soft">${t.unit}</span>` : ""}`]))}<//>`}</div>`, "Loading the reference");
}
const none = { value: null, why: "no source states it" };
