// SPDX-License-Identifier: MIT
// compare.js: two sessions, kernel by kernel. Every number has baseline, value, change; what lies within the noise is grey.
import { catalogue, useApi } from "../api.js";
import { dims, exact, format, isPercent, kib, percent, shortName } from "../format.js";
import { SIDES, byKernel, impactOf, sideOf } from "../groups.js";
import { query, setQuery } from "../router.js";
import { Code, Mark, Panel, Segment, V, Why, has, html, when, whyText } from "../ui.js";
import { Table } from "../table.js";
import { SHORT } from "./kernels.js";

const METRICS = ["achieved_occupancy", "gld_efficiency", "gst_efficiency", "shared_bank_conflicts", "dram_bandwidth", "flop_rate"];
// What the model gives too: with one side modelled, counts are held against each other, not times.
const COUNTS = ["gld_requests", "gld_sectors", "gst_requests", "gst_sectors", "shared_ld_wavefronts", "shared_st_wavefronts", "local_ld_sectors", "flop_fp32", "flop_fp64"];
const LESS_IS_BETTER = new Set(["shared_bank_conflicts", "duration"]);

const isModelled = (s) => s.source === "modelled";
const NeedsGpu = () => html`<span class="why" title=${whyText({ why: "needs-gpu" })}>needs a GPU</span>`;
/** A value, or in one short phrase why there is none. */
const Cell = ({ v, unit }) => (!has(v) && v?.why === "needs-gpu" ? html`<${NeedsGpu} />` : html`<${V} v=${v} unit=${unit} compact />`);

/** How many counts of these pairs are equal on both sides, differ, or are on one side only; both 0 is no news. */
export function tally(pairs, keys) {
  const n = { equal: 0, differ: 0, one: 0 };
  for (const k of pairs)
    for (const key of keys) {
      const v = k.metrics?.[key];
      if (!v || (!has(v.base) && !has(v.target))) continue;
      if (!has(v.base) || !has(v.target)) n.one += (v.base.value ?? v.target.value) !== 0 ? 1 : 0;
      else if (v.base.value !== v.target.value) n.differ++;
      else n.equal += v.base.value !== 0 ? 1 : 0;
    }
  return n;
}

/** Seconds more (+) or less (−) than in the baseline, over all launches. */
const Impact = ({ v, noise = false }) => (v === null ? html`<span class="why">–</span>` : html`<span class=${"delta num " + (noise || v === 0 ? "noise" : v > 0 ? "up" : "down")} title=${exact(v, "s")}>${v > 0 ? "+" : ""}${format(v, "s")}</span>`);
const Side = ({ side }) => (side === "both" ? html`<span class="soft">both</span>` : html`<span class="chip">${SIDES[side]}</span>`);
/** A launch group: what tells launches of one kernel apart. */
const shapeOf = (k) => `${dims(k.grid)} · ${dims(k.block)}${k.dynamic_smem_bytes ? ` · ${kib(k.dynamic_smem_bytes)}` : ""}`;

/** Relative change as text with a sign and a word; noise: changes below it are not news; neutral: neither good nor bad. */
function Change({ percent: p, noise, less = true, neutral = false }) {
  if (p === null || p === undefined) return html`<span class="why">–</span>`;
  if (neutral) return html`<span class="delta" title=${`${exact(p)} (ratio)`}>${p > 0 ? "+" : ""}${percent(p)}</span>`;
  const quiet = Math.abs(p) <= Math.max(noise ?? 0, 0.005);
  const cls = quiet ? "noise" : p > 0 === less ? "up" : "down";
  return html`<span class=${"delta " + cls} title=${`${exact(p)} (ratio)${noise ? `; noise ±${percent(noise)}` : ""}`}>${p > 0 ? "+" : ""}${percent(p)}${quiet ? html`<span class="sr"> within the noise</span>` : ""}</span>`;
}

