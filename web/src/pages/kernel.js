// SPDX-License-Identifier: MIT
// kernel.js: one kernel, in the order in which one asks: roof, occupancy, stalls, accesses, source, point, raw numbers.
// The findings stand beside all of it, for they are why one came.
import { useRef, useState } from "preact/hooks";
import { catalogue, useApi } from "../api.js";
import { Banks, Sectors } from "../charts/access.js";
import { Gauges, STALL_GROUPS, Stack, stallGroup } from "../charts/bars.js";
import { Limits, WhatIf, limitTitle } from "../charts/occupancy.js";
import { Roofline } from "../charts/roofline.js";
import { dims, exact, format, kib, opUnit, shortName } from "../format.js";
import { embedded, go, query, setQuery } from "../router.js";
import { ChartTools, Finding, Mark, Panel, Prose, Sampled, Varies, counted, V, Why, copy, has, html, num, useWidth, when, whyText } from "../ui.js";
import { Table } from "../table.js";
import { Twin } from "../twin.js";
import { mainPrecision, rooted, verdict, without } from "../verdict.js";
import { titlesOf, unitsOf } from "./overview.js";
import { bestRoof } from "./kernels.js";
import { HotLine, Source } from "./source.js";

const UNITS = [["sm_throughput", "SM", "c-sm"], ["l1_throughput", "L1 and texture", "c-l1"], ["l2_throughput", "L2", "c-l2"], ["dram_throughput", "DRAM", "c-dram"]];

/** Why it is slow, in one sentence; what to change, in another. */
function Verdict({ id, k, cat }) {
  const v = verdict(k), x = v.limit ?? v.best;
  const p = bestRoof(k);
  const share = (l) => html`<b>${format(l.share, "")}</b>${l.of ? html` (${format(l.rate, l.unit)} of ${format(l.of, l.unit)} ${l.from === "data-sheet" ? "by the data sheet" : "measured"})` : " of its peak"}`;
  const stall = v.wait && (cat?.stalls ?? []).find((s) => s.reason === v.wait[0]);
  const left = v.finding && without(k.duration?.mean, v.finding.gain);
  const doubt = p?.percent > 1 ? html` <span class="poor">Above its roof: doubt the counters or the ceiling.</span>` : "";
  return html`<section class="answerbox" aria-label="Why it is slow">
    <p class="verdictline"><span class="qa">Why is it slow?</span> ${!x
      ? html`Not known: ${k.metrics.sm_throughput?.why === "needs-gpu" ? "the model counts accesses; how busy a unit is, and what warps wait for, only a GPU tells." : k.profiled_launches ? "no counter says how busy a unit was: `--set full` counts them." : "no launch of this kernel was profiled, so there are times but no counters."}`
      : v.limit
        ? html`<b class=${x.kind === "compute" ? "compute" : "memory"}>${x.kind === "compute" ? `${x.title} arithmetic` : x.title} is the limit</b>: ${share(x)}.`
        : html`<b>No unit is at its limit</b>: the busiest, ${x.title}, is at ${share(x)}.`}${x && v.wait && !(v.limit?.kind === "compute") ? html` Warps wait mostly for <b>${(stall?.title ?? v.wait[0]).replace(/^Stall: /, "")}</b> (${format(v.wait[1], "")} of the waiting)${stall ? html`: <span class="soft">${stall.doc.replace(/^Warps (?=waited|had|slept)/, "they ").replace(/\.$/, "")}</span>` : ""}.` : ""}${doubt}</p>
    <p class="verdictline"><span class="qa">What to change?</span> ${v.finding
      ? html`<${Prose} text=${v.finding.text} />${left !== null ? html` <span class="could">${format(k.duration.mean, "s")} a launch → at best <b>${format(left, "s")}</b></span>` : ""}`
      : v.limit ? html`No rule fired: it runs near the limit above. Move fewer bytes or do less work; or compare with a faster version under <a href="/compare">Compare</a>.` : html`No rule fired. ${k.skipped?.length ? html`${exact(k.skipped.length)} rule${k.skipped.length === 1 ? "" : "s"} could not judge it, for want of counters (below).` : "See what it waits for, under Stalls."}`}</p><${HotLine} id=${id} k=${k} rule=${v.finding?.rule ?? ""} /></section>`;
}

