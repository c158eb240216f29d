// SPDX-License-Identifier: MIT
// ui.js: the small pieces that every page is made of: values, marks, panels, states, buttons.
import { signal } from "@preact/signals";
import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import htm from "htm";
import { exact, format, scaled } from "./format.js";
import { saveSvg, savePng } from "./export.js";
import { embedded, setQuery } from "./router.js";
import { without } from "./verdict.js";

export const html = htm.bind(h);

/** The one place that says what a session's source means. Mark and words always go together. */
export const SOURCES = {
  measured: ["Measured", "counted on a GPU in this run"],
  modelled: ["Modelled", "predicted by the SIMT model, not measured on a GPU"],
  recorded: ["Recorded", "a replay of an earlier measurement"],
  imported: ["Imported", "read from the file of another profiler"],
  synthetic: ["Synthetic", "made up for a test, not a measurement"],
};

export function Mark({ source, words = true }) {
  const [title, doc] = SOURCES[source] ?? [source, ""];
  const shape = {
    measured: html`<circle cx="6" cy="6" r="3.6" class="full" />`,
    modelled: html`<path d="M6 1.6 10.4 6 6 10.4 1.6 6Z" />`,
    recorded: html`<circle cx="6" cy="6" r="4.2" /><circle cx="6" cy="6" r="1.4" class="full" />`,
    imported: html`<path d="M6 1.5v6M3.4 5 6 7.6 8.6 5M2 10.4h8" />`,
    synthetic: html`<circle cx="6" cy="6" r="4.2" stroke-dasharray="2 1.6" />`,
  }[source];
  return html`<span class=${"mark " + source} title=${`${title}: ${doc}`}>
    <svg viewBox="0 0 12 12" aria-hidden="true">${shape}</svg>${words ? title : html`<span class="sr">${title}</span>`}
  </span>`;
}

// Units that every table repeats on every line; words like "sectors" stand in the column's head instead.
const SHORT_UNIT = /^[kMGTP]?(%|s|B|B\/s|(?:FL)?OP\/[sB]|Hz|[mµn]s|min)$/;

/** code -> sentence, from the catalogue; set once by main.js. "%s" stands for the key that is missing. */
export const reasons = signal(new Map());
const NOTHING = [[/^flop/, "no floating-point arithmetic"], [/^gld_/, "no global loads"], [/^gst_/, "no global stores"], [/^shared_ld_/, "no shared-memory loads"], [/^shared_st_/, "no shared-memory stores"], [/^local_/, "no local memory"]];
export const whyText = (v) => (v?.why === "zero-denominator" && NOTHING.some(([re]) => re.test(v.needs)) ? NOTHING.find(([re]) => re.test(v.needs))[1] : v?.why ? (reasons.value.get(v.why) ?? v.why).replace("%s", v.needs ?? "an input") : "no value");
export const Why = ({ v }) => html`<span class="why" title=${whyText(v)}>${whyText(v)}</span>`;

/** A ws_value for people: the number with its unit, or why there is none. compact: no unit words, for columns. */
export function V({ v, unit, compact = false }) {
  if (v === null || v === undefined) return html`<span class="why">not in this answer</span>`;
  const value = typeof v === "number" ? { value: v, unit } : v;
  if (value.value === null || value.value === undefined) return html`<${Why} v=${value} />`;
  const u = value.unit ?? unit;
  const [n, full] = scaled(value.value, u);
  const s = compact && !SHORT_UNIT.test(full) ? (/^[kMGTP](?=\u202f|$)/.exec(full)?.[0] ?? "") : full;
  const notes = [exact(value.value, u), value.grade && value.grade !== "exact" ? value.grade : "", value.origin && value.origin !== "session" ? "from " + value.origin : ""].filter(Boolean);
  return html`<span class="num" title=${notes.join(" · ")}>${value.grade === "upper bound" ? "≤\u202f" : value.grade === "lower bound" ? "≥\u202f" : value.grade === "estimate" ? "≈\u202f" : ""}${n}${s ? html`<i>\u202f${s}</i>` : ""}${value.origin === "model" ? html`<${Mark} source="modelled" words=${false} />` : ""}</span>`;
}

export const has = (v) => v !== null && v !== undefined && v.value !== null && v.value !== undefined;
export const num = (m, key) => (has(m?.[key]) ? m[key].value : null);

export function Panel({ title, note, tools, children, id, cls = "" }) {
  return html`<section class=${"panel " + cls} id=${id} aria-label=${title}>
    ${title && html`<header><h2>${title}</h2>${note && html`<p class="note">${note}</p>`}<span class="grow"></span>${tools}</header>`}
    ${children}
  </section>`;
}