export function Compare() {
  const base = query("base"), target = query("target");
  const sessions = useApi("/sessions?limit=1000");
  const oneIsModelled = sessions.data ? [base, target].filter((x) => sessions.data.sessions.some((s) => String(s.id) === x && isModelled(s))).length === 1 : null;
  const keys = query("metrics") ? query("metrics").split(",") : oneIsModelled ? COUNTS : METRICS;
  const state = useApi(base && target && oneIsModelled !== null ? `/compare?base=${encodeURIComponent(base)}&target=${encodeURIComponent(target)}&metrics=${keys.join(",")}` : null);
  const cat = catalogue().data;
  const floor = Number(query("noise", "2")) / 100;
  const only = query("show", "all");
  return when(sessions, (list) => {
    if (list.sessions.length < 2) return html`<div class="state"><h1>Nothing to compare yet</h1><p>Comparing needs two sessions; there ${list.sessions.length === 1 ? "is one" : "are none"}. Change the program and run it again:</p><${Code} text="warpsight run --name after ./your_program" /></div>`;
    const options = (id) => html`<option value="">choose …</option>${list.sessions.map((s) => html`<option key=${s.id} value=${s.id} selected=${String(s.id) === id}>${s.id} · ${s.name || s.exe} · ${s.source}</option>`)}`;
    return html`<div class="page wide"><div class="pagehead"><h1>Compare</h1></div>
      <div class="controls"><label class="pick">Baseline <select value=${base} onChange=${(e) => setQuery({ base: e.target.value })}>${options(base)}</select></label><button class="quiet" title="Swap the two" aria-label="Swap baseline and session" onClick=${() => setQuery({ base: target, target: base })}>⇄</button>
        <label class="pick">Session <select value=${target} onChange=${(e) => setQuery({ target: e.target.value })}>${options(target)}</select></label>
        <label class="pick">Ignore changes under <input type="number" min="0" max="100" step="0.5" value=${query("noise", "2")} onChange=${(e) => setQuery({ noise: e.target.value === "2" ? null : e.target.value })} /> %</label>
        <label class="pick">Show <select value=${only} onChange=${(e) => setQuery({ show: e.target.value === "all" ? null : e.target.value })}><option value="all">all</option><option value="changed">changed</option><option value="base">only in baseline</option><option value="target">only in session</option></select></label>
        <${Segment} label="Rows" value=${query("by", "shape")} onChange=${(v) => setQuery({ by: v === "shape" ? null : v, sort: null })} options=${[["shape", "Launch groups", "One row for each kernel, grid, block and dynamic shared memory"], ["kernel", "Kernels", "All launch groups of a kernel together: also where the shape itself was changed"]]} />
        ${base && target && html`<a class="quiet" href=${`/sessions/${target}/roofline?base=${base}`}>Roofline with arrows</a>`}</div>
      ${!(base && target) ? html`<p class="hint">Choose a baseline and a session.</p>` : when(state, (d) => html`<${Result} d=${d} keys=${keys} cat=${cat} floor=${floor} only=${only} />`, "Comparing")}</div>`;
  }, "Loading sessions");
}