const WORDS = { "out-of-range": "not believed", "not-measured": "not measured" };

function Roof({ k }) {
  const m = k.metrics;
  const points = k.roofline?.points ?? [], traffic = k.roofline?.traffic ?? [];
  const none = html`<span class="why">–</span>`;
  const num = (v, unit) => (v === null || v === undefined ? none : html`<${V} v=${v} unit=${unit} />`);
  return html`<${Panel} id="roof" title="Roof" note="How much of the machine is in use">
    <${Gauges} label="Utilisation" items=${UNITS.map(([key, title, cls]) => ({ key, title, cls, v: m[key] ?? { value: null, why: "not in this answer" } }))} />
    ${traffic.length > 0 && html`<table class="plain roofs"><caption class="sr">Bytes moved at each level of memory</caption><thead><tr><th scope="col">Moves at</th><th scope="col" class="r">Bytes</th><th scope="col" class="r">Rate</th><th scope="col" class="r">Measured roof</th><th scope="col" class="r">Of it</th></tr></thead>
      <tbody>${traffic.map((t) => html`<tr key=${t.level}><td>${t.level}</td><td class="r">${num(t.bytes, "B")}</td><td class="r">${num(t.rate, "B/s")}</td><td class="r">${num(t.ceiling, "B/s")}</td><td class="r">${num(t.percent, "")}</td></tr>`)}</tbody></table>`}
    ${points.length > 0 && html`<table class="plain roofs"><caption class="sr">Roofline points</caption><thead><tr><th scope="col">Computes</th><th scope="col">Bytes at</th><th scope="col" class="r">Intensity</th><th scope="col" class="r">Rate</th><th scope="col" class="r">Roof there</th><th scope="col" class="r">Of it</th><th scope="col">Bound by</th></tr></thead>
      <tbody>${points.map((p) => html`<tr key=${p.level + p.precision}><td>${p.precision}</td><td>${p.level}</td><td class="r">${num(p.intensity, opUnit(p.precision, "B"))}</td><td class="r">${num(p.flop_rate, opUnit(p.precision))}</td><td class="r">${p.roof === null || p.roof === undefined ? html`<span class="why" title=${whyText({ why: p.roof_source })}>${WORDS[p.roof_source] ?? whyText({ why: p.roof_source })}</span>` : html`<${V} v=${p.roof} unit=${opUnit(p.precision)} /> <span class="soft">${p.roof_source.replace("-", " ")}</span>`}</td><td class="r">${num(p.percent, "")}</td><td class=${p.bound}>${p.bound}</td></tr>`)}</tbody></table>`}
  <//>`;
}

function Occupancy({ k, cc }) {
  const o = k.occupancy ?? {};
  const [open, set] = useState(Boolean(query("if")) || (k.findings ?? []).some((f) => /^W1[245]-/.test(f.rule)));
  const asked = query("if").split(",").map(Number);
  const start = { threads: k.block.reduce((a, b) => a * b, 1), regs: k.regs_per_thread ?? 32, smem: k.static_smem_bytes ?? 0, dynamic: k.dynamic_smem_bytes ?? 0 };
  return html`<${Panel} id="occupancy" title="Occupancy" note=${o.limiter && o.theoretical !== null ? `Limited by ${limitTitle(o.limiter).toLowerCase()}: ${o.blocks_per_sm} blocks, ${o.warps_per_sm} warps per SM` : ""} tools=${cc && html`<button class="quiet" aria-expanded=${String(open)} onClick=${() => set(!open)}>What if …</button>`}>
    <${Gauges} label="Occupancy" items=${[{ key: "a", title: "Achieved", cls: "c-occ", v: k.metrics.achieved_occupancy ?? o.achieved, mark: num(k.metrics, "theoretical_occupancy") }, { key: "t", title: "Theoretical", cls: "c-occt", v: k.metrics.theoretical_occupancy ?? o.theoretical }, { key: "i", title: "Issue slots used", cls: "c-sm", hint: "Cycles in which a scheduler issued: occupancy matters only while this is low", v: k.metrics.issue_rate ?? { value: null, why: "not in this answer" } }]} />
    ${open && cc ? html`<${WhatIf} cc=${cc} start=${start} now=${asked.length === 4 && asked.every((x) => x >= 0) ? { threads: asked[0], regs: asked[1], smem: asked[2], dynamic: asked[3] } : null} onChange=${(v) => { const s = [v.threads, v.regs, v.smem, v.dynamic].join(); setQuery({ if: s === [start.threads, start.regs, start.smem, start.dynamic].join() ? null : s }, { replace: true }); }} achieved=${num(k.metrics, "achieved_occupancy")} />` : o.limits && html`<${Limits} o=${o} />`}
  <//>`;
}

