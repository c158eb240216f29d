// SPDX-License-Identifier: MIT
// timeline.js: what ran when. The view (v=from-to) and the selection (t=from-to, also a filter of the other pages) are in the URL.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getBytes, getJson, revision, useApi } from "../api.js";
import { bill, decode, inRange, laneRanges } from "../charts/timeline-data.js";
import { COPY, draw, drawMinimap, heightOf, labelOf, laneName, pick, pickExtra, pickHold, timelineColors } from "../charts/timeline-view.js";
import { exact, format, nanoseconds, shortName } from "../format.js";
import { csv, save } from "../export.js";
import { query, setQuery } from "../router.js";
import { Failure, Loading, Mark, Panel, V, html, noTip, rows, tipAt, useWidth, when, whyText } from "../ui.js";
import { Table } from "../table.js";
import { theme } from "../theme.js";
import { RangeChip, range, useHolds } from "../range.js";

const isDark = () => getComputedStyle(document.documentElement).colorScheme.includes("dark");
const SCALES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
/** Axis label: all of one view in one unit, with as many decimals as the step needs. */
function axisFormat(span) {
  const [f, u] = SCALES.find(([f]) => span >= f * 0.8) ?? SCALES[3];
  const places = Math.max(0, Math.min(6, Math.ceil(-Math.log10(span / f / 12))));
  return (t) => `${(t / f).toFixed(places)}\u202f${u}`;
}

export function Timeline({ id }) {
  const meta = useApi(`/sessions/${id}/timeline`);
  const info = useApi(`/sessions/${id}`);
  return when(meta, (m) => {
    if (!m.events) return html`<div class="state"><h1>Nothing on the timeline</h1><p>This session has no timed activity. The model has no clock; and when every launch was replayed for counters, none has a time of its own.</p><p>Trace without counters to see one: <code>warpsight run --set trace ./your_program</code></p></div>`;
    return html`<${View} id=${id} m=${m} session=${info.data?.session} />`;
  }, "Loading the timeline");
}

/** When profiling held the program, and which launches have no place on the timeline: what the bill leaves out, said here. */
function Held({ m, session, holds, names, id }) {
  const seen = m.lanes.filter((l) => l.kind === "kernel").reduce((n, l) => n + l.events, 0), missing = (session?.launches ?? 0) - seen;
  if (!holds?.launches && !holds?.uncollected_ns && !(missing > 0)) return null;
  const every = holds?.start.map((s, i) => ({ i, start: s, takes: holds.end[i] - s, kernel: holds.kernel[i], n: holds.merged[i] })) ?? [];
  const list = every.filter((h) => h.kernel > 0), off = every.filter((h) => h.kernel === 0);
  return html`<div class="hint">${holds?.uncollected_ns > 0 && html`<p><i class="key held"></i>Not collected for <b>${nanoseconds(holds.uncollected_ns)}</b>${off.length ? `: ${off.slice(0, 4).map((h) => `from ${format(h.start, "ns")} to ${format(h.start + h.takes, "ns")}`).join(", ")}${off.length > 4 ? ` and ${exact(off.length - 4)} more` : ""}. Hatched here, and neither busy nor idle in any bill.` : ", not within the time that is shown here."}</p>`}${holds?.launches > 0 && html`<p><i class="key held"></i>Profiling held the program for <b>${nanoseconds(holds.total_ns)}</b> in ${exact(holds.launches)} launches: ${list.length ? "hatched here, where times are as they were," : "not within the time that is shown here,"} and left out of the bill under <a href=${`/sessions/${id}`}>Overview</a>.${holds.unplaced > 0 ? ` Of ${exact(holds.unplaced)} nobody knows when: an older collector recorded them.` : ""}</p>`}
    ${missing > 0 && html`<p>${exact(missing)} of ${exact(session.launches)} launches were replayed for counters and have no time of their own${holds?.launches > holds?.unplaced ? ": they stand where the hatching is" : ""}. Everything in its place: <code>warpsight run --set trace ./your_program</code></p>`}
    ${list.length > 0 && html`<details class="twin"><summary>Profiling as a table</summary><${Table} caption="When profiling held the program" name=${`session-${id}-profiling`} rows=${list} rowKey=${(h) => h.i} columns=${[{ key: "kernel", title: "Kernel", cls: "kname", get: (h) => names.get(h.kernel) ?? String(h.kernel), render: (h) => html`<a class="mono" href=${`/sessions/${id}/kernels/${h.kernel}`}>${names.get(h.kernel) ?? h.kernel}</a>` }, { key: "n", title: "Launches", num: true, unit: "1", get: (h) => h.n }, { key: "start", title: "Start", num: true, unit: "ns", get: (h) => h.start }, { key: "takes", title: "Held for", num: true, unit: "ns", bar: true, get: (h) => h.takes }]} /></details>`}</div>`;
}