function Result({ d, keys, cat, floor, only }) {
  const pairs = d.kernels.filter((k) => k.base !== null && k.target !== null);
  const noiseOf = (k) => Math.max(floor, k.duration?.noise ?? 0);
  const slower = pairs.filter((k) => k.duration.percent !== null && k.duration.percent > noiseOf(k)).length;
  const timed = pairs.filter((k) => k.duration.percent !== null).length;
  const faster = pairs.filter((k) => k.duration.percent !== null && k.duration.percent < -noiseOf(k)).length;
  const versus = isModelled(d.base) !== isModelled(d.target);
  const counts = versus ? tally(pairs, keys) : null;
  const rows = d.kernels.filter((k) => only === "all" || (only === "base" || only === "target" ? sideOf(k) === only : versus ? k.base !== null && k.target !== null && tally([k], keys).differ > 0 : k.duration?.percent !== null && Math.abs(k.duration?.percent ?? 0) > noiseOf(k)));
  const mixed = [d.base.source, d.target.source].some((s) => s === "modelled" || s === "synthetic") && d.base.source !== d.target.source;
  const columns = [
    { key: "name", title: "Kernel", cls: "kname", get: (k) => k.name, render: (k) => html`<a class="mono" title=${k.name} href=${k.target !== null ? `/sessions/${d.target.id}/kernels/${k.target}` : `/sessions/${d.base.id}/kernels/${k.base}`}>${shortName(k.name)}</a>` },
    { key: "geometry", title: "Grid · block", hint: "And dynamic shared memory, where there is some", get: shapeOf, render: (k) => html`<span class="num soft">${shapeOf(k)}</span>` },
    { key: "side", title: "In", get: (k) => SIDES[sideOf(k)], render: (k) => html`<${Side} side=${sideOf(k)} />` },
    ...(versus ? [] : [{ key: "impact", title: "Impact", unit: "s", hint: "Time of all launches together, more or less than in the baseline", num: true, bar: true, get: (k) => (impactOf(k) === null ? null : Math.abs(impactOf(k))), render: (k) => html`<${Impact} v=${impactOf(k)} noise=${sideOf(k) === "both" && Math.abs(k.duration?.percent ?? 0) <= noiseOf(k)} />` }]),
    { key: "base", title: "Baseline", unit: "s", hint: "Median time a launch", num: true, get: (k) => k.duration?.base ?? { value: null, why: k.base === null ? "not in baseline" : isModelled(d.base) ? "needs-gpu" : "no time" }, render: isModelled(d.base) ? (k) => (k.base === null ? html`<span class="why">not in baseline</span>` : html`<${NeedsGpu} />`) : undefined },
    { key: "target", title: "Session", unit: "s", hint: "Median time a launch", num: true, get: (k) => k.duration?.target ?? { value: null, why: k.target === null ? "not in session" : isModelled(d.target) ? "needs-gpu" : "no time" }, render: isModelled(d.target) ? (k) => (k.target === null ? html`<span class="why">not in session</span>` : html`<${NeedsGpu} />`) : undefined },
    ...(versus ? [] : [{ key: "delta", title: "Difference", unit: "s", num: true, get: (k) => k.duration?.delta ?? null, render: (k) => (k.duration?.delta === null || k.duration?.delta === undefined ? html`<span class="why">–</span>` : html`<${V} v=${k.duration.delta} unit="s" />`) },
    { key: "percent", title: "Change", unit: "", num: true, get: (k) => k.duration?.percent ?? null, render: (k) => html`<${Change} percent=${k.duration?.percent} noise=${noiseOf(k)} />` },
    { key: "noise", title: "Noise", unit: "", hint: "99 % interval of the difference of the medians; with two to four launches half of both ranges", num: true, get: (k) => k.duration?.noise ?? { value: null, why: "one launch" } }]),
    ...keys.map((key) => { const m = cat?.metrics.find((x) => x.key === key); return { key, title: SHORT[key] ?? m?.title ?? key, label: m?.title, hint: m ? `${m.title}. ${m.doc}` : null, num: true, sort: true, get: (k) => k.metrics?.[key]?.percent ?? k.metrics?.[key]?.delta ?? null, render: (k) => {
      const v = k.metrics?.[key];
      if (k.base === null || k.target === null) { const w = v && (k.base === null ? v.target : v.base); return w ? html`<${V} v=${w} unit=${m?.unit} compact />` : html`<span class="why">–</span>`; }
      if (!v || (!has(v.base) && !has(v.target))) return v ? html`<${Why} v=${v.target} />` : html`<span class="why">–</span>`;
      if (versus) return has(v.base) && has(v.target) && v.base.value === v.target.value
        ? html`<span class="pair"><${V} v=${v.base} unit=${m?.unit} compact /><span class="soft"> = </span><${V} v=${v.target} unit=${m?.unit} compact /></span>`
        : html`<span class="pair"><${Cell} v=${v.base} unit=${m?.unit} /><span class="soft">${has(v.base) && has(v.target) ? " ≠ " : " · "}</span><${Cell} v=${v.target} unit=${m?.unit} />${has(v.base) && has(v.target) ? html` <${Change} percent=${v.percent} neutral />` : ""}</span>`;
      if (has(v.base) && has(v.target) && v.base.value === v.target.value) return html`<span class="soft"><${V} v=${v.target} unit=${m?.unit} compact /></span>`;
      return html`<span class="pair"><${V} v=${v.base} unit=${m?.unit} compact /><span class="soft"> → </span><${V} v=${v.target} unit=${m?.unit} compact />${v.percent !== null && v.percent !== undefined && Math.abs(v.percent) > floor ? html` <${Change} percent=${v.percent} noise=${floor} less=${LESS_IS_BETTER.has(key) || !isPercent(m?.unit) && !/rate|bandwidth/.test(key)} />` : ""}</span>`;
    } }; }),
    { key: "findings", title: "Findings", sort: false, get: (k) => [...(k.findings?.gone ?? []).map((r) => "-" + r), ...(k.findings?.appeared ?? []).map((r) => "+" + r)].join(" "), render: (k) => (k.base === null || k.target === null) ? html`<span class="why">one side only</span>` : html`${(k.findings?.gone ?? []).map((r) => html`<span key=${r} class="rule fine" title="gone">− ${r} </span>`)}${(k.findings?.appeared ?? []).map((r) => html`<span key=${r} class="rule poor" title="new">+ ${r} </span>`)}${k.findings?.not_judged?.length ? html`<span class="why" title=${`Fired on one side; the other lacks the values to say: ${k.findings.not_judged.join(", ")}`}>${k.findings.not_judged.length} not judged on both</span>` : ""}` },
  ];
  const kernels = byKernel(d.kernels), reshaped = kernels.filter((g) => g.reshaped);
  // What is on one side only has no change to show, and its findings are no news.
  const side = (t, s) => html`<div><dt>${t}</dt><dd><a href=${`/sessions/${s.id}`}>${s.name || s.exe}</a> <${Mark} source=${s.source} /></dd></div>`;
  return html`<${Panel}><dl class="facts">${side("Baseline", d.base)}${side("Session", d.target)}<div><dt>Launch groups on both sides</dt><dd>${exact(pairs.length)}</dd></div>${versus ? html`<div><dt>Counts equal</dt><dd class="fine">${exact(counts.equal)}</dd></div><div><dt>Counts that differ</dt><dd>${exact(counts.differ)}</dd></div><div><dt>Only a GPU tells</dt><dd>${exact(counts.one)}</dd></div>` : html`<div><dt>Faster</dt><dd class="fine">${exact(faster)}</dd></div><div><dt>Slower</dt><dd class=${slower ? "poor" : ""}>${exact(slower)}</dd></div><div><dt>Within noise</dt><dd>${exact(timed - faster - slower)}</dd></div>${timed < pairs.length && html`<div><dt>Without times</dt><dd>${exact(pairs.length - timed)}</dd></div>`}`}${["base", "target"].map((s) => html`<div key=${s}><dt>${SIDES[s].replace("only", "Only")}</dt><dd>${exact(d.kernels.filter((k) => sideOf(k) === s).length)}</dd></div>`)}${!versus && html`<div><dt>All kernels, all launches</dt><dd><${Impact} v=${d.kernels.reduce((t, k) => t + (impactOf(k) ?? 0), 0)} /></dd></div>`}</dl>
    ${versus ? html`<p class="hint">One side is ${d.base.source}, the other ${d.target.source}: counts are held against each other, and where they are equal (=) the model can be trusted. Times, stalls, caches and DRAM need a GPU.</p>` : mixed && html`<p class="hint">One side is ${d.base.source}, the other ${d.target.source}: counts may be compared, times may not.</p>`}
    ${pairs.length === 0 && html`<p class="hint">The two sessions have no kernel in common: a pair has the same name, grid, block and dynamic shared memory. Compare two runs of the same program.</p>`}<//>
    ${reshaped.length > 0 && query("by") !== "kernel" && html`<p class="hint">${reshaped.length === 1 ? html`<code>${shortName(reshaped[0].name)}</code> was launched on both sides, but never in the same shape` : `${exact(reshaped.length)} kernels were launched on both sides, but never in the same shape`}: <button class="quiet" onClick=${() => setQuery({ by: "kernel", sort: null })}>together, by kernel</button></p>`}
    ${query("by") === "kernel" ? html`<${KernelTable} d=${d} list=${kernels.filter((g) => only === "all" || (only === "changed" ? Math.abs(g.percent ?? 0) > floor : g.side === only))} />` : html`
    <section class="panel flush tall"><${Table} columns=${columns} sortKey="sort" sort=${versus ? "" : "-impact"} rows=${rows} rowKey=${(k) => `${k.base}-${k.target}`} name=${`compare-${d.base.id}-${d.target.id}`} caption="Launch groups of both sessions" empty="No kernel in this view." /></section>`}`;
}