/** Text with `code` in backticks. Never HTML. */
export function Prose({ text }) {
  return (text ?? "").split(/(`[^`]+`)/).map((p) => (p.startsWith("`") && p.length > 2 ? html`<code>${p.slice(1, -1)}</code>` : p));
}

export function Code({ text }) {
  const [done, set] = useState(false);
  return html`<div class="cmd"><code>${text}</code><button class="quiet" onClick=${() => copy(text).then(() => { set(true); setTimeout(() => set(false), 1500); })}>${done ? "Copied" : "Copy"}</button></div>`;
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const t = document.createElement("textarea");
    t.value = text;
    document.body.append(t);
    t.select();
    document.execCommand("copy");
    t.remove();
  }
}

// A wrong token stays in the address bar (the daemon takes a right one out of it): it goes now, so that no copied link holds it.
const wrongToken = !embedded && new URLSearchParams(location.search).has("token");
if (wrongToken) setQuery({ token: null }, { replace: true });

export function Failure({ error }) {
  if (error.status === 401) {
    return html`<div class="state" role="alert"><h1>${wrongToken ? "The token in this address is not this daemon's" : "This daemon wants its token"}</h1>
      ${wrongToken && html`<p>Every database has a token of its own. The link is probably from another database or another machine, or only part of it was copied.</p>`}
      <p>Open the URL that <code>warpsight serve</code> printed when it started: it ends in <code>?token=…</code> and lets this browser in from then on.</p>
      <p>This opens the page with the right one:</p><${Code} text="warpsight serve --open" />
      <p class="soft">The token keeps other users of this machine, and other web pages, away from your sessions. ${error.message}</p></div>`;
  }
  return html`<div class="state" role="alert"><h1>${error.message}</h1>
    ${error.hint && html`<p><${Prose} text=${error.hint} /></p>`}
    ${error.code === "session_not_found" && html`<p>A link carries the number of a session in the sender's database. If it is not in yours, ask for the capture (<code>warpsight export --format capture</code>) and <code>warpsight import</code> it.</p><p><a href="/sessions">Sessions that are here</a></p>`}
    <p class="soft">${error.status ? `${error.status} ${error.code}` : error.code}${error.request ? ` · request ${error.request}` : ""}</p></div>`;
}

/** Waits quietly: nothing for 150 ms, then one line. */
export function Loading({ what = "Loading" }) {
  const [late, set] = useState(false);
  useEffect(() => { const t = setTimeout(() => set(true), 150); return () => clearTimeout(t); }, []);
  return html`<p class="loading" aria-live="polite">${late ? what + " …" : ""}</p>`;
}

export const when = (state, then, what) => (state.error ? html`<${Failure} error=${state.error} />` : state.data === undefined ? html`<${Loading} what=${what} />` : then(state.data));

export function ChartTools({ svg, name }) {
  return html`<span class="tools"><button class="quiet" onClick=${() => saveSvg(svg(), name)}>SVG</button><button class="quiet" onClick=${() => savePng(svg(), name)}>PNG</button></span>`;
}

export function Segment({ label, value, options, onChange }) {
  return html`<div class="segment" role="group" aria-label=${label}>${options.map(([id, title, hint]) => html`<button type="button" key=${id} aria-pressed=${String(id === value)} title=${hint} onClick=${() => onChange(id)}>${title}</button>`)}</div>`;
}

/** Width of an element, followed while it is resized. */
export function useWidth(initial = 800) {
  const watch = useRef(null);
  const [width, set] = useState(initial);
  const ref = useRef((el) => {
    watch.current?.disconnect();
    if (!el) return;
    watch.current = new ResizeObserver(([e]) => set(Math.round(e.contentRect.width)));
    watch.current.observe(el);
  });
  return [ref.current, width];
}

// One tooltip for charts, moved through the CSSOM (the CSP allows no style attribute).
export const tip = signal(null); // {x, y, body}
export function Tip() {
  const ref = useRef(null);
  const t = tip.value;
  useEffect(() => {
    const el = ref.current;
    if (!el || !t) return;
    const w = el.offsetWidth, hgt = el.offsetHeight;
    el.style.left = Math.max(8, Math.min(t.x + 14, innerWidth - w - 12)) + "px";
    el.style.top = (t.y + 16 + hgt > innerHeight ? Math.max(8, t.y - hgt - 12) : t.y + 16) + "px";
  });
  return html`<div class="tip" ref=${ref} role="tooltip" hidden=${!t}>${t?.body}</div>`;
}
export const tipAt = (e, body) => {
  const r = e.clientX ? null : e.target.getBoundingClientRect?.();
  tip.value = { x: e.clientX || (r ? r.right : 0), y: e.clientY || (r ? r.top : 0), body };
};
export const noTip = () => { tip.value = null; };
/** Label and value rows for a tooltip or a card. */
/** Beside the name of a kernel of which the model ran a part of the blocks. */
export const Sampled = ({ s }) => s && html`<span class="chip sampled" title="Only so many blocks of the grid were modelled: every count is an estimate; the 95 % interval of the count that is known worst">≈ ${exact(s.blocks)} of ${exact(s.of)} blocks${s.interval ? html` ±\u202f${(100 * s.interval).toPrecision(2)}\u202f%` : ""}</span>`;

/** Beside the name of a kernel whose launches did different work: a mean stands for none of them. */
export const Varies = ({ keys }) => keys?.length > 0 && html`<span class="chip bad varies" title=${`Its launches differ by more than a tenth in ${keys.join(", ")}: what stands here are means`}>varies</span>`;
/** How a kernel was counted, where the collector said so. */
export const counted = (c) => c && html`<span title=${c.text + (c.footprint_bytes ? `; at most ${exact(c.footprint_bytes)} B in use` : "") + (c.budget_refused ? "; launches were left out for the budget" : "")}>${c.mode === "rotate" ? `by rotation, ${exact(c.passes)} passes` : c.mode === "replay" ? "by replay" : "not"}${c.mode === "replay" && !c.budget_refused ? "" : html` <span class="soft">${c.reason}</span>`}</span>`;

export const rows = (list) => html`<dl class="rows">${list.filter(Boolean).map(([k, v]) => html`<dt>${k}</dt><dd>${v}</dd>`)}</dl>`;

export function Severity({ level, gain, brief = false }) {
  return html`<span class=${"sev " + level}><svg viewBox="0 0 10 10" aria-hidden="true">${level === "high" ? html`<path d="M5 .8 9.6 9H.4Z" />` : level === "medium" ? html`<path d="M5 .6 9.4 5 5 9.4.6 5Z" />` : level === "low" ? html`<circle cx="5" cy="5" r="3.6" />` : html`<rect x="1.5" y="1.5" width="7" height="7" class="hollow" />`}</svg>${brief ? html`<span title=${`${level}: may save up to this share of the kernel's time`}>${gain !== null && gain !== undefined && level !== "info" ? format(gain, "") : level}</span>` : html`${level}${gain !== null && gain !== undefined ? html` · up to ${format(gain, "")}` : ""}`}</span>`;
}

/** The name of a piece of evidence in words; unit: ratios are told by their name where the catalogue does not list the key. */
const evidenceTitle = (key, titles) => titles?.[key] ?? key.replaceAll("_", " ");
const evidenceUnit = (key, units) => units?.[key] ?? (/^(copy|link)_rate$/.test(key) ? "B/s" : /(_share|_throughput|^loss|^last_wave|_rate|busiest_unit)$/.test(key) ? "" : "1");

/** rule: of the catalogue, for the reasons behind it; time: seconds of the kernel, for what would be left; children: what stands below. */
export function Finding({ f, units, titles, kernel, link, rule, time, children }) {
  const left = without(time, f.gain);
  return html`<article class=${"finding " + f.severity}>
    <header><${Severity} level=${f.severity} gain=${f.gain} /><a class="rule" href=${"/reference/rules?q=" + encodeURIComponent(f.rule)}>${f.rule}</a></header>
    ${kernel && html`<h3 class=${link?.includes("/kernels/") ? "mono" : null}>${link ? html`<a href=${link}>${kernel}</a>` : kernel}</h3>`}
    <p><${Prose} text=${f.text} /></p>
    ${left !== null && html`<p class="could" title="The rule's formula for the gain, applied to the mean time: an estimate of the best case, not a measurement">Now <b>${format(time, "s")}</b>, at best <b>${format(left, "s")}</b> <span class="soft">(estimate)</span></p>`}
    ${f.gain === null && f.why && html`<p class="why">Gain not known: ${whyText(f)}.</p>`}
    <dl class="evidence">${Object.entries(f.evidence ?? {}).map(([k, v]) => html`<div key=${k}><dt title=${k}>${evidenceTitle(k, titles)}</dt><dd><${V} v=${v} unit=${evidenceUnit(k, units)} /></dd></div>`)}</dl>
    ${children}
    ${rule && html`<details class="behind"><summary>Why, and when not</summary><p><${Prose} text=${rule.why} /></p>${rows([["Fires when", rule.condition], rule.when_not && ["Not when", rule.when_not], rule.formula && ["Gain", html`<code class="wrap">${rule.formula}</code>`], ["Source", rule.source]])}</details>`}
  </article>`;
}

/** Session-wide bad news, once, above every page of the session. */
export function Banner({ kind, children }) {
  return html`<div class=${"banner " + kind} role=${kind === "bad" ? "alert" : "status"}>${children}</div>`;
}
