// SPDX-License-Identifier: MIT
// timeline.js: what ran when. The view (v=from-to) and the selection (t=from-to, also a filter of the other pages) are in the URL.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getBytes, revision, useApi } from "../api.js";
import { bill, decode, inRange, laneRanges } from "../charts/timeline-data.js";
import { COPY, LABEL, draw, drawMinimap, heightOf, laneName, pick } from "../charts/timeline-view.js";
import { exact, format, nanoseconds, shortName } from "../format.js";
import { csv, save } from "../export.js";
import { query, setQuery } from "../router.js";
import { Failure, Loading, Mark, Panel, V, html, noTip, rows, tipAt, useWidth, when } from "../ui.js";
import { Table } from "../table.js";
import { theme } from "../theme.js";
import { RangeChip, range } from "./kernels.js";

function colorsNow() {
  const s = getComputedStyle(document.documentElement), v = (k) => s.getPropertyValue(k).trim();
  return { ink: v("--ink"), ink2: v("--ink2"), ink3: v("--ink3"), line: v("--line"), ground: v("--panel"), kernel: v("--t-kernel"), copy: v("--t-copy"), idle: v("--st-front"), select: v("--accent"), shade: v("--bg"), onFill: v("--on-fill"), font: "11.5px " + v("--sans") };
}
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