/** One row a kernel, its launch groups added up; where their number or shape changed this is the honest comparison. */
function KernelTable({ d, list }) {
  const count = (g, side) => g.groups.filter((k) => k[side] !== null).length;
  const time = (key, title) => ({ key, title, unit: "s", num: true, hint: "All launches of all its groups", get: (g) => g[key] ?? { value: null, why: g.side !== "both" && g.side !== key ? `not in ${key === "base" ? "baseline" : "session"}` : "no time" } });
  const columns = [
    { key: "name", title: "Kernel", cls: "kname", get: (g) => g.name, render: (g) => html`<a class="mono" title=${g.demangled} href=${g.side === "base" ? `/sessions/${d.base.id}/kernels?filter=${encodeURIComponent("name:" + g.name.replace(/\s+/g, ""))}` : `/sessions/${d.target.id}/kernels?filter=${encodeURIComponent("name:" + g.name.replace(/\s+/g, ""))}`}>${shortName(g.name)}</a>` },
    { key: "groups", title: "Launch groups", num: true, hint: "Different grids, blocks or dynamic shared memory: baseline, session, and how many are the same", get: (g) => g.groups.length, render: (g) => html`<span class="num" title=${g.groups.map((k) => `${shapeOf(k)}: ${SIDES[sideOf(k)]}`).join("\n")}>${count(g, "base")}, ${count(g, "target")} <i>(${g.matched} the same)</i></span>` },
    { key: "side", title: "In", get: (g) => SIDES[g.side], render: (g) => html`<${Side} side=${g.side} />${g.reshaped ? html` <span class="soft">other shapes</span>` : ""}` },
    { key: "impact", title: "Impact", unit: "s", num: true, bar: true, get: (g) => (g.impact === null ? null : Math.abs(g.impact)), render: (g) => html`<${Impact} v=${g.impact} />` },
    time("base", "Baseline"), time("target", "Session"),
    { key: "percent", title: "Change", unit: "", num: true, get: (g) => g.percent, render: (g) => html`<${Change} percent=${g.side === "both" ? g.percent : null} />` },
  ];
  return html`<section class="panel flush tall"><${Table} columns=${columns} sortKey="sort" sort="-impact" rows=${list} rowKey=${(g) => g.demangled} name=${`compare-${d.base.id}-${d.target.id}-kernels`} caption="Kernels of both sessions" empty="No kernel in this view." /></section>`;
}
