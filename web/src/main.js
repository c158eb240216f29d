// SPDX-License-Identifier: MIT
// main.js: the frame around every page: header, navigation, banners, keys, theme. A page is one file in pages/;
// to add one: a row in PAGES (and in KEYS, if it earns a key).
import "./style.css";
import { render } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { catalogue, connection, hold, live, paused, pending, resume, startEvents, useApi } from "./api.js";
import { exact } from "./format.js";
import { embedded, go, href, link, path, route, startRouter } from "./router.js";
import { Palette, palette } from "./palette.js";
import { keepRange } from "./range.js";
import { nextTheme, theme } from "./theme.js";
import { Banner, Failure, Mark, Prose, SOURCES, Tip, copy, html, noTip, reasons } from "./ui.js";
import { Sessions } from "./pages/sessions.js";
import { Overview } from "./pages/overview.js";
import { Kernels } from "./pages/kernels.js";
import { Kernel } from "./pages/kernel.js";
import { RooflinePage } from "./pages/roofline.js";
import { Timeline } from "./pages/timeline.js";
import { Compare } from "./pages/compare.js";
import { OccupancyPage } from "./pages/occupancy.js";
import { AccessPage } from "./pages/access.js";
import { Reference } from "./pages/reference.js";
import { Live } from "./pages/live.js";

// [pattern, component, title, name in the navigation]
const PAGES = [
  [/^\/$|^\/sessions$/, Sessions, "Sessions", "sessions"],
  [/^\/sessions\/(\d+)$/, Overview, "Overview", "overview"],
  [/^\/sessions\/(\d+)\/kernels$/, Kernels, "Kernels", "kernels"],
  [/^\/sessions\/(\d+)\/kernels\/(\d+)$/, Kernel, "Kernel", "kernels"],
  [/^\/sessions\/(\d+)\/roofline$/, RooflinePage, "Roofline", "roofline"],
  [/^\/sessions\/(\d+)\/timeline$/, Timeline, "Timeline", "timeline"],
  [/^\/compare$/, Compare, "Compare", "compare"],
  [/^\/occupancy$/, OccupancyPage, "Occupancy calculator", "occupancy"],
  [/^\/access$/, AccessPage, "Access calculator", "access"],
  [/^\/reference(?:\/(\w+))?$/, Reference, "Reference", "reference"],
  [/^\/live$/, Live, "Live", "live"],
];

function match(p) {
  for (const [re, component, title, name] of PAGES) {
    const m = re.exec(p);
    if (m) return { component, title, name, args: m.slice(1) };
  }
  return null;
}

// --- keys ------------------------------------------------------------------------------------------
const help = signal(false);
let armed = 0; // time of the last `g`
const sessionId = () => Number(/^\/sessions\/(\d+)/.exec(path.value)?.[1] ?? lastSession.value);
const lastSession = signal(0);
const KEYS = [
  ["g s", "Sessions", () => "/sessions"],
  ["g o", "Overview of the session", (s) => s && `/sessions/${s}${keepRange()}`],
  ["g k", "Kernels", (s) => s && `/sessions/${s}/kernels${keepRange()}`],
  ["g r", "Roofline", (s) => s && `/sessions/${s}/roofline${keepRange()}`],
  ["g t", "Timeline", (s) => s && `/sessions/${s}/timeline${keepRange()}`],
  ["g c", "Compare", (s) => "/compare" + (s ? "?target=" + s : "")],
  ["g p", "Occupancy calculator", () => "/occupancy"],
  ["g a", "Access calculator", () => "/access"],
  ["g m", "Reference", () => "/reference"],
  ["g l", "Live", () => "/live"],
];
const SHEET = [
  ["Everywhere", [["Ctrl+K", "command palette: go to anything"], ["/", "search or filter"], ["?", "this sheet"], ["T", "theme: auto, light, dark"], ["Y", "copy a link to exactly this view"], ["L", "resume a paused live view"], ["Esc", "close, leave a field"], ["u", "up: kernel to kernels, session to sessions"], ...KEYS.map(([k, t]) => [k, t.toLowerCase()])]],
  ["Tables", [["↓ ↑ or j k", "next, previous row"], ["Enter", "open it"], ["c", "copy the row, raw numbers"]]],
  ["Roofline", [["← →", "next point by intensity"], ["Home End", "first, last point"], ["Enter", "open the kernel"]]],
  ["Source of a kernel", [["n p", "next hottest line, the one before"]]],
  ["Timeline", [["W S", "zoom in, out"], ["A D or ← →", "pan"], [". ,", "next, previous event on the lane"], ["F", "fit the selection, again: everything"], ["0", "whole run"], ["drag", "select a range; it filters the other pages"], ["Esc", "clear the selection"]]],
];
const typing = (e) => /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) && !["range", "checkbox"].includes(e.target.type);