/** One bar of reasons that adds to 1, with its table; counters and PC samples have one each. */
function StallBar({ id, list, note, name, children }) {
  const [box, width] = useWidth();
  const svg = useRef(null);
  const small = list.filter((s) => s.v.value < 0.005);
  return html`<${Panel} id=${id} title="Stalls" note=${note} tools=${html`<${ChartTools} svg=${() => svg.current} name=${name} />`}>
    ${children}
    <div ref=${box} class="fit"><${Stack} svgRef=${svg} width=${width} unit="" whole=${1} label="Stall reasons" parts=${list.filter((s) => s.v.value > 0).map((s) => ({ key: s.key, title: s.title, value: s.v.value, cls: "st-" + stallGroup(s.reason), doc: s.doc }))} /></div>
    <p class="legend">${STALL_GROUPS.filter(([g]) => list.some((s) => stallGroup(s.reason) === g && s.v.value > 0)).map(([g, t]) => html`<span key=${g}><i class=${"key st-" + g}></i>${t}</span>`)}</p>
    <table class="plain stalls"><caption class="sr">Stall reasons</caption><tbody>${list.filter((s) => s.v.value >= 0.005).map((s) => html`<tr key=${s.key}><th scope="row"><i class=${"key st-" + stallGroup(s.reason)}></i>${s.title}</th><td class="r"><${V} v=${s.v} unit="" /></td><td class="soft">${s.doc}</td></tr>`)}</tbody></table>
    ${small.length > 0 && html`<p class="caption">Under 0.5 % each: ${small.map((s) => s.title).join(", ")}.</p>`}
  <//>`;
}

function Stalls({ k, cat }) {
  const docs = new Map((cat?.stalls ?? []).map((s) => [s.reason, { ...s, title: s.title.replace(/^Stall: /, "") }]));
  const p = k.pc_samples, sampled = Object.entries(p?.shares ?? {}).filter(([, n]) => n !== null).map(([reason, n]) => ({ key: reason, reason, v: { value: n }, title: docs.get(reason)?.title ?? reason, doc: docs.get(reason)?.doc ?? "" })).sort((a, b) => b.v.value - a.v.value);
  const list = Object.entries(k.metrics).filter(([key, v]) => key.startsWith("stall_share_") && has(v)).map(([key, v]) => { const reason = key.slice(12); return { key, reason, v, title: docs.get(reason)?.title ?? reason, doc: docs.get(reason)?.doc ?? "" }; }).sort((a, b) => b.v.value - a.v.value);
  const pc = sampled.length > 0 && html`<${StallBar} id=${list.length ? "pcsamples" : "stalls"} list=${sampled} note=${`Share of stalled PC samples: ${exact(p.samples)} of all its launches`} name=${`kernel-${k.id}-pc-samples`} />`;
  const issue = num(k.metrics, "issue_rate");
  if (!list.length && pc) return pc;
  if (!list.length) {
    const why = Object.entries(k.metrics).find(([key]) => key.startsWith("stall_share_"))?.[1];
    return html`<${Panel} id="stalls" title="Stalls" note="Why warps waited"><p class="why">${why ? whyText(why) : "not in this answer"}</p><//>`;
  }
  return html`<${StallBar} id="stalls" list=${list} note="Share of stalled warp-cycles, by issue-slot counters" name=${`kernel-${k.id}-stalls`}>${issue !== null && issue >= 0.8 && html`<p class="hint">A scheduler issues in ${format(issue, "")} of its cycles: waiting warps cost little here. Look at the roof instead.</p>`}<//>${pc}`;
}