/** What ran in a sample, the longest first. */
const ranIn = (data, lanes, a, b, names) => [...inRange(data, lanes, a, b).kernels].sort((x, y) => y[1].busy - x[1].busy).slice(0, 3).map(([k]) => names.get(k) ?? k);

function extraTip({ row, i }, names, data, lanes) {
  const { l, s } = row;
  if (row.type === "sample") {
    const ran = ranIn(data, lanes, s.start[i], s.end[i], names), { m } = row;
    return html`<strong>${m.title}, GPU ${s.device}</strong>${rows([["Mean", m.mean[i] === null ? "no value" : format(m.mean[i], m.unit)], m.max[i] > m.min[i] && ["Least, greatest", `${format(m.min[i], m.unit)}, ${format(m.max[i], m.unit)}`], ...s.metrics.filter((x) => x !== m && x.mean[i] !== null).map((x) => [x.title, format(x.mean[i], x.unit)]), ["From, for", `${format(s.start[i], "ns")}, ${format(s.end[i] - s.start[i], "ns")}`], ["Ran then", ran.length ? ran.join(", ") : "no kernel"]])}`;
  }
  if (row.type === "memory") return html`<strong>${row.label}, GPU ${s.device}</strong>${rows([["Allocated", format(i < 0 ? s.before : s.last[i], "B")], ["Peak of the session", format(s.peak, "B")], ["Allocations, releases", `${exact(s.allocations)}, ${exact(s.releases)}`], s.end > 0 && ["At the end", format(s.end, "B")]])}`;
  if (row.type === "wait") return html`<strong>${row.label}</strong>${rows([["Start", format(l.start[i], "ns")], ["Takes", format(l.end[i] - l.start[i], "ns")], l.event[i] > 0 && ["Event", exact(l.event[i])], l.merged[i] > 1 && ["Waits", `${exact(l.merged[i])} together`]])}`;
  return html`<strong class="mono">${names.get(l.kernel[i]) ?? row.label}</strong>${rows([["Stood in the queue", format(l.longest[i], "ns")], ["Started", format(l.start[i], "ns")], l.merged[i] > 1 && ["Launches", `${exact(l.merged[i])} together; the longest names it`]])}`;
}

const EXTRAS = ["memory", "waits", "queue", "samples"], HOST = EXTRAS.slice(0, 3);
/** Samples are nine metrics with three numbers each: fewer cells of them do. */
const cells = (k) => (k === "samples" ? 1000 : 4096);

/** What the host did, for the rows below the lanes: the whole run once, and what a view shows of it when there is much. */
function useExtra(id, view, whole, rev) {
  const [all, setAll] = useState({}), [part, setPart] = useState(null);
  const ask = (range, signal) => Promise.all(EXTRAS.map((k) => getJson(`/sessions/${id}/timeline/${k}?px=${cells(k)}${range}`, signal).then((a) => [k, a]).catch(() => [k, null]))).then(Object.fromEntries);
  useEffect(() => { let gone = false; ask("").then((a) => { if (!gone) { setAll(a); setPart(null); } }); return () => { gone = true; }; }, [id, rev]);
  const many = (all.memory?.records ?? 0) + (all.waits?.records ?? 0) + (all.queue?.launches ?? 0) > 4000 || (all.samples?.series ?? []).some((s) => s.seen > s.start.length), span = view[1] - view[0];
  useEffect(() => {
    if (!many) return undefined;
    let gone = false;
    const t = setTimeout(() => { if (span > (whole[1] - whole[0]) * 0.9) setPart(null); else ask(`&from=${Math.max(0, Math.floor(view[0] - span))}&to=${Math.ceil(view[1] + span)}`).then((a) => { if (!gone) setPart(a); }); }, 160);
    return () => { gone = true; clearTimeout(t); };
  }, [many, view[0], view[1]]);
  return part ?? all;
}