function onKey(e) {
  // As elsewhere: Ctrl+K, or Ctrl+Shift+P. Open, it has its own keys.
  if ((e.ctrlKey || e.metaKey) && (e.key.toLowerCase() === "k" || (e.shiftKey && e.key.toLowerCase() === "p"))) {
    e.preventDefault();
    help.value = false;
    palette.value = !palette.value;
    return;
  }
  if (palette.value) return;
  if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === "Escape") {
    if (help.value) help.value = false;
    else if (typing(e)) e.target.blur();
    document.querySelectorAll("details.menu[open]").forEach((d) => { d.open = false; });
    noTip();
    return;
  }
  if (typing(e)) return;
  const now = Date.now();
  if (now - armed < 1500) {
    armed = 0;
    const row = KEYS.find(([k]) => k === "g " + e.key);
    const to = row?.[2](sessionId());
    if (to) { e.preventDefault(); go(to); }
    return;
  }
  const act = {
    g: () => { armed = now; },
    "/": () => { const f = document.getElementById("search"); if (f) { f.focus(); f.select(); } },
    "?": () => { help.value = !help.value; },
    T: nextTheme,
    Y: () => copyLink(),
    L: resume,
    u: () => { const p = path.value.split("/"); if (p.length > 2) go(p.slice(0, -1).join("/") || "/"); },
  }[e.key];
  if (act) { e.preventDefault(); act(); }
}

/** What the palette offers besides kernels, sessions, rules and metrics. */
function commands(session) {
  const pages = KEYS.map(([k, title, to]) => ["page", `${title}  (${k})`, to(session)]).filter(([, , to]) => to && (!embedded || to.startsWith("/sessions/")));
  const files = session && !embedded ? [["csv", "kernels as CSV"], ["json", "report as JSON"], ["capture", "session as a capture"]].map(([f, t]) => ["save", t, () => { location.href = `/api/v1/sessions/${session}/export?format=${f}`; }]) : [];
  return [...pages, ["do", "Theme: auto, light, dark  (T)", nextTheme], ["do", "Copy a link to this view  (Y)", copyLink], ["do", "Keyboard shortcuts  (?)", () => { help.value = true; }], ...files];
}

const said = signal("");
function copyLink() {
  copy(link());
  said.value = "Link copied";
  setTimeout(() => { said.value = ""; }, 1600);
}

