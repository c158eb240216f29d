// SPDX-License-Identifier: MIT
// live.js: what arrives now: the daemon's ingest, rate over the last minutes, and the sessions that are running.
import { useEffect, useRef, useState } from "preact/hooks";
import { connection, getJson, live, paused, resume, send, useApi } from "../api.js";
import { csv, save } from "../export.js";
import { exact, format } from "../format.js";
import { scaleLinear, ticks } from "../scale.js";
import { ChartTools, Code, Failure, Loading, Mark, Panel, V, html, useWidth } from "../ui.js";
import { Table } from "../table.js";

const KEEP = 300; // seconds

// One line of 300 points is not worth a chart library's 23 KB.
function Rate({ points, width, svgRef }) {
  const h = 170, l = 64, r = 10, t = 12, b = 24;
  const now = points.at(-1)?.t ?? Date.now() / 1000;
  const span = Math.max(60, now - (points[0]?.t ?? now));
  const x = scaleLinear([now - span, now], [l, width - r]);
  const top = [0, Math.max(10, ...points.map((p) => p.rate)) * 1.1], y = scaleLinear(top, [h - b, t]);
  const line = points.map((p, i) => `${i ? "L" : "M"}${x(p.t).toFixed(1)} ${y(p.rate).toFixed(1)}`).join("");
  return html`<svg ref=${svgRef} class="chart rate" width=${width} height=${h} viewBox=${`0 0 ${width} ${h}`} role="img" aria-label=${`Records a second over the last ${format(span, "s")}; now ${format(points.at(-1)?.rate ?? 0, "1")}`}>
    <g class="grid">${ticks(top, 4).map((v) => html`<g key=${v}><line x1=${l} x2=${width - r} y1=${y(v)} y2=${y(v)} /><text x=${l - 8} y=${y(v) + 4} text-anchor="end">${format(v, "1")}</text></g>`)}
      ${[0, 0.25, 0.5, 0.75, 1].map((f) => html`<text key=${f} x=${x(now - span * (1 - f))} y=${h - 7} text-anchor=${f === 1 ? "end" : f === 0 ? "start" : "middle"}>${f === 1 ? "now" : `${format(span * (1 - f), "s")} ago`}</text>`)}</g>
    ${points.length > 1 && html`<path class="area" d=${`${line}L${x(points.at(-1).t).toFixed(1)} ${y(0)}L${x(points[0].t).toFixed(1)} ${y(0)}Z`} /><path class="curve" d=${line} />`}</svg>`;
}

const WHY = { start: "since it began", setting: "told to wait when it was started", ctl: "by command", duration: "its time was up", "profiler-api": "cudaProfilerStart, -Stop", nvtx: "an NVTX range" };

/** The processes that a collector is in, and a button each: their state is asked for every second, for nothing is ingested by a change. */
function Processes() {
  const [list, set] = useState(null), [busy, mark] = useState(null), [failed, fail] = useState(null), [lasts, choose] = useState("");
  useEffect(() => {
    let timer = 0, gone = false;
    const tick = async () => {
      try { const a = await getJson("/running"); if (!gone) set(a.processes); } catch (e) { if (!gone) fail(e.message); }
      if (!gone) timer = setTimeout(tick, 1000);
    };
    tick();
    return () => { gone = true; clearTimeout(timer); };
  }, []);
  if (!list?.length) return null;
  const tell = async (p, what) => {
    mark(p.agent);
    fail(null);
    try {
      const body = { agent: p.agent, do: what };
      if (what === "start" && lasts) body.duration_ms = Number(lasts) * 1000;
      const a = await send("POST", "/running", body);
      set((l) => l.map((x) => (x.agent === p.agent ? a.process : x)));
    } catch (e) { fail(`Process ${p.pid}: ${e.message}`); }
    mark(null);
  };
  const since = (p) => (Date.now() - new Date(p.since)) / 1000;
  const columns = [
    { key: "pid", title: "Process", num: true, get: (p) => p.pid, render: (p) => html`<span title=${p.agent}>${p.pid}</span>` },
    { key: "rank", title: "Rank", get: (p) => p.rank.replace(/^.*=/, "") || "–" },
    { key: "exe", title: "Program", cls: "wide", get: (p) => p.name || p.exe, render: (p) => html`<span class="mono clip" title=${p.exe}>${p.name || p.exe}</span>` },
    { key: "state", title: "State", get: (p) => p.state, render: (p) => html`<b class=${p.state === "idle" ? "soft" : ""}>${p.state}</b>${p.until && p.state !== "idle" ? html` <span class="soft">until ${new Date(p.until).toLocaleTimeString()}</span>` : ""}` },
    { key: "since", title: "For", num: true, unit: "s", get: since, render: (p) => html`<${V} v=${since(p)} unit="s" />` },
    { key: "reason", title: "Why", get: (p) => WHY[p.reason] ?? p.reason },
    { key: "do", title: "Collection", get: () => "", render: (p) => html`<button disabled=${busy === p.agent} aria-label=${`${p.state === "idle" ? "Start" : "Stop"} process ${p.pid}`} onClick=${() => tell(p, p.state === "idle" ? "start" : "stop")}>${busy === p.agent ? "…" : p.state === "idle" ? "Start" : "Stop"}</button>` },
  ];
  return html`<${Panel} title="Processes" note="start and stop collecting while they run" tools=${html`<label>a start lasts <select value=${lasts} onChange=${(e) => choose(e.target.value)}><option value="">until a stop</option><option value="1">1 s</option><option value="10">10 s</option><option value="60">60 s</option></select></label>`}>
    <${Table} caption="Processes that can be started and stopped" rows=${list} rowKey=${(p) => p.agent} columns=${columns} />
    ${failed && html`<p class="poor" role="alert">${failed}</p>`}
    <p class="caption">The same in a terminal: <code>warpsight ctl start PID --set core --duration 10s</code>, <code>warpsight ctl stop</code>.</p><//>`;
}