/** The rows below the lanes as tables: waits, bytes, the queue delays of each kernel; one line for what was not recorded. */
function Queue({ id, extra }) {
  const list = extra.queue?.kernels ?? [];
  const none = HOST.every((k) => extra[k]?.why);
  if (none) return html`<p class="caption">Allocated bytes, waits and queue delays: ${whyText({ why: extra.queue.why })}. <code>warpsight run --set trace,api ./your_program</code> records them.</p>`;
  const ns = (key, title, hint) => ({ key, title, hint, num: true, unit: "ns", bar: key === "delay_mean" ? true : undefined, get: (k) => k[key] });
  const kinds = new Map((extra.waits?.kinds ?? []).map((k) => [k.kind, k]));
  return html`${(extra.waits?.lanes.length > 0 || extra.memory?.series.length > 0) && html`<div class="pair2">
    ${extra.waits?.lanes.length > 0 && html`<${Panel} title="Waits"><table class="plain"><caption class="sr">Waits</caption><thead><tr><th scope="col">Who waits for what</th><th scope="col" class="r">Stream</th><th scope="col" class="r">Waits</th><th scope="col" class="r">Time</th></tr></thead><tbody>${extra.waits.lanes.map((l) => html`<tr key=${l.kind + l.process + l.context + l.stream}><td>${kinds.get(l.kind)?.title ?? l.kind}</td><td class="r num">${l.stream ?? "–"}</td><td class="r"><${V} v=${l.events} unit="1" /></td><td class="r"><${V} v=${l.busy_ns} unit="ns" /></td></tr>`)}</tbody></table><//>`}
    ${extra.memory?.series.length > 0 && html`<${Panel} title="Allocated bytes" note=${extra.memory.left_out ? `${exact(extra.memory.left_out)} records left out` : ""}><table class="plain"><caption class="sr">Allocated bytes</caption><thead><tr><th scope="col">Memory</th><th scope="col" class="r">Allocations</th><th scope="col" class="r">Releases</th><th scope="col" class="r">Peak</th><th scope="col" class="r">At the end</th></tr></thead><tbody>${extra.memory.series.map((x) => html`<tr key=${x.process + "/" + x.device + x.kind}><td>${x.kind}, GPU ${x.device}</td><td class="r"><${V} v=${x.allocations} unit="1" /></td><td class="r"><${V} v=${x.releases} unit="1" /></td><td class="r"><${V} v=${x.peak} unit="B" /></td><td class="r"><${V} v=${x.end} unit="B" /></td></tr>`)}</tbody></table><//>`}</div>`}
  ${list.length > 0 && html`<section class="panel flush" aria-label="Queue delays"><header><h2>Queue delay</h2><p class="note">from the return of the launch call to the start of the kernel${extra.queue.one_in > 1 ? `; one launch in ${exact(extra.queue.one_in)}` : ""}, ${exact(extra.queue.joined)} of ${exact(extra.queue.launches)} launches have their call</p></header>
    <${Table} caption="Queue delays by kernel" name=${`session-${id}-queue`} rows=${list} rowKey=${(k) => k.kernel} rowLink=${(k) => `/sessions/${id}/kernels/${k.kernel}`} sort="-delay_mean" columns=${[{ key: "name", title: "Kernel", cls: "kname", get: (k) => k.name, render: (k) => html`<span class="mono" title=${k.demangled}>${k.name}</span>` }, { key: "launches", title: "Launches", num: true, unit: "1", get: (k) => k.launches }, ns("delay_mean", "Mean delay"), ns("delay_min", "Shortest", "Negative: it began before the call returned"), ns("delay_max", "Longest"), ns("call_mean", "Launch call"), ns("run_mean", "Runs")]} /></section>`}`;
}

