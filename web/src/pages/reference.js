// SPDX-License-Identifier: MIT
// reference.js: what the numbers mean: metrics, rules, stall reasons, GPUs. All of it comes from the catalogue.
import { catalogue } from "../api.js";
import { exact, isPercent, kib } from "../format.js";
import { query, setQuery } from "../router.js";
import { STALL_GROUPS, stallGroup } from "../charts/bars.js";
import { Panel, Prose, html, rows, when } from "../ui.js";
import { Table } from "../table.js";

const PARTS = [["metrics", "Metrics"], ["rules", "Rules"], ["stalls", "Stall reasons"], ["gpus", "GPUs"], ["reasons", "Missing values"]];
const CANNOT = [
  ["Races between threads", "Two threads update one address without an atomic. Counters see the accesses, not their order.", "compute-sanitizer --tool racecheck ./your_program"],
  ["Barriers in branches", "A __syncthreads() that not all threads reach: the kernel hangs or misbehaves.", "compute-sanitizer --tool synccheck ./your_program"],
  ["Out-of-bounds accesses, use after free", "The access is counted like any other.", "compute-sanitizer ./your_program"],
  ["Reading memory that was never written", "The sectors are counted; that they hold nothing is not seen.", "compute-sanitizer --tool initcheck ./your_program"],
];