function Access({ k }) {
  const m = k.metrics;
  const c = m.shared_bank_conflicts;
  if (!["gld_requests", "gst_requests", "shared_ld_requests", "shared_st_requests"].some((key) => has(m[key]))) return html`<${Panel} id="access" title="Memory accesses" note="What one warp's request costs, on average"><p class="why">${whyText(m.gld_requests ?? {})}</p><//>`;
  return html`<${Panel} id="access" title="Memory accesses" note="What one warp's request costs, on average">
    <div class="pics"><${Sectors} m=${m} dir="gld" name=${`kernel-${k.id}`} /><${Sectors} m=${m} dir="gst" name=${`kernel-${k.id}`} /><${Banks} m=${m} dir="ld" name=${`kernel-${k.id}`} /><${Banks} m=${m} dir="st" name=${`kernel-${k.id}`} /></div>
    <table class="plain"><caption class="sr">Access numbers</caption><thead><tr><th scope="col">Access</th><th class="r" scope="col">Requests</th><th class="r" scope="col">Sectors, rounds</th><th class="r" scope="col">A request</th><th class="r" scope="col">Efficiency</th></tr></thead><tbody>
      ${[["Global load", "gld_requests", "gld_sectors", "gld_sectors_per_request", "gld_efficiency"], ["Global store", "gst_requests", "gst_sectors", "gst_sectors_per_request", "gst_efficiency"], ["Shared load", "shared_ld_requests", "shared_ld_wavefronts", "shared_ld_wavefronts_per_request", null], ["Shared store", "shared_st_requests", "shared_st_wavefronts", "shared_st_wavefronts_per_request", null]].map(([t, ...ks]) => html`<tr key=${t}><th scope="row">${t}</th>${ks.map((key) => html`<td class="r" key=${key}>${key ? html`<${V} v=${m[key]} />` : ""}</td>`)}</tr>`)}
      <tr><th scope="row">Bank conflicts</th><td></td><td class="r"><${V} v=${c} /></td><td></td><td></td></tr></tbody></table>
    <p class="caption">Pictures are drawn from averages: which lane met which sector or bank is not recorded.</p>
  <//>`;
}

function Point({ k, id }) {
  const state = useApi(k.roofline?.points?.length ? `/sessions/${id}/roofline` : null);
  const [box, width] = useWidth();
  const svg = useRef(null);
  const points = (k.roofline?.points ?? []).filter((p) => p.intensity !== null && p.flop_rate !== null).map((p) => ({ ...p, kernel: k.id, name: k.name, launches: k.launches, duration: k.duration?.total }));
  if (!points.length) return null;
  const precisions = [mainPrecision(points)];
  return html`<${Panel} id="point" title="Point" note=${`The same ${precisions[0]} work against the bytes of each memory level`} tools=${html`<${ChartTools} svg=${() => svg.current} name=${`kernel-${k.id}-roofline`} /><a class="quiet" href=${`/sessions/${id}/roofline?kernel=${k.id}`}>Among all kernels</a>`}>
    <div ref=${box} class="fit">${state.data && html`<${Roofline} svgRef=${svg} mini points=${points} device=${state.data.devices[0]} levels=${["DRAM", "L2", "L1"]} precisions=${precisions} width=${width} height=${320} onOpen=${() => go(`/sessions/${id}/roofline?kernel=${k.id}`)} />`}</div><//>`;
}

