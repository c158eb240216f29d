// SPDX-License-Identifier: MIT
// palette.js: everything that can be gone to or done, found by a few letters: pages, kernels and sessions, rules, metrics, actions.
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { catalogue, useApi } from "./api.js";
import { score } from "./fuzzy.js";
import { embedded, go } from "./router.js";
import { html } from "./ui.js";

export const palette = signal(false);

const MOST = 12;

/** entries: [what kind, text, to: path or function]; the session's kernels, all sessions, rules and metrics are added here. */
export function Palette({ session, entries }) {
  const ref = useRef(null), ours = useRef(false); // ours: the next close event tells of our own closing, and may come after it was opened again
  const [typed, type] = useState("");
  const [at, setAt] = useState(0);
  const on = palette.value;
  const cat = catalogue().data;
  const kernels = useApi(on && session ? `/sessions/${session}/kernels?sort=-duration&limit=1000` : null);
  const sessions = useApi(on ? "/sessions?limit=100" : null);
  useEffect(() => {
    if (!on) { if (ref.current?.open) { ours.current = true; ref.current.close(); } return; }
    type("");
    setAt(0);
    if (!ref.current?.open) ref.current?.showModal();
    ref.current?.querySelector("input")?.focus();
  }, [on]);
  const all = useMemo(() => [
    ...entries,
    ...(kernels.data?.kernels ?? []).map((k) => ["kernel", `${k.name}  grid ${k.grid.join("×")}`, `/sessions/${session}/kernels/${k.id}`, k.demangled]),
    ...(sessions.data?.sessions ?? []).map((s) => ["session", `${s.name || s.exe} (${s.id})`, `/sessions/${s.id}`]),
    ...(embedded ? [] : (cat?.rules ?? [])).map((r) => ["rule", `${r.id}: ${r.title}`, "/reference/rules?q=" + encodeURIComponent(r.id)]),
    ...(embedded ? [] : (cat?.metrics ?? [])).map((m) => ["metric", `${m.title}  ${m.key}`, "/reference/metrics?q=" + encodeURIComponent(m.key)]),
  ], [entries, kernels.data, sessions.data, cat]);
  const found = useMemo(() => {
    if (!typed.trim()) return all.slice(0, MOST);
    return all.map((e) => [Math.max(score(typed.trim(), e[1]) ?? -Infinity, (score(typed.trim(), e[3] ?? "") ?? -Infinity) - 50), e]).filter(([s]) => s > -Infinity).sort((a, b) => b[0] - a[0]).slice(0, MOST).map(([, e]) => e);
  }, [all, typed]);
  const take = (e) => { palette.value = false; if (!e) return; if (typeof e[2] === "function") e[2](); else go(e[2]); };
  const keys = (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step) setAt((i) => (i + step + found.length) % Math.max(1, found.length));
    else if (e.key === "Enter") take(found[at]);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return html`<dialog ref=${ref} class="palette" aria-label="Go to, or do" onClose=${() => { if (!ours.current) palette.value = false; ours.current = false; }} onClick=${(e) => { if (e.target === ref.current) palette.value = false; }}>
    ${on && html`<input type="search" class="mono" role="combobox" aria-expanded="true" aria-controls="found" aria-activedescendant=${found[at] ? "found-" + at : null} aria-label="Go to, or do" placeholder="kernel, page, session, rule, metric, action" autocomplete="off" spellcheck="false" value=${typed} onInput=${(e) => { type(e.target.value); setAt(0); }} onKeyDown=${keys} />
    <ul id="found" role="listbox" aria-label="Found">${found.map((e, i) => html`<li key=${e[0] + e[1] + i} id=${"found-" + i} role="option" aria-selected=${String(i === at)} title=${e[3]} onPointerMove=${() => setAt(i)} onClick=${() => take(e)}><span class="what">${e[0]}</span><span class="clip">${e[1]}</span></li>`)}</ul>
    ${found.length === 0 && html`<p class="soft none">Nothing has these letters in this order.</p>`}`}</dialog>`;
}
