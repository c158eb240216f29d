// SPDX-License-Identifier: MIT
// kernels.js: the table of kernels. Sort, filter and paging are the daemon's; columns and range are this page's, all in the URL.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { catalogue, live, useApi } from "../api.js";
import { dims, exact, isPercent, shortName } from "../format.js";
import { RangeChip, keepRange, kernelsIn, range, useRange } from "../range.js";
import { query, setQuery } from "../router.js";
import { Loading, Sampled, Varies, Severity, html } from "../ui.js";
import { Table } from "../table.js";
import { noKernel } from "./overview.js";

const DEFAULT = ["duration", "share", "mean", "launches", "finding", "roof", "achieved_occupancy", "gld_efficiency", "gst_efficiency", "shared_bank_conflicts", "geometry"];
const SERVER = { duration: 1, mean: 1, min: 1, max: 1, launches: 1, name: 1 };

export const bestRoof = (k) => (k.roofline?.points ?? []).reduce((m, p) => (p.percent !== null && p.percent !== undefined && (!m || p.percent > m.percent) ? p : m), null);

export function Kernels({ id }) {
  const cat = catalogue().data;
  const sort = query("sort", "-duration"), filter = query("filter");
  const shown = query("cols") ? query("cols").split(",") : DEFAULT;
  const [typed, setTyped] = useState(filter);
  const [size, setSize] = useState(200);
  const timer = useRef(0);
  useEffect(() => { setTyped(filter); }, [filter]);
  const keys = shown.filter((k) => cat?.metrics.some((m) => m.key === k));
  const path = `/sessions/${id}/kernels?sort=${encodeURIComponent(sort)}&limit=${range() ? 1000 : size}${filter ? "&filter=" + encodeURIComponent(filter) : ""}${keys.length ? "&metrics=" + keys.join(",") : ""}`;
  const state = useApi(path);
  const picked = useRange(id), inTime = useMemo(() => (picked && state.data ? new Map(kernelsIn(state.data.kernels, picked).map((k) => [k.id, k])) : null), [picked, state.data]);
  const total = useApi(`/sessions/${id}/kernels?sort=-duration&limit=1000&metrics=duration`).data;
  const sum = useMemo(() => (total && !total.next ? total.kernels.reduce((t, k) => t + (k.duration?.total ?? 0), 0) : null), [total]);
  const columns = useMemo(() => [
    { key: "name", title: "Kernel", fixed: true, cls: "kname", get: (k) => k.demangled || k.name, render: (k) => html`<span class="mono" title=${k.demangled || k.name}>${shortName(k.demangled || k.name)}</span>${k.sampled ? html` <${Sampled} s=${k.sampled} />` : ""}${k.varies ? html` <${Varies} keys=${k.varies} />` : ""}` },
    ...(inTime ? [{ key: "inrange", title: "In range", label: "Time in the chosen range", hint: "Of a profiled launch the time that its counters say", unit: "s", num: true, bar: true, sort: false, fixed: true, get: (k) => inTime.get(k.id)?.duration.total ?? null }, { key: "launchesin", title: "Launches there", label: "Launches in the chosen range", unit: "1", num: true, sort: false, fixed: true, get: (k) => inTime.get(k.id)?.launches ?? null }] : []),
    { key: "duration", title: "Total", label: "Total time", hint: "All timed launches together", unit: "s", num: true, bar: true, get: (k) => k.duration?.total ?? null },
    // The column is there from the first drawing on, empty until the whole is known: it must not push the others aside.
    ...(total && !sum ? [] : [{ key: "share", title: "Share", label: "Share of kernel time", hint: "Of the time of all kernels of the session", unit: "", num: true, sort: false, get: (k) => (sum ? (k.duration?.total ?? 0) / sum : null) }]),
    { key: "mean", title: "Mean", label: "Mean time a launch", unit: "s", num: true, get: (k) => k.duration?.mean ?? null },
    { key: "min", title: "Min", label: "Shortest launch", unit: "s", num: true, get: (k) => k.duration?.min ?? null },
    { key: "max", title: "Max", label: "Longest launch", unit: "s", num: true, get: (k) => k.duration?.max ?? null },
    { key: "launches", title: "Launches", unit: "1", num: true, get: (k) => k.launches },
    { key: "profiled_launches", title: "Profiled", label: "Profiled launches", unit: "1", num: true, sort: false, get: (k) => k.profiled_launches },
    { key: "geometry", title: "Grid · block", label: "Grid and block", sort: false, get: (k) => `${dims(k.grid)} · ${dims(k.block)}`, render: (k) => html`<span class="num soft">${dims(k.grid)} · ${dims(k.block)}</span>` },
    { key: "regs", title: "Regs", label: "Registers per thread", unit: "1", num: true, sort: false, get: (k) => k.regs_per_thread },
    { key: "roof", title: "Of roof", label: "Share of the roof it is nearest to", unit: "", num: true, bar: 1, sort: false, get: (k) => bestRoof(k)?.percent ?? { value: null, why: k.roofline?.points?.length ? "not-measured" : k.roofline?.why || "no roofline point", needs: k.roofline?.needs } },
    ...(cat?.metrics ?? []).filter((m) => m.key !== "duration").map((m) => ({ key: m.key, title: SHORT[m.key] ?? m.title, label: m.title, hint: m.title === SHORT[m.key] ? m.doc : `${m.title}. ${m.doc}`, unit: m.unit, num: true, bar: isPercent(m.unit) ? 1 : undefined, get: (k) => k.metrics?.[m.key] ?? { value: null, why: "not in this answer" } })),
    { key: "finding", title: "Best finding", label: "Best finding", sort: true, get: (k) => k.findings?.[0]?.rule ?? "", render: (k) => (k.findings?.length ? html`<span class="ftag"><${Severity} brief level=${k.findings[0].severity} gain=${k.findings[0].gain} /><span class="rule">${k.findings[0].rule}</span>${k.findings.length > 1 ? html`<span class="soft">+${k.findings.length - 1}</span>` : ""}</span>` : html`<span class="soft">none</span>`) },
  ], [cat, total, sum, inTime]);
  const order = sort.endsWith("gain") ? sort.replace("gain", "finding") : sort;
  const onSort = (s) => {
    const k = s.replace("-", "");
    setQuery({ sort: k === "finding" ? (sort === "-gain" ? "gain" : "-gain") : s === "-duration" ? null : s });
  };
  const type = (e) => {
    const v = e.target.value;
    setTyped(v);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setQuery({ filter: v.trim() }, { replace: true }), 200);
  };
  const add = (term) => setQuery({ filter: filter.includes(term) ? filter.replace(term, "").replace(/\s+/g, " ").trim() : `${filter} ${term}`.trim() });
  const rows = state.data ? (picked ? state.data.kernels.filter((k) => picked.kernels.has(k.id)) : state.data.kernels) : [];
  return html`<div class="page wide" data-freeze>
    <div class="pagehead"><h1>Kernels</h1>${state.data && html`<p class="note" aria-live="polite">${picked ? `${exact(rows.length)} in the range, ` : ""}${exact(state.data.total)}${filter ? " match" : " signatures: name, grid, block and dynamic shared memory"}</p>`}<${RangeChip} /><span class="grow"></span>
      <span class="presets" role="group" aria-label="Ready filters">${["severity:high", "bound:memory", "bound:compute", "gld_efficiency<0.5", "shared_bank_conflicts>0"].map((t) => html`<button key=${t} class="quiet mono" aria-pressed=${String(filter.split(" ").includes(t))} onClick=${() => add(t)}>${t}</button>`)}</span></div>
    ${state.data === undefined && !state.error ? html`<${Loading} what="Loading kernels" />` : html`
    <section class="panel flush tall"><${Table} columns=${columns} rows=${rows} tools=${html`<input id="search" type="search" class="mono" spellcheck="false" autocomplete="off" placeholder="word   rule:W05   bound:memory   -name:fill   gld_efficiency<0.5" aria-label="Filter kernels" aria-invalid=${String(Boolean(state.error))} value=${typed} onInput=${type} />`} sort=${order} onSort=${onSort} rowKey=${(k) => k.id} rowLink=${(k) => `/sessions/${id}/kernels/${k.id}${keepRange()}`} name=${`session-${id}-kernels`} choose
      shown=${shown} onShown=${(s) => setQuery({ cols: s.join() === DEFAULT.join() ? null : s.join(",") })} caption="Kernels"
      empty=${state.error ? html`<span class="poor" role="alert">${state.error.message}</span> ${state.error.hint}` : filter || picked ? html`No kernel ${picked ? "in this range " : ""}matches. <button class="quiet" onClick=${() => setQuery({ filter: null, t: null })}>Clear filter and range</button>` : noKernel(live.value.includes(id))} /></section>
    ${state.data?.next && html`<p><button onClick=${() => setSize(Math.min(1000, size + 400))} disabled=${size >= 1000}>${size >= 1000 ? "1000 rows are shown: narrow the filter for the rest" : `Show more of ${exact(state.data.total)}`}</button></p>`}`}
  </div>`;
}

export const SHORT = {
  achieved_occupancy: "Occupancy", theoretical_occupancy: "Theor. occ.", gld_efficiency: "Load eff.", gst_efficiency: "Store eff.", gld_sectors_per_request: "Sect/load", gst_sectors_per_request: "Sect/store",
  shared_bank_conflicts: "Bank conflicts", dram_bandwidth: "DRAM rate", intensity_dram: "Intensity", flop_rate: "FLOP rate", sm_throughput: "SM", l1_throughput: "L1", l2_throughput: "L2", dram_throughput: "DRAM",
};