function Raw({ k, cat, source }) {
  const find = query("metric");
  const [open, set] = useState(null);
  const [all, setAll] = useState(false);
  const meta = new Map((cat?.metrics ?? []).map((x) => [x.key, x]));
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  const list = Object.entries(k.metrics).map(([key, v]) => ({ key, v, m: meta.get(key) })).filter(({ key, v, m }) => (all || has(v) || words.length) && words.every((w) => (key + " " + (m?.title ?? "") + " " + (m?.doc ?? "")).toLowerCase().includes(w)));
  const none = Object.values(k.metrics).filter((v) => !has(v)).length;
  const columns = [
    { key: "title", title: "Metric", cls: "wide", get: (r) => r.m?.title ?? r.key, render: (r) => html`<button class="row" aria-expanded=${String(open === r.key)} onClick=${() => set(open === r.key ? null : r.key)}>${r.m?.title ?? r.key}</button>${open === r.key && r.m && html`<div class="def"><p>${r.m.doc}</p>${r.m.formula && html`<p><code>${r.key} = ${r.m.formula}</code></p>`}${r.m.cupti && html`<p>Counter: <code>${r.m.cupti.replaceAll("|", " or ")}</code></p>`}<p class="soft">Source: ${r.m.source || "–"}${r.v.origin ? ` · this number from ${r.v.origin}` : ""}</p></div>`}` },
    { key: "key", title: "Key", get: (r) => r.key, render: (r) => html`<code>${r.key}</code>` },
    { key: "value", title: "Value", num: true, get: (r) => r.v },
    { key: "min", title: "Min", num: true, get: (r) => (has(r.v) && r.v.min !== undefined ? { value: r.v.min, unit: r.v.unit } : ""), render: (r) => (r.v.min !== undefined ? html`<${V} v=${r.v.min} unit=${r.v.unit} />` : "") },
    { key: "max", title: "Max", num: true, get: (r) => (has(r.v) && r.v.max !== undefined ? { value: r.v.max, unit: r.v.unit } : ""), render: (r) => (r.v.max !== undefined ? html`<${V} v=${r.v.max} unit=${r.v.unit} />` : "") },
    { key: "deviation", title: "Deviation", num: true, get: (r) => (r.v.deviation !== undefined ? { value: r.v.deviation, unit: r.v.unit } : ""), render: (r) => (r.v.deviation !== undefined ? html`<${V} v=${r.v.deviation} unit=${r.v.unit} />${r.v.varies ? html` <span class="chip bad" title="from launch to launch by more than a tenth">varies</span>` : ""}` : "") },
    { key: "unit", title: "Unit", get: (r) => r.v.unit ?? r.m?.unit ?? "", render: (r) => html`<span class="soft">${r.v.unit ?? r.m?.unit ?? ""}</span>` },
    { key: "formula", title: "Made by", cls: "wide", get: (r) => r.m?.formula || r.m?.cupti || "", render: (r) => html`<code class="clip" title=${r.m?.formula || r.m?.cupti || ""}>${r.m?.formula || r.m?.cupti || r.m?.kind || ""}</code>` },
  ];
  return html`<section class="panel flush tall" id="metrics" aria-label="All metrics"><header><h2>All metrics</h2><p class="note"><${Mark} source=${source} /> mean of ${exact(k.profiled_launches)} profiled launch${k.profiled_launches === 1 ? "" : "es"}</p></header>
    <${Table} columns=${columns} rows=${list} rowKey=${(r) => r.key} name=${`kernel-${k.id}-metrics`} caption="All metrics of this kernel" empty="No metric matches."
      tools=${html`<input type="search" placeholder="Find a metric" aria-label="Find a metric" value=${find} onInput=${(e) => setQuery({ metric: e.target.value }, { replace: true })} />${none > 0 && html`<label class="check"><input type="checkbox" checked=${all} onChange=${(e) => setAll(e.target.checked)} /> ${none} without a number</label>`}`} /></section>`;
}