/** The samples in all as tables: of each GPU, and of the kernels long enough to hold whole samples. */
function Samples({ id, samples, names }) {
  const has = samples?.series.length > 0, sum = useApi(has ? `/sessions/${id}/samples` : null);
  if (!has || !sum.data) return null;
  const unitOf = (s, key) => s.metrics.find((m) => m.key === key)?.unit ?? "1";
  return html`<section class="panel" aria-label="Samples over time"><header><h2>Samples over time</h2><p class="note">of the whole GPU, whatever ran on it; not counters of a kernel</p></header>
    ${sum.data.series.map((s, i) => html`<div key=${i} class="scroll" tabindex="0" role="region" aria-label=${`Samples of GPU ${s.device}`}><table class="plain"><caption>GPU ${s.device}: ${exact(s.samples)} samples, one each ${nanoseconds(s.interval_ns)}${s.by_timer ? "" : " (an estimate)"}${s.joined ? `; kernels ran in ${exact(s.busy_samples)} of them` : "; too many launches to say in which of them kernels ran"}${s.covered < 0.98 ? `; they cover ${Math.round(s.covered * 100)} % of the time` : ""}</caption><thead><tr><th scope="col">Metric</th><th scope="col" class="r">Mean while kernels ran</th><th scope="col" class="r">Least</th><th scope="col" class="r">Greatest</th><th scope="col" class="r">Mean of all</th></tr></thead><tbody>${s.metrics.map((m) => html`<tr key=${m.key}><td>${m.title}</td>${[m.busy?.mean, m.busy?.min, m.busy?.max, m.all?.mean].map((v, k) => html`<td key=${k} class="r">${v === undefined || v === null ? "–" : html`<${V} v=${v} unit=${m.unit} />`}</td>`)}</tr>`)}</tbody></table>
      ${sum.data.kernels.some((k) => k.series === i) && html`<table class="plain"><caption>Means while only that kernel ran</caption><thead><tr><th scope="col">Kernel</th><th scope="col" class="r">Samples</th>${s.metrics.map((m) => html`<th key=${m.key} scope="col" class="r">${m.title}</th>`)}</tr></thead><tbody>${sum.data.kernels.filter((k) => k.series === i).slice(0, 20).map((k) => html`<tr key=${k.kernel}><td><a class="mono clip" href=${`/sessions/${id}/kernels/${k.kernel}`}>${names.get(k.kernel) ?? k.kernel}</a></td><td class="r num">${exact(k.samples)}</td>${s.metrics.map((m) => html`<td key=${m.key} class="r">${k.mean[m.key] === null ? "–" : html`<${V} v=${k.mean[m.key]} unit=${unitOf(s, m.key)} />`}</td>`)}</tr>`)}</tbody></table>`}</div>`)}</section>`;
}