// --- frame -----------------------------------------------------------------------------------------
const Icon = ({ d }) => html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d=${d} /></svg>`;
const ICONS = {
  auto: "M8 2a6 6 0 1 0 0 12ZM8 2a6 6 0 0 1 0 12",
  light: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v2M8 13v2M1 8h2M13 8h2M3 3l1.4 1.4M11.6 11.6 13 13M13 3l-1.4 1.4M4.4 11.6 3 13",
  dark: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z",
  link: "M6.5 9.5a3 3 0 0 0 4.2 0l2.4-2.4a3 3 0 0 0-4.2-4.2L8 3.8M9.5 6.5a3 3 0 0 0-4.2 0L2.9 8.9a3 3 0 0 0 4.2 4.2L8 12.2",
};

function SessionName({ s }) {
  return html`<a class="crumb" href=${href("/sessions/" + s.id)} title=${(s.argv ?? []).join(" ") || s.exe}>${s.name || s.exe.split("/").pop() || "session " + s.id}</a><${Mark} source=${s.source} />`;
}

function Header({ page, session }) {
  const id = session?.id;
  const tab = (name, title, to) => html`<a key=${name} class="tab" href=${href(to)} aria-current=${page?.name === name ? "page" : null}>${title}</a>`;
  const keep = keepRange();
  return html`<header class="top">
    <a class="brand" href=${href("/sessions")} aria-label="WarpSight: all sessions"><svg viewBox="0 0 16 16" aria-hidden="true"><path d="M1.5 13.5V9.5l6-6h7" /><circle cx="9.5" cy="8.2" r="1.9" /></svg>WarpSight</a>
    ${session && html`<span class="sep" aria-hidden="true">/</span><${SessionName} s=${session} />`}
    <span class="grow"></span>
    <span class="said" role="status" aria-live="polite">${said.value}</span>
    ${connection.value === "lost" && html`<span class="chip bad">reconnecting</span>`}
    ${paused.value && pending.value > 0 && html`<button class="chip on" onClick=${resume}>paused: ${pending.value} new, resume (L)</button>`}
    ${session && (session.live || live.value.includes(id)) && !(paused.value && pending.value > 0) && html`<span class="chip"><span class="live">running</span></span>`}
    <button class="quiet find" title="Go to anything (Ctrl+K)" onClick=${() => { palette.value = true; }}>Go to … <kbd>Ctrl K</kbd></button>
    <button class="icon" title="Copy a link to this view (Y)" aria-label="Copy a link to this view" onClick=${copyLink}><${Icon} d=${ICONS.link} /></button>
    <button class="icon" title=${`Theme: ${theme.value} (T)`} aria-label=${`Theme: ${theme.value}`} onClick=${nextTheme}><${Icon} d=${ICONS[theme.value]} /></button>
    <button class="icon" title="Keyboard shortcuts (?)" aria-label="Keyboard shortcuts" onClick=${() => { help.value = true; }}>?</button>
    <nav aria-label="Pages">
      ${tab("sessions", "Sessions", "/sessions")}
      ${session && html`<span class="tabgroup">${tab("overview", "Overview", `/sessions/${id}${keep}`)}${tab("kernels", "Kernels", `/sessions/${id}/kernels${keep}`)}${tab("roofline", "Roofline", `/sessions/${id}/roofline${keep}`)}${!embedded && tab("timeline", "Timeline", `/sessions/${id}/timeline${keep}`)}</span>`}
      <span class="grow"></span>
      ${!embedded && tab("compare", "Compare", "/compare" + (id ? "?target=" + id : ""))}${!embedded && tab("occupancy", "Occupancy", "/occupancy")}${!embedded && tab("access", "Access", "/access")}${tab("reference", "Reference", "/reference")}${!embedded && tab("live", "Live", "/live")}
    </nav></header>`;
}

function Banners({ session, info }) {
  const lost = (info?.loss ?? []).reduce((n, l) => n + l.count, 0);
  const rights = (info?.warnings ?? []).find((w) => /right|permission|perf/i.test(w.code));
  return html`${connection.value === "bye" && html`<${Banner} kind="warn">The daemon has stopped. What is on screen stays; <code>warpsight serve</code> brings the rest back.<//>`}
    ${session && session.source !== "measured" && html`<${Banner} kind=${"source " + session.source}><${Mark} source=${session.source} /> session: ${SOURCES[session.source]?.[1]}.<//>`}
    ${lost > 0 && html`<${Banner} kind="warn">${exact(lost)} records were lost (${info.loss.map((l) => l.reason || l.kind).join(", ")}): totals are too low by as much.<//>`}
    ${rights && html`<${Banner} kind="warn">${rights.message} <${Prose} text=${rights.remedy ?? ""} /><//>`}`;
}

function Help() {
  const ref = useRef(null);
  useEffect(() => { if (help.value) ref.current?.showModal(); else ref.current?.close(); }, [help.value]);
  return html`<dialog ref=${ref} class="help" aria-label="Keyboard shortcuts" onClose=${() => { help.value = false; }} onClick=${(e) => { if (e.target === ref.current) help.value = false; }}>
    <header><h2>Keyboard shortcuts</h2><button class="quiet" onClick=${() => { help.value = false; }}>Close</button></header>
    <div class="sheets">${SHEET.map(([t, list]) => html`<section key=${t}><h3>${t}</h3><dl>${list.map(([k, what]) => html`<div key=${k}><dt>${k.split(" ").map((x) => (x === "or" ? " or " : html`<kbd>${x}</kbd>`))}</dt><dd>${what}</dd></div>`)}</dl></section>`)}</div></dialog>`;
}

function App() {
  const cat = catalogue().data;
  useEffect(() => { if (cat?.reasons) reasons.value = new Map(cat.reasons.map((r) => [r.code, r.text])); }, [cat]);
  const page = match(path.value);
  const id = page?.args[0] && path.value.startsWith("/sessions/") ? Number(page.args[0]) : 0;
  const info = useApi(id ? `/sessions/${id}` : null);
  const session = info.data?.session;
  if (id) lastSession.value = id;
  // Pages beside the session keep the way back to it.
  const aside = useApi(!id && lastSession.value && page && page.name !== "sessions" ? `/sessions/${lastSession.value}` : null);
  isLive = Boolean(session && (session.live || live.value.includes(id)));
  useEffect(() => {
    document.title = [page?.title ?? "Not found", session ? session.name || session.exe : "", "WarpSight"].filter(Boolean).join(" · ");
  }, [page?.title, session?.name]);
  const entries = useMemo(() => commands(id || lastSession.value), [id, keepRange()]);
  const Page = page?.component;
  const args = page ? { id: id || undefined, kid: page.args[1] && Number(page.args[1]), part: page.name === "reference" ? page.args[0] : undefined } : {};
  return html`<a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.getElementById("main").focus(); }}>Skip to the content</a>
    <${Header} page=${page} session=${session ?? aside.data?.session} />
    <main id="main" tabindex="-1"><${Banners} session=${session} info=${info.data} />
      ${!Page ? html`<div class="state"><h1>There is no page ${path.value}</h1><p><a href=${href("/sessions")}>All sessions</a></p></div>` : info.error ? html`<${Failure} error=${info.error} />` : html`<${Page} key=${path.value} ...${args} />`}</main>
    <${Help} /><${Palette} session=${id || lastSession.value} entries=${entries} /><${Tip} />`;
}

let isLive = false; // the session on screen still runs

// A pointer at work in a chart or table freezes a live view, so that nothing moves under it.
function freeze(e) {
  if (isLive && e.target.closest?.("[data-freeze]")) paused.value = true;
}

addEventListener("keydown", onKey);
addEventListener("pointerdown", freeze);
addEventListener("pointermove", (e) => hold(Boolean(e.target.closest?.("[data-freeze] .scroll tbody, [data-freeze] .chart, [data-freeze] canvas"))));
addEventListener("pointerout", (e) => { if (!e.relatedTarget) hold(false); });
addEventListener("wheel", freeze, { passive: true });
startRouter(() => { paused.value = false; resume(); noTip(); document.getElementById("main")?.focus({ preventScroll: true }); scrollTo(0, 0); });
startEvents();
render(html`<${App} />`, document.getElementById("app"));
document.documentElement.dataset.ready = "1";