export function Kernel({ id, kid }) {
  const state = useApi(`/sessions/${id}/kernels/${kid}`);
  const cat = catalogue().data;
  const units = unitsOf(cat), titles = titlesOf(cat);
  return when(state, (d) => {
    const k = { ...d.kernels[0], metrics: rooted(d.kernels[0].metrics) };
    const name = k.demangled || k.name;
    const short = shortName(name);
    const cc = d.devices?.[0]?.cc;
    return html`<div class="page" data-freeze>
      <div class="pagehead kernelhead"><h1 class="mono">${short}</h1><${Mark} source=${d.session.source} /><${Sampled} s=${k.sampled} /><${Varies} keys=${k.varies} /><button class="quiet" title=${name} onClick=${() => copy(name)}>copy name</button></div>
      ${name !== short && html`<p class="fullname mono">${name}</p>`}
      <dl class="facts">${[["Grid", dims(k.grid)], ["Block", dims(k.block)], ["Registers", k.regs_per_thread ?? html`<span class="why">not known</span>`], ["Shared memory", html`<span class="num" title=${`${exact(k.static_smem_bytes ?? 0)} B static, ${exact(k.dynamic_smem_bytes ?? 0)} B dynamic, per block`}>${kib((k.static_smem_bytes ?? 0) + (k.dynamic_smem_bytes ?? 0))}</span>`], ["Launches", html`<${V} v=${k.launches} unit="1" />`], ["Mean", k.duration?.mean ? html`<${V} v=${k.duration.mean} unit="s" />` : html`<${Why} v=${k.metrics.duration ?? { why: "no time" }} />`], k.duration?.min && k.launches > 1 && ["Min to max", html`<${V} v=${k.duration.min} unit="s" /> to <${V} v=${k.duration.max} unit="s" />`], k.counting && ["Counted", counted(k.counting)], ["Total", k.duration?.total ? html`<${V} v=${k.duration.total} unit="s" />` : html`<span class="why">no time</span>`]].filter(Boolean).map(([t, v]) => html`<div key=${t}><dt>${t}</dt><dd>${v}</dd></div>`)}</dl>
      <${Verdict} id=${id} k=${k} cat=${cat} />
      <div class="two">
        <div class="main"><${Roof} k=${k} /><${Occupancy} k=${k} cc=${embedded ? null : cc} /><${Stalls} k=${k} cat=${cat} /><${Access} k=${k} /><${Source} id=${id} k=${k} source=${d.session.source} /><${Point} k=${k} id=${id} /></div>
        <aside class="side stick"><${Panel} id="findings" title="What to change" note=${k.findings?.length ? "" : ""}>
          ${k.findings?.length ? html`<div class="findings">${k.findings.map((f) => { const rule = cat?.rules.find((r) => r.id === f.rule), key = Object.keys(f.evidence ?? {}).find((e) => cat?.metrics.some((x) => x.key === e)); return html`<${Finding} key=${f.rule} f=${f} units=${units} titles=${titles} rule=${rule} time=${k.duration?.mean}>${rule && !embedded && html`<${Twin} id=${id} rule=${rule} metric=${key && cat.metrics.find((x) => x.key === key)} except=${k.id} />`}<//>`; })}</div>` : html`<p class="soft">No rule fired. Either the kernel is near its roof, or counters that the rules need are missing: see “All metrics”.</p>`}
          ${k.skipped?.length > 0 && html`<details class="behind skipped"><summary>${exact(k.skipped.length)} rule${k.skipped.length === 1 ? "" : "s"} could not judge this kernel</summary><ul>${k.skipped.map((s) => html`<li key=${s.rule}><a class="rule" href=${"/reference/rules?q=" + encodeURIComponent(s.rule)}>${s.rule}</a> <span class="soft">${s.missing && html`<code>${s.missing}</code>: `}${whyText({ why: s.why, needs: s.missing })}</span></li>`)}</ul></details>`}<//>
          <nav class="onpage" aria-label="On this page">${[["roof", "Roof"], ["occupancy", "Occupancy"], ["stalls", "Stalls"], ["access", "Memory accesses"], ["source", "Source"], k.roofline?.points?.length && ["point", "Point"], ["metrics", "All metrics"]].filter(Boolean).map(([a, t]) => html`<button key=${a} class="quiet" onClick=${() => document.getElementById(a)?.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" })}>${t}</button>`)}</nav>
        </aside></div>
      <${Raw} k=${k} cat=${cat} source=${d.session.source} /></div>`;
  }, "Loading the kernel");
}