function View({ id, m, session }) {
  const source = session?.source;
  const whole = useMemo(() => [m.from, Math.max(m.to, m.from + 1)], [m.from, m.to]);
  const fromUrl = () => { const x = /^([\d.]+)-([\d.]+)$/.exec(query("v")); return x && Number(x[2]) > Number(x[1]) ? [Number(x[1]), Number(x[2])] : whole; };
  const [view, setView] = useState(fromUrl);
  const [data, setData] = useState(null);
  const [full, setFull] = useState(null);
  const [error, setError] = useState(null);
  const [hover, setHover] = useState(-1);
  const [chosen, setChosen] = useState(-1);
  const [drag, setDrag] = useState(null);
  const extra = useExtra(id, view, whole, revision.value);
  const holds = useHolds(id);
  const height = heightOf(m.lanes, extra);
  const [box, width] = useWidth(1200);
  const LABEL = labelOf(width);
  const canvas = useRef(null), mini = useRef(null), state = useRef({});
  const rev = revision.value, mode = theme.value;
  const sel = drag?.sel ?? range();
  const names = useMemo(() => new Map(m.kernels.map((k) => [k.id, shortName(k.name)])), [m.kernels]);
  // The whole run once at 4096 pixels; what the view needs in more detail is fetched when it rests.
  useEffect(() => { let gone = false; getBytes(`/sessions/${id}/timeline/data?px=4096`).then((b) => { if (!gone) { const d = decode(b); setFull(d); setData((old) => old ?? d); } }).catch((e) => { if (!gone) setError(e); }); return () => { gone = true; }; }, [id, rev]);
  useEffect(() => {
    if (!full) return undefined;
    if (!full.merged) { setData(full); return undefined; }
    const abort = new AbortController();
    const t = setTimeout(() => {
      const span = view[1] - view[0];
      if (span > (whole[1] - whole[0]) * 0.9) { setData(full); return; }
      const a = Math.max(whole[0], Math.floor(view[0] - span)), b = Math.min(whole[1], Math.ceil(view[1] + span));
      const px = Math.min(8192, Math.round((width * (b - a)) / span));
      getBytes(`/sessions/${id}/timeline/data?from=${a}&to=${b}&px=${px}`, abort.signal).then((x) => { setChosen(-1); setData(decode(x)); }).catch(() => { /* the coarser data stay */ });
    }, 120);
    return () => { clearTimeout(t); abort.abort(); };
  }, [full, view[0], view[1], width]);
  useEffect(() => { const t = setTimeout(() => { const v = view[0] === whole[0] && view[1] === whole[1] ? null : `${Math.floor(view[0])}-${Math.ceil(view[1])}`; if ((query("v") || null) !== v) setQuery({ v }, { replace: true }); }, 250); return () => clearTimeout(t); }, [view[0], view[1]]);
  useEffect(() => {
    if (!data || width < 10) return undefined;
    const r = requestAnimationFrame(() => {
      const colors = timelineColors();
      draw(canvas.current, { data, lanes: m.lanes, names, view, selection: sel, chosen, hover, colors, dark: isDark(), tick: axisFormat(view[1] - view[0]), width, height, extra, holds });
      if (full) drawMinimap(mini.current, { data: full, lanes: m.lanes, whole, view, selection: sel, colors, width, height: 44, holds });
    });
    return () => cancelAnimationFrame(r);
  });
  const clamp = ([a, b]) => {
    const span = Math.min(whole[1] - whole[0], Math.max(50, b - a));
    const start = Math.max(whole[0], Math.min(a, whole[1] - span));
    return [start, start + span];
  };
  const zoom = (f, at = 0.5) => setView((v) => { const c = v[0] + (v[1] - v[0]) * at; return clamp([c - (c - v[0]) * f, c + (v[1] - c) * f]); });
  const pan = (f) => setView((v) => clamp([v[0] + (v[1] - v[0]) * f, v[1] + (v[1] - v[0]) * f]));
  state.current = { zoom, pan, view, data, chosen, sel };
  const step = (by) => {
    const { data: d, chosen: c } = state.current;
    if (!d) return;
    const i = c < 0 ? pickFirst(d, state.current.view) : c + by;
    if (i < 0 || i >= d.n || (c >= 0 && d.lane[i] !== d.lane[c])) return;
    setChosen(i);
    setView((v) => { const mid = d.start[i] + d.duration[i] / 2; return mid < v[0] || mid > v[1] ? clamp([mid - (v[1] - v[0]) / 2, mid + (v[1] - v[0]) / 2]) : v; });
  };
  useEffect(() => {
    const on = (e) => {
      if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT|BUTTON|A)$/.test(e.target.tagName) || e.target.closest?.(".scroll, dialog")) return;
      const s = state.current;
      const act = {
        w: () => s.zoom(0.7), s: () => s.zoom(1 / 0.7), a: () => s.pan(-0.25), d: () => s.pan(0.25), ArrowLeft: () => s.pan(-0.25), ArrowRight: () => s.pan(0.25),
        0: () => setView(whole), ".": () => step(1), ",": () => step(-1), Escape: () => { setChosen(-1); if (s.sel) setQuery({ t: null }); },
        f: () => { const goal = s.sel ?? (s.chosen >= 0 ? [s.data.start[s.chosen], s.data.start[s.chosen] + s.data.duration[s.chosen]] : whole); const pad = (goal[1] - goal[0]) * 0.05; const want = clamp([goal[0] - pad, goal[1] + pad]); setView(Math.abs(want[0] - s.view[0]) + Math.abs(want[1] - s.view[1]) < 2 ? whole : want); },
      }[e.key];
      if (act) { e.preventDefault(); act(); }
    };
    addEventListener("keydown", on);
    return () => removeEventListener("keydown", on);
  }, [whole]);
  const time = (e) => view[0] + ((Math.max(LABEL, e.offsetX) - LABEL) / (width - LABEL)) * (view[1] - view[0]);
  const wheel = (e) => {
    e.preventDefault();
    if (e.ctrlKey || e.metaKey) zoom(Math.exp(e.deltaY * 0.002), Math.max(0, Math.min(1, (e.offsetX - LABEL) / (width - LABEL))));
    else if (Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey) pan(((e.deltaX || e.deltaY) / width) * 1.2);
    else pan((e.deltaY / width) * 1.2);
  };
  useEffect(() => { const el = canvas.current; el?.addEventListener("wheel", wheel, { passive: false }); return () => el?.removeEventListener("wheel", wheel); });
  const describe = (i) => {
    const l = m.lanes.find((x) => x.lane === data.lane[i]);
    const many = data.count[i] > 1;
    const what = l.kind === "kernel" ? names.get(data.item[i]) ?? `kernel ${data.item[i]}` : `${COPY[data.item[i]] ?? "fill"}`;
    return { l, many, what };
  };
  const move = (e) => {
    if (drag) {
      if (drag.pan) { setView(clamp([drag.view[0] - ((e.offsetX - drag.x) / (width - LABEL)) * (drag.view[1] - drag.view[0]), drag.view[1] - ((e.offsetX - drag.x) / (width - LABEL)) * (drag.view[1] - drag.view[0])])); return; }
      const t = time(e);
      if (Math.abs(e.offsetX - drag.x) > 3 || drag.sel) setDrag({ ...drag, sel: [Math.min(drag.t, t), Math.max(drag.t, t)] });
      return;
    }
    if (!data) return;
    const h = pickHold(holds, view, width, e.offsetX, e.offsetY);
    if (h >= 0) { tipAt(e, holds.kernel[h] === 0 ? html`<strong>Not collected</strong>${rows([["From", format(holds.start[h], "ns")], ["For", format(holds.end[h] - holds.start[h], "ns")]])}` : html`<strong>Profiling held the program</strong>${rows([["Kernel", names.get(holds.kernel[h]) ?? holds.kernel[h]], holds.merged[h] > 1 && ["Launches", `${exact(holds.merged[h])} together; the longest names it`], ["Start", format(holds.start[h], "ns")], ["Takes", format(holds.end[h] - holds.start[h], "ns")]])}`); return; }
    const i = pick(data, m.lanes, view, width, e.offsetX, e.offsetY);
    setHover(i);
    const e2 = i < 0 ? pickExtra(m.lanes, extra, view, width, e.offsetX, e.offsetY) : null;
    if (e2) { tipAt(e, extraTip(e2, names, data, m.lanes)); return; }
    if (i < 0) { noTip(); return; }
    const { l, many, what } = describe(i);
    tipAt(e, html`<strong class="mono">${what}</strong>${rows([["Lane", laneName(l)], ["Start", format(data.start[i], "ns")], ["Takes", format(data.duration[i], "ns")], many && ["Events", `${exact(data.count[i])} together; the longest names it`], many && ["Busy", format(data.busy[i] / data.duration[i], "")]])}`);
  };
  const down = (e) => { if (e.button) return; e.target.setPointerCapture(e.pointerId); noTip(); setDrag({ x: e.offsetX, t: time(e), pan: e.shiftKey, view }); };
  const up = (e) => {
    if (!drag) return;
    if (drag.sel && drag.sel[1] > drag.sel[0]) setQuery({ t: `${Math.max(0, Math.floor(drag.sel[0]))}-${Math.ceil(drag.sel[1])}` });
    else if (!drag.pan && data) setChosen(pick(data, m.lanes, view, width, e.offsetX, e.offsetY));
    setDrag(null);
  };
  const miniMove = (e) => { if (e.buttons !== 1) return; const c = whole[0] + (e.offsetX / width) * (whole[1] - whole[0]), s = view[1] - view[0]; setView(clamp([c - s / 2, c + s / 2])); };
  const inside = useMemo(() => (data && sel ? inRange(data, m.lanes, sel[0], sel[1]) : null), [data, sel?.[0], sel?.[1]]);
  const total = useMemo(() => (full ? bill(full, m.lanes, holds) : null), [full, holds]);
  if (error) return html`<${Failure} error=${error} />`;
  const one = chosen >= 0 && data && chosen < data.n ? chosen : -1;
  const twin = m.lanes.map((l) => ({ ...l, name: laneName(l) }));
  return html`<div class="page wide" data-freeze>
    <div class="pagehead"><h1>Timeline</h1>${source && html`<${Mark} source=${source} />`}<p class="note">${exact(m.events)} events in ${nanoseconds(whole[1] - whole[0])}; shown ${nanoseconds(view[1] - view[0])}${data?.merged ? ", short events merged" : ""}</p><${RangeChip} /><span class="grow"></span>
      <span class="tools"><button class="quiet" title="Zoom in (W)" onClick=${() => zoom(0.6)}>+<span class="sr">zoom in</span></button><button class="quiet" title="Zoom out (S)" onClick=${() => zoom(1 / 0.6)}>−<span class="sr">zoom out</span></button><button class="quiet" title="Whole run (0)" onClick=${() => setView(whole)}>Whole run</button>
      <button class="quiet" title="Save what is drawn" onClick=${() => canvas.current.toBlob((b) => save(`session-${id}-timeline.png`, "image/png", b))}>PNG</button><a class="quiet" href=${`/api/v1/sessions/${id}/export?format=chrome-trace`} download title="Chrome trace: opens in Perfetto">Trace</a></span></div>
    <${Held} m=${m} session=${session} holds=${holds} names=${names} id=${id} />
    <section class="panel" aria-label="Timeline">
      <div class="tlbox minimap"><canvas ref=${mini} height="44" role="img" aria-label="Minimap: the whole run" onPointerDown=${miniMove} onPointerMove=${miniMove}></canvas></div>
      <div class="tlbox" ref=${box}>${!data && html`<${Loading} what="Loading events" />`}<canvas ref=${canvas} tabindex="0" height=${height} role="img" aria-label=${`Timeline of ${m.lanes.length} lanes. W and S zoom, A and D pan, comma and full stop step from event to event. The tables below hold the numbers.`}
        onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerLeave=${() => { setHover(-1); noTip(); }} onDblClick=${() => setView(whole)}></canvas></div>
      <p class="caption">Drag to select a range: it filters Overview, Kernels and Roofline too. Wheel pans, Ctrl and wheel zoom, Shift and drag move. <kbd>?</kbd> lists the keys.</p>
    </section>
    <p class="sr" aria-live="polite">${one >= 0 ? `${describe(one).what}, ${laneName(describe(one).l)}, starts at ${nanoseconds(data.start[one])}, takes ${nanoseconds(data.duration[one])}` : ""}</p>
    ${one >= 0 && html`<${Panel} title=${describe(one).what} note=${laneName(describe(one).l)} tools=${describe(one).l.kind === "kernel" && html`<a class="quiet" href=${`/sessions/${id}/kernels/${data.item[one]}`}>Open the kernel</a>`}>${rows([["Start", html`<${V} v=${data.start[one]} unit="ns" />`], ["Takes", html`<${V} v=${data.duration[one]} unit="ns" />`], one > 0 && data.lane[one - 1] === data.lane[one] && ["Gap before it", html`<${V} v=${Math.max(0, data.start[one] - data.start[one - 1] - data.duration[one - 1])} unit="ns" />`], data.count[one] > 1 && ["Events merged", exact(data.count[one])]])}<//>`}
    ${inside && html`<${Panel} title="In the selection" note=${`${nanoseconds(sel[1] - sel[0])}, ${exact(inside.events)} events${inside.merged ? ", estimated where events are merged" : ""}`} tools=${html`<button class="quiet" onClick=${() => setView(clamp(sel))}>Zoom to it (F)</button><button class="quiet" onClick=${() => setQuery({ t: null })}>Clear (Esc)</button>`}>
      <div class="drawer">${rows([["Kernels", html`<${V} v=${inside.kinds.kernel} unit="ns" />`], ["Copies", html`<${V} v=${inside.kinds.memcpy} unit="ns" />`], ["Fills", html`<${V} v=${inside.kinds.memset} unit="ns" />`]])}
      <table class="plain"><thead><tr><th scope="col">Kernel</th><th scope="col" class="r">Launches</th><th scope="col" class="r">Time</th></tr></thead><tbody>${[...inside.kernels].sort((a, b) => b[1].busy - a[1].busy).slice(0, 10).map(([k, e]) => html`<tr key=${k}><td><a class="mono clip" href=${`/sessions/${id}/kernels/${k}`}>${names.get(k) ?? k}</a></td><td class="r num">${exact(e.count)}</td><td class="r"><${V} v=${e.busy} unit="ns" /></td></tr>`)}</tbody></table></div><//>`}
    <${Samples} id=${id} samples=${extra.samples} names=${names} />
    <${Queue} id=${id} extra=${extra} />
    <section class="panel flush" aria-label="Lanes"><${Table} caption="Lanes of the timeline" rows=${twin} rowKey=${(l) => l.lane} name=${`session-${id}-lanes`} columns=${[
      { key: "name", title: "Lane", get: (l) => l.name }, { key: "kind", title: "Kind", get: (l) => l.kind }, { key: "pid", title: "Process", num: true, get: (l) => l.pid, render: (l) => html`<span class="num">${l.pid}</span>` }, { key: "device", title: "GPU", num: true, get: (l) => l.device, render: (l) => html`<span class="num">${l.device}</span>` }, { key: "stream", title: "Stream", num: true, get: (l) => l.stream, render: (l) => html`<span class="num" title=${l.legacy ? "The legacy default stream waits for all others, and they for it" : null}>${l.stream}${l.legacy ? " legacy" : ""}</span>` },
      { key: "events", title: "Events", num: true, unit: "1", get: (l) => l.events }, { key: "busy_ns", title: "Busy", num: true, unit: "ns", bar: true, get: (l) => l.busy_ns }, { key: "share", title: "Of the run", num: true, unit: "", get: (l) => l.busy_ns / (whole[1] - whole[0]) }]}
      tools=${html`<button class="quiet" disabled=${!data} title="The events of the view as a table" onClick=${() => save(`session-${id}-events.csv`, "text/csv", csv([["lane", "start_ns", "duration_ns", "busy_ns", "what", "events"], ...Array.from({ length: data.n }, (_, i) => i).filter((i) => data.start[i] <= view[1] && data.start[i] + data.duration[i] >= view[0]).map((i) => [laneName(describe(i).l), data.start[i], data.duration[i], data.busy[i], describe(i).what, data.count[i]])]))}>Events in view, CSV</button>${total?.window > 0 && html`<span class="soft">kernels ${format(total.kernelSum / total.window, "")} of the window${total.held > 0 ? ", profiling left out" : ""}</span>`}`} /></section>
  </div>`;
}

function pickFirst(d, view) {
  let best = -1;
  for (const [, [lo, hi]] of laneRanges(d)) for (let i = lo; i < hi; i++) if (d.start[i] + d.duration[i] >= view[0]) { if (d.start[i] <= view[1] && (best < 0 || d.duration[i] > d.duration[best])) best = i; if (d.start[i] > view[1]) break; }
  return best;
}
