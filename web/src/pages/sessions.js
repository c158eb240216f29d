// SPDX-License-Identifier: MIT
// sessions.js: all sessions, newest first; the first-run page when there is none.
import { useState } from "preact/hooks";
import { live, send, useApi } from "../api.js";
import { exact, when as time } from "../format.js";
import { go, query, setQuery } from "../router.js";
import { Code, Failure, Mark, SOURCES, html, when } from "../ui.js";
import { Table } from "../table.js";

export function FirstRun() {
  return html`<div class="state first"><h1>No session yet</h1>
    <p>Profile a CUDA program. It needs no rebuild and no root; this page fills by itself while it runs.</p>
    <${Code} text="warpsight run ./your_program" />
    <p>No GPU on this machine? The SIMT model runs the kernels' PTX on the CPU and predicts the counters:</p>
    <${Code} text="warpsight model ./your_program" />
    <p>Or open a capture from another machine:</p>
    <${Code} text="warpsight import FILE.wscap" />
    <p class="soft">What this machine can measure, and why not the rest: <code>warpsight doctor</code></p></div>`;
}

export function outcome(s) {
  if (live.value.includes(s.id) || s.live) return html`<span class="live">running</span>`;
  if (s.exit_signal) return html`<span class="poor">signal ${s.exit_signal}</span>`;
  if (s.exit_status === null || s.exit_status === undefined) return html`<span class="why" title="Loaded without warpsight run, so nobody waited for it">not known</span>`;
  return s.exit_status === 0 ? html`0` : html`<span class="poor">${s.exit_status}</span>`;
}

export function Sessions() {
  const [size, setSize] = useState(100);
  const state = useApi(`/sessions?limit=${size}`);
  const [gone, setGone] = useState(null);
  const [failed, setFailed] = useState(null);
  const find = query("q");
  return when(state, (d) => {
    if (d.total === 0 && d.sessions.length === 0) return html`<${FirstRun} />`;
    const words = find.toLowerCase().split(/\s+/).filter(Boolean);
    const list = d.sessions.filter((s) => words.every((w) => [s.name, s.exe, s.host, s.source, s.note, ...(s.argv ?? [])].join(" ").toLowerCase().includes(w)));
    const base = query("base");
    const columns = [
      { key: "name", title: "Session", get: (s) => s.name || s.exe, render: (s) => html`<span class="strong">${s.name || s.exe.split("/").pop() || "session " + s.id}</span>`, cls: "wide" },
      { key: "source", title: "Source", get: (s) => s.source, render: (s) => html`<${Mark} source=${s.source} />` },
      { key: "argv", title: "Command", get: (s) => (s.argv ?? []).join(" "), render: (s) => html`<span class="mono clip" title=${(s.argv ?? []).join(" ")}>${(s.argv ?? []).join(" ") || s.exe}</span>`, cls: "wide" },
      { key: "started", title: "Started", get: (s) => s.started, render: (s) => html`<span class="num" title=${s.started}>${time(s.started)}</span>` },
      { key: "host", title: "Host", get: (s) => s.host },
      { key: "kernels", title: "Kernels", get: (s) => s.kernels, unit: "1", num: true },
      { key: "launches", title: "Launches", get: (s) => s.launches, unit: "1", num: true },
      { key: "exit_status", title: "Exit", get: (s) => s.exit_status, render: outcome, num: true },
      { key: "do", title: html`<span class="sr">Actions</span>`, label: "", sort: false, get: () => null, cls: "acts", render: (s) => html`<button class="quiet" aria-pressed=${String(base === String(s.id))} title="Compare another session with this one" onClick=${() => (base && base !== String(s.id) ? go(`/compare?base=${base}&target=${s.id}`) : setQuery({ base: base ? null : s.id }))}>${base ? (base === String(s.id) ? "baseline" : "compare") : "baseline"}</button><button class="quiet" title="Delete this session from the database" onClick=${() => setGone(s)}>delete</button>` },
    ];
    return html`<div class="page"><div class="pagehead"><h1>Sessions</h1><p class="note">${exact(d.total)} in this database</p><span class="grow"></span>
        <input id="search" type="search" placeholder="Name, program, host" aria-label="Find a session" value=${find} onInput=${(e) => setQuery({ q: e.target.value }, { replace: true })} /></div>
      ${base && html`<p class="hint" role="status">Baseline: session ${base}. Now choose <b>compare</b> on the session to set against it.</p>`}
      ${failed && html`<${Failure} error=${failed} />`}
      ${gone && html`<div class="ask" role="alertdialog" aria-label="Delete a session"><p>Delete <b>${gone.name || gone.exe}</b> (session ${gone.id}, ${exact(gone.launches)} launches) from the database? This cannot be undone.</p>
        <button class="danger" onClick=${async () => { const id = gone.id; setGone(null); try { await send("DELETE", "/sessions/" + id); setFailed(null); location.reload(); } catch (e) { setFailed(e); } }}>Delete</button><button onClick=${() => setGone(null)}>Keep</button></div>`}
      <section class="panel flush"><${Table} columns=${columns} sortKey="sort" rows=${list} rowKey=${(s) => s.id} rowLink=${(s) => "/sessions/" + s.id} caption="Sessions, newest first" empty=${html`No session matches “${find}”.`} /></section>
      ${d.next && html`<p><button onClick=${() => setSize(Math.min(1000, size * 3))}>Show more</button></p>`}
      <p class="legend">${Object.entries(SOURCES).map(([k, [, doc]]) => html`<span key=${k}><${Mark} source=${k} /> ${doc}</span>`)}</p></div>`;
  }, "Loading sessions");
}