/** The last minute of one sampled metric: a line where there are samples. */
function Spark({ s, m }) {
  const w = 220, h = 30, x = scaleLinear([s.start[0], s.end.at(-1)], [0, w]), top = Math.max(m.unit === "" ? 1 : 0, ...m.max.filter((v) => v !== null)) || 1, y = scaleLinear([0, top], [h - 2, 2]);
  let up = true;
  const d = m.mean.map((v, i) => { if (v === null) { up = true; return ""; } const p = `${up ? "M" : "L"}${x(s.start[i]).toFixed(1)} ${y(v).toFixed(1)}L${x(s.end[i]).toFixed(1)} ${y(v).toFixed(1)}`; up = false; return p; }).join("");
  return html`<svg class="chart rate" width=${w} height=${h} viewBox=${`0 0 ${w} ${h}`} role="img" aria-label=${`${m.title} over the last ${format((s.end.at(-1) - s.start[0]) * 1e-9, "s")}`}><path class="curve" d=${d} /></svg>`;
}

/** What the GPUs of a running session are sampled at, if they are. */
function Sampled({ session }) {
  const a = useApi(`/sessions/${session.id}/timeline/samples?last=60000000000&px=240`);
  const series = (a.data?.series ?? []).filter((s) => s.start.length);
  if (!series.length) return null;
  const last = (m) => m.mean.findLast((v) => v !== null);
  return html`<${Panel} title=${`GPU now: ${session.name || session.exe}`} note="samples of the whole GPU, the last minute of them">${series.map((s) => html`<table key=${s.process + "/" + s.device} class="plain sampled"><caption>GPU ${s.device}, one sample each ${format(s.interval_ns, "ns")}</caption><thead><tr><th scope="col">Metric</th><th scope="col" class="r">Now</th><th scope="col">Last minute</th></tr></thead><tbody>${s.metrics.map((m) => html`<tr key=${m.key}><td>${m.title}</td><td class="r">${last(m) === undefined ? "–" : html`<${V} v=${last(m)} unit=${m.unit} />`}</td><td>${last(m) !== undefined && html`<${Spark} s=${s} m=${m} />`}</td></tr>`)}</tbody></table>`)}<//>`;
}

