// SPDX-License-Identifier: MIT
// range.js: the time range that is chosen (t=from-to in the URL, ns since the session's base): what ran in it, the chip that
// shows it and clears it, the strip on which it is chosen. The Timeline chooses it, too; Overview, Kernels and Roofline follow.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getBytes, revision, useApi } from "./api.js";
import { bill, decode, inRange } from "./charts/timeline-data.js";
import { drawMinimap, timelineColors } from "./charts/timeline-view.js";
import { nanoseconds } from "./format.js";
import { query, setQuery } from "./router.js";
import { theme } from "./theme.js";
import { html, useWidth } from "./ui.js";

/** [from, to] in ns, or null. */
export function range() {
  const m = /^(\d+)-(\d+)$/.exec(query("t"));
  return m && Number(m[2]) > Number(m[1]) ? [Number(m[1]), Number(m[2])] : null;
}
const choose = (a, b) => setQuery({ t: b > a ? `${Math.max(0, Math.floor(a))}-${Math.ceil(b)}` : null });

/** "?t=…" for a link that keeps the range, or "". */
export const keepRange = (first = "?") => (query("t") ? `${first}t=${query("t")}` : "");

export function RangeChip() {
  const r = range();
  return r && html`<span class="chip on">Range ${nanoseconds(r[0])} to ${nanoseconds(r[1])}<button aria-label="Clear the time range" title="Clear the time range" onClick=${() => setQuery({ t: null })}>×</button></span>`;
}

/** Timeline data as one decoded block, refetched with the revision; id null: nothing yet. */
export function useTimeline(id, from, to, px) {
  const rev = revision.value;
  const [state, set] = useState({});
  useEffect(() => {
    if (id === null) return undefined;
    const abort = new AbortController();
    const part = from === null ? "" : `&from=${Math.floor(from)}&to=${Math.ceil(to)}`;
    getBytes(`/sessions/${id}/timeline/data?px=${px}${part}`, abort.signal).then((b) => set({ data: decode(b) })).catch((error) => { if (!abort.signal.aborted) set({ error }); });
    return () => abort.abort();
  }, [id, from, to, px, rev]);
  return state;
}

/** When profiling held the program, of the whole run or of a range; id null: nothing yet. */
export const useHolds = (id, r = null) => useApi(id === null ? null : `/sessions/${id}/timeline/profiling?px=8192${r ? `&from=${r[0]}&to=${r[1]}` : ""}`).data;

/** What ran in the chosen range: {kernels: id -> {busy, count, held}, bill, …}; null while nothing is chosen (or not known yet).
 *  held: launches that were profiled there, which have no time of their own. */
export function useRange(id) {
  const r = range();
  const meta = useApi(r ? `/sessions/${id}/timeline` : null).data;
  const data = useTimeline(r ? id : null, r?.[0] ?? null, r?.[1] ?? null, 8192).data, holds = useHolds(r ? id : null, r);
  return useMemo(() => {
    if (!r || !meta || !data || !holds) return null;
    const out = inRange(data, meta.lanes, r[0], r[1]);
    holds.kernel.forEach((k, i) => { if (holds.end[i] > r[0] && holds.start[i] < r[1]) { const e = out.kernels.get(k) ?? { busy: 0, count: 0 }; out.kernels.set(k, { ...e, held: (e.held ?? 0) + 1 }); } });
    return { ...out, bill: bill(data, meta.lanes, holds, r) };
  }, [data, meta, holds, r?.[0], r?.[1]]);
}

/** Kernels of the session with what they did in the range: launches, and their time (of a profiled launch the mean that its counters say). */
export const kernelsIn = (kernels, picked) => kernels.filter((k) => picked.kernels.has(k.id)).map((k) => {
  const { busy, count, held = 0 } = picked.kernels.get(k.id);
  const profiled = held * (k.duration?.mean ?? 0);
  return { ...k, launches: count + held, profiled, duration: { ...k.duration, total: busy * 1e-9 + profiled } };
}).sort((a, b) => b.duration.total - a.duration.total);

const HIGH = 26;
/** The whole run as a strip: drag, or type, to choose a range. */
export function RangeStrip({ id }) {
  const meta = useApi(`/sessions/${id}/timeline`).data;
  const [box, width] = useWidth(), canvas = useRef(null), [drag, set] = useState(null);
  const [draft, type] = useState({}); // what is being typed: data that arrives meanwhile must not overwrite it
  const data = useTimeline(meta?.events ? id : null, null, null, 2048).data, holds = useHolds(meta?.events ? id : null);
  const r = drag ? [Math.min(...drag), Math.max(...drag)] : range();
  const whole = meta ? [meta.from, Math.max(meta.to, meta.from + 1)] : null, mode = theme.value;
  useEffect(() => {
    if (data && whole && width > 10 && canvas.current) drawMinimap(canvas.current, { data, lanes: meta.lanes, whole, view: whole, selection: r, holds, colors: timelineColors(), width, height: HIGH });
  }, [data, holds, width, mode, r?.[0], r?.[1]]);
  if (!meta?.events) return null;
  const at = (e) => Math.max(whole[0], Math.min(whole[1], whole[0] + (e.offsetX / width) * (whole[1] - whole[0])));
  const typed = (i) => (e) => { const v = [...(range() ?? whole)]; v[i] = Number(e.target.value) * 1e6; type({}); choose(v[0], v[1]); };
  const box2 = (i, title) => html`<label class="pick">${title} <input type="number" min="0" step="any" value=${draft[i] ?? ((r ?? whole)[i] / 1e6).toFixed(3)} onInput=${(e) => type({ [i]: e.target.value })} onChange=${typed(i)} /> ms</label>`;
  return html`<div class="strip" role="group" aria-label="Time range"><span class="soft" title="Drag over the run, or type: the whole page, Kernels and Roofline then show that range only">Time range</span><div class="tlbox minimap" ref=${box}><canvas ref=${canvas} height=${HIGH} role="img" aria-label="The whole run; drag to choose a time range, or type it beside"
      onPointerDown=${(e) => { if (e.button) return; e.target.setPointerCapture(e.pointerId); set([at(e), at(e)]); }} onPointerMove=${(e) => drag && set([drag[0], at(e)])} onPointerUp=${() => { if (drag && Math.abs(drag[1] - drag[0]) > (3 / width) * (whole[1] - whole[0])) choose(Math.min(...drag), Math.max(...drag)); set(null); }}></canvas></div>
    ${box2(0, "From")}${box2(1, "to")}</div>`;
}