export function Reference({ part = "metrics" }) {
  const cat = catalogue();
  const q = query("q");
  const hit = (...texts) => q.toLowerCase().split(/\s+/).filter(Boolean).every((w) => texts.join(" ").toLowerCase().includes(w));
  return when(cat, (c) => html`<div class="page wide"><div class="pagehead"><h1>Reference</h1><span class="grow"></span><input id="search" type="search" placeholder="Find" aria-label="Find in this reference" value=${q} onInput=${(e) => setQuery({ q: e.target.value }, { replace: true })} /></div>
    <nav class="refnav" aria-label="Parts of the reference">${PARTS.map(([k, t]) => html`<a key=${k} class="tab" href=${"/reference/" + k} aria-current=${k === part ? "page" : null}>${t}</a>`)}</nav>
    ${part === "metrics" && html`<section class="panel flush"><${Table} caption="Metrics" name="metrics" rows=${c.metrics.filter((m) => hit(m.key, m.title, m.doc, m.cupti))} rowKey=${(m) => m.key} columns=${[
      { key: "title", title: "Metric", cls: "wide doc", get: (m) => m.title, render: (m) => html`<span class="strong">${m.title}</span><div class="soft">${m.doc}</div>` }, { key: "key", title: "Key", get: (m) => m.key, render: (m) => html`<code>${m.key}</code>` },
      { key: "unit", title: "Unit", get: (m) => m.unit, render: (m) => html`<span class="soft">${isPercent(m.unit) ? "ratio, shown in %" : m.unit}</span>` }, { key: "set", title: "Set", get: (m) => m.set ?? "" },
      { key: "formula", title: "Formula or counter", cls: "wide doc", get: (m) => m.formula || m.cupti || "", render: (m) => html`<code class="wrap">${m.formula || (m.cupti ?? "").replaceAll("|", " or ") || m.kind}</code>` }, { key: "source", title: "Source", cls: "wide src", get: (m) => m.source, render: (m) => html`<span class="soft">${m.source}</span>` }]} /></section>`}
    ${part === "rules" && html`<${Panel}>${c.rules.filter((r) => hit(r.id, r.title, r.why, r.advice)).map((r) => html`<article class="card" key=${r.id} id=${r.id}><h2><code>${r.id}</code>${r.title}<span class="soft">${r.scope}</span></h2><p><${Prose} text=${r.why} /></p>
      ${rows([["Fires when", r.condition], ["Advice", html`<${Prose} text=${r.advice} />`], r.formula && ["Gain", html`<code>${r.formula}</code>`], r.when_not && ["Not when", r.when_not], (r.bad || r.good) && ["Reference kernels", html`${r.bad && html`fires on <code>${r.bad}</code>`}${r.bad && r.good ? ", " : ""}${r.good && html`quiet on <code>${r.good}</code>`}`], ["Source", r.source]])}</article>`)}<//>`}
    ${part === "stalls" && html`<${Panel} note="Stall shares matter only while schedulers idle: under 80 % of issue slots used.">${[...STALL_GROUPS, ["other", "Other", c.stalls.map((s) => s.reason).filter((r) => stallGroup(r) === "other")]].map(([g, t, list]) => { const own = c.stalls.filter((s) => list.includes(s.reason) && hit(s.reason, s.title, s.doc, s.remedy ?? "")); return own.length ? html`<section class="card" key=${g}><h2><i class=${"key st-" + g}></i>${t}</h2>${rows(own.map((s) => [html`<code>${s.reason}</code>`, html`${s.doc}${s.remedy ? html` <b>${s.remedy}</b>` : ""}${s.applies ? html` <span class="soft">${s.applies}</span>` : ""}`]))}</section>` : null; })}<//>
      <${Panel} title="What counters cannot show">${CANNOT.map(([t, doc, cmd]) => html`<article class="card" key=${t}><h3>${t}</h3><p>${doc}</p><p><code>${cmd}</code></p></article>`)}<//>`}
    ${part === "gpus" && html`<section class="panel flush"><header><h2>Boards</h2><p class="note">Data-sheet rates, dense; an FMA is two operations</p></header><${Table} caption="Boards" name="boards" rows=${c.boards.filter((b) => hit(String(b.names), b.cc))} rowKey=${(b) => String(b.names)} columns=${[
      { key: "names", title: "Board", cls: "nowrap", get: (b) => String(b.names).split(/[|,]/)[0], render: (b) => html`<span title=${String(b.names).replaceAll("|", ", ")}>${String(b.names).split(/[|,]/)[0]}</span>` }, { key: "cc", title: "cc", get: (b) => b.cc }, { key: "sms", title: "SMs", num: true, unit: "1", get: (b) => b.sms },
      { key: "clock", title: "Boost", num: true, unit: "Hz", get: (b) => b.boost_clock_hz ?? none }, { key: "dram", title: "DRAM", num: true, unit: "B/s", get: (b) => b.dram_bytes_per_s ?? none }, { key: "l2", title: "L2", num: true, unit: "B", get: (b) => b.l2_bytes ?? none },
      ...["fp64", "fp32", "fp16", "tensor_tf32", "tensor_fp16", "tensor_bf16", "tensor_fp8"].map((k) => ({ key: k, title: k.replace("_", " "), num: true, unit: "FLOP/s", get: (b) => b.rates?.[k] ?? none })), { key: "source", title: "Source", cls: "wide", get: (b) => b.source ?? "", render: (b) => html`<span class="soft clip" title=${b.source}>${b.source}</span>` }]} /></section>
      <section class="panel flush"><header><h2>Limits by compute capability</h2></header><${Table} caption="Limits by compute capability" name="limits" rows=${c.limits.filter((l) => hit(l.cc))} rowKey=${(l) => l.cc} columns=${[{ key: "cc", title: "cc", get: (l) => l.cc }, ...[["warps_per_sm", "Warps/SM"], ["blocks_per_sm", "Blocks/SM"], ["regs_per_sm", "Regs/SM"], ["regs_per_block", "Regs/block"], ["regs_per_thread", "Regs/thread"], ["smem_per_sm", "Shared/SM"], ["smem_per_block", "Shared/block"], ["smem_reserved", "Reserved"], ["barriers_per_sm", "Barriers/SM"], ["cluster_max", "Cluster"]].map(([k, t]) => ({ key: k, title: t, num: true, unit: k.startsWith("smem") ? "B" : "1", get: (l) => l[k] ?? none, render: (l) => (l[k] === undefined ? html`<span class="why">–</span>` : html`<span class="num" title=${exact(l[k])}>${k.startsWith("smem") ? kib(l[k]) : exact(l[k])}</span>`) }))]} /></section>`}
    ${part === "reasons" && html`<${Panel} title="Why a value may be missing" note="A number is present or says why not: never 0 for “unknown”">${rows((c.reasons ?? []).filter((r) => hit(r.code, r.text)).map((r) => [html`<code>${r.code}</code>`, r.text.replace("%s", "another metric")]))}<//>
      <${Panel} title="Facts of the timeline">${rows((c.timeline ?? []).filter((t) => hit(t.key, t.what)).map((t) => [html`<code>${t.key}</code>`, html`${t.what} ${t.unit ? html`<span class="soft">${t.unit}</span>` : ""}`]))}<//>`}</div>`, "Loading the reference");
}
const none = { value: null, why: "no source states it" };