export function Live() {
  const [status, set] = useState(null);
  const [error, fail] = useState(null);
  const points = useRef([]);
  const [box, width] = useWidth();
  const svg = useRef(null);
  const sessions = useApi("/sessions?limit=100");
  useEffect(() => {
    let last = null, timer = 0, gone = false;
    const tick = async () => {
      try {
        const s = await getJson("/status"), t = Date.now() / 1000;
        if (gone) return;
        if (!paused.peek()) {
          if (last && s.ingest.records >= last.records) points.current = [...points.current, { t, rate: (s.ingest.records - last.records) / (t - last.t) }].filter((p) => p.t > t - KEEP);
          set(s);
        }
        last = { t, records: s.ingest.records };
        fail(null);
      } catch (e) { if (!gone) fail(e); }
      if (!gone) timer = setTimeout(tick, 1000);
    };
    tick();
    return () => { gone = true; clearTimeout(timer); };
  }, []);
  if (error && !status) return html`<${Failure} error=${error} />`;
  if (!status) return html`<${Loading} what="Asking the daemon" />`;
  const s = status, running = (sessions.data?.sessions ?? []).filter((x) => x.live || live.value.includes(x.id));
  return html`<div class="page"><div class="pagehead"><h1>Live</h1><p class="note" aria-live="polite">${error ? "the daemon does not answer" : connection.value === "open" ? "connected" : "connecting"}${s.state !== "ok" ? `, ${s.state}: ${s.reason}` : ""}</p><span class="grow"></span><button aria-pressed=${String(paused.value)} onClick=${() => (paused.value ? resume() : (paused.value = true))}>${paused.value ? "Resume (L)" : "Pause"}</button></div>
    <${Panel} title="Running sessions">${running.length === 0 ? html`<p class="soft">None. Waiting for a program:</p><${Code} text="warpsight run ./your_program" />` : html`<${Table} caption="Sessions that run now" rows=${running} rowKey=${(x) => x.id} rowLink=${(x) => `/sessions/${x.id}`} columns=${[{ key: "name", title: "Session", get: (x) => x.name || x.exe }, { key: "source", title: "Source", get: (x) => x.source, render: (x) => html`<${Mark} source=${x.source} />` }, { key: "argv", title: "Command", cls: "wide", get: (x) => (x.argv ?? []).join(" "), render: (x) => html`<span class="mono clip">${(x.argv ?? []).join(" ")}</span>` }, { key: "kernels", title: "Kernels", num: true, unit: "1", get: (x) => x.kernels }, { key: "launches", title: "Launches", num: true, unit: "1", get: (x) => x.launches }]} />`}<//>
    <${Processes} />
    ${running.slice(0, 4).map((x) => html`<${Sampled} key=${x.id} session=${x} />`)}
    <${Panel} title="Records a second" note=${`${exact(s.ingest.records)} since the daemon started`} tools=${html`<button class="quiet" onClick=${() => save("records.csv", "text/csv", csv([["time_s", "records_per_s"], ...points.current.map((p) => [p.t, p.rate])]))}>CSV</button><${ChartTools} svg=${() => svg.current} name="records" />`}><div ref=${box} class="fit"><${Rate} points=${points.current} width=${width} svgRef=${svg} /></div>
      <details class="twin"><summary>As a table</summary><div class="scroll" tabindex="0" role="region" aria-label="Records a second"><table class="plain"><thead><tr><th scope="col">Time</th><th scope="col" class="r">Records a second</th></tr></thead><tbody>${points.current.slice(-60).reverse().map((p) => html`<tr key=${p.t}><td class="num" title=${new Date(p.t * 1000).toISOString()}>${new Date(p.t * 1000).toLocaleTimeString()}</td><td class="r"><${V} v=${p.rate} unit="1" /></td></tr>`)}</tbody></table></div></details><//>
    <${Panel} title="Daemon"><dl class="tiles">${[["Ingest lag", html`<${V} v=${s.ingest.lag_s} unit="s" />`, s.ingest.lag_s], ["Spool waiting", html`<${V} v=${s.spool.backlog_bytes} unit="B" />`, s.spool.backlog_bytes], ["Lost records", html`<span class=${s.ingest.lost ? "poor" : ""}><${V} v=${s.ingest.lost} unit="1" /></span>`, s.ingest.lost], ["Bad frames", html`<span class=${s.ingest.bad_frames ? "poor" : ""}><${V} v=${s.ingest.bad_frames} unit="1" /></span>`, s.ingest.bad_frames], ["Read", html`<${V} v=${s.ingest.bytes} unit="B" />`, s.ingest.bytes], ["Database", html`<${V} v=${s.db.bytes} unit="B" />`, s.db.bytes], ["Write-ahead log", html`<${V} v=${s.db.wal_bytes} unit="B" />`, s.db.wal_bytes], ["Up", html`<${V} v=${s.uptime_s} unit="s" />`, s.uptime_s], ["Connections, streams", `${s.clients.connections}, ${s.clients.streams}`, s.clients.connections]].filter(([, , has]) => has !== undefined).map(([t, v]) => html`<div key=${t}><dt>${t}</dt><dd>${v}</dd></div>`)}</dl>
      <p class="caption">WarpSight ${s.version}, process ${s.pid}. Database <code>${s.db.path}</code>, spool <code>${s.spool.path}</code></p><//></div>`;
}