/** Which launches have no place on the timeline, and why. */
function Hidden({ m, session }) {
  const seen = m.lanes.filter((l) => l.kind === "kernel").reduce((n, l) => n + l.events, 0), missing = (session?.launches ?? 0) - seen;
  if (!(missing > 0)) return null;
  return html`<p class="hint">${exact(missing)} of ${exact(session.launches)} launches are not here: they were replayed for counters, which leaves them no time of their own and stretches the gaps around them. Everything in its place: <code>warpsight run --set trace ./your_program</code></p>`;
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
  const [box, width] = useWidth(1200);
  const canvas = useRef(null), mini = useRef(null), state = useRef({});
  const rev = revision.value, mode = theme.value;
  const sel = drag?.sel ?? range();
  const names = useMemo(() => new Map(m.kernels.map((k) => [k.id, shortName(k.name)])), [m.kernels]);
  const height = heightOf(m.lanes);
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
      const colors = colorsNow();
      draw(canvas.current, { data, lanes: m.lanes, names, view, selection: sel, chosen, hover, colors, dark: isDark(), format: axisFormat(view[1] - view[0]), width, height });
      if (full) drawMinimap(mini.current, { data: full, lanes: m.lanes, whole, view, selection: sel, colors, width, height: 44 });
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
    const i = pick(data, m.lanes, view, width, e.offsetX, e.offsetY);
    setHover(i);
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
  const total = useMemo(() => (full ? bill(full, m.lanes) : null), [full]);
  if (error) return html`<${Failure} error=${error} />`;
  const one = chosen >= 0 && data && chosen < data.n ? chosen : -1;
  const twin = m.lanes.map((l) => ({ ...l, name: laneName(l) }));
  return html`<div class="page wide" data-freeze>
    <div class="pagehead"><h1>Timeline</h1>${source && html`<${Mark} source=${source} />`}<p class="note">${exact(m.events)} events in ${nanoseconds(whole[1] - whole[0])}; shown ${nanoseconds(view[1] - view[0])}${data?.merged ? ", short events merged" : ""}</p><${RangeChip} /><span class="grow"></span>
      <span class="tools"><button class="quiet" title="Zoom in (W)" onClick=${() => zoom(0.6)}>+<span class="sr">zoom in</span></button><button class="quiet" title="Zoom out (S)" onClick=${() => zoom(1 / 0.6)}>−<span class="sr">zoom out</span></button><button class="quiet" title="Whole run (0)" onClick=${() => setView(whole)}>Whole run</button>
      <button class="quiet" title="Save what is drawn" onClick=${() => canvas.current.toBlob((b) => save(`session-${id}-timeline.png`, "image/png", b))}>PNG</button><a class="quiet" href=${`/api/v1/sessions/${id}/export?format=chrome-trace`} download title="Chrome trace: opens in Perfetto">Trace</a></span></div>
    <${Hidden} m=${m} session=${session} />
    <section class="panel" aria-label="Timeline">
      <div class="tlbox minimap"><canvas ref=${mini} height="44" role="img" aria-label="Minimap: the whole run" onPointerDown=${miniMove} onPointerMove=${miniMove}></canvas></div>
      <div class="tlbox" ref=${box}>${!data && html`<${Loading} what="Loading events" />`}<canvas ref=${canvas} tabindex="0" height=${height} role="img" aria-label=${`Timeline of ${m.lanes.length} lanes. W and S zoom, A and D pan, comma and full stop step from event to event. The tables below hold the numbers.`}
        onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerLeave=${() => { setHover(-1); noTip(); }} onDblClick=${() => setView(whole)}></canvas></div>
      <p class="caption">Drag to select a range: it filters Kernels and Roofline too. Wheel pans, Ctrl and wheel zoom, Shift and drag move. <kbd>?</kbd> lists the keys.</p>
    </section>
    <p class="sr" aria-live="polite">${one >= 0 ? `${describe(one).what}, ${laneName(describe(one).l)}, starts at ${nanoseconds(data.start[one])}, takes ${nanoseconds(data.duration[one])}` : ""}</p>
    ${one >= 0 && html`<${Panel} title=${describe(one).what} note=${laneName(describe(one).l)} tools=${describe(one).l.kind === "kernel" && html`<a class="quiet" href=${`/sessions/${id}/kernels/${data.item[one]}`}>Open the kernel</a>`}>${rows([["Start", html`<${V} v=${data.start[one]} unit="ns" />`], ["Takes", html`<${V} v=${data.duration[one]} unit="ns" />`], one > 0 && data.lane[one - 1] === data.lane[one] && ["Gap before it", html`<${V} v=${Math.max(0, data.start[one] - data.start[one - 1] - data.duration[one - 1])} unit="ns" />`], data.count[one] > 1 && ["Events merged", exact(data.count[one])]])}<//>`}
    ${inside && html`<${Panel} title="In the selection" note=${`${nanoseconds(sel[1] - sel[0])}, ${exact(inside.events)} events${inside.merged ? ", estimated where events are merged" : ""}`} tools=${html`<button class="quiet" onClick=${() => setView(clamp(sel))}>Zoom to it (F)</button><button class="quiet" onClick=${() => setQuery({ t: null })}>Clear (Esc)</button>`}>
      <div class="drawer">${rows([["Kernels", html`<${V} v=${inside.kinds.kernel} unit="ns" />`], ["Copies", html`<${V} v=${inside.kinds.memcpy} unit="ns" />`], ["Fills", html`<${V} v=${inside.kinds.memset} unit="ns" />`]])}
      <table class="plain"><thead><tr><th scope="col">Kernel</th><th scope="col" class="r">Launches</th><th scope="col" class="r">Time</th></tr></thead><tbody>${[...inside.kernels].sort((a, b) => b[1].busy - a[1].busy).slice(0, 10).map(([k, e]) => html`<tr key=${k}><td><a class="mono clip" href=${`/sessions/${id}/kernels/${k}`}>${names.get(k) ?? k}</a></td><td class="r num">${exact(e.count)}</td><td class="r"><${V} v=${e.busy} unit="ns" /></td></tr>`)}</tbody></table></div><//>`}
    <section class="panel flush" aria-label="Lanes"><${Table} caption="Lanes of the timeline" rows=${twin} rowKey=${(l) => l.lane} name=${`session-${id}-lanes`} columns=${[
      { key: "name", title: "Lane", get: (l) => l.name }, { key: "kind", title: "Kind", get: (l) => l.kind }, { key: "pid", title: "Process", num: true, get: (l) => l.pid, render: (l) => html`<span class="num">${l.pid}</span>` }, { key: "device", title: "GPU", num: true, get: (l) => l.device, render: (l) => html`<span class="num">${l.device}</span>` }, { key: "stream", title: "Stream", num: true, get: (l) => l.stream, render: (l) => html`<span class="num">${l.stream}</span>` },
      { key: "events", title: "Events", num: true, unit: "1", get: (l) => l.events }, { key: "busy_ns", title: "Busy", num: true, unit: "ns", bar: true, get: (l) => l.busy_ns }, { key: "share", title: "Of the run", num: true, unit: "", get: (l) => l.busy_ns / (whole[1] - whole[0]) }]}
      tools=${html`<button class="quiet" disabled=${!data} title="The events of the view as a table" onClick=${() => save(`session-${id}-events.csv`, "text/csv", csv([["lane", "start_ns", "duration_ns", "busy_ns", "what", "events"], ...Array.from({ length: data.n }, (_, i) => i).filter((i) => data.start[i] <= view[1] && data.start[i] + data.duration[i] >= view[0]).map((i) => [laneName(describe(i).l), data.start[i], data.duration[i], data.busy[i], describe(i).what, data.count[i]])]))}>Events in view, CSV</button>${total && html`<span class="soft">kernels ${format(total.kernelSum / total.window, "")} of the window</span>`}`} /></section>
  </div>`;
}

function pickFirst(d, view) {
  let best = -1;
  for (const [, [lo, hi]] of laneRanges(d)) for (let i = lo; i < hi; i++) if (d.start[i] + d.duration[i] >= view[0]) { if (d.start[i] <= view[1] && (best < 0 || d.duration[i] > d.duration[best])) best = i; if (d.start[i] > view[1]) break; }
  return best;
}
