// SPDX-License-Identifier: MIT
// table.js: THE table. Sort by any column, in-cell bars, column chooser, copy, CSV and JSON of what is shown.
// Sorting is the caller's when it gives onSort (the server sorts); else it is done here.
import { useMemo, useRef, useState } from "preact/hooks";
import { V, copy, has, html } from "./ui.js";
import { csv, save } from "./export.js";
import { unitTitle } from "./format.js";
import { query, setQuery } from "./router.js";

const plain = (c, row) => {
  const v = c.get(row);
  return v !== null && typeof v === "object" ? (has(v) ? v.value : null) : v;
};

/** sortKey: member of the query that holds the order, where a link should bring it back.
 *  columns: {key, title, get(row) -> number | text | ws_value, unit, num, bar, render(row), hint, fixed, sort} */
export function Table({ columns, rows, sort, onSort, rowKey, rowClass, rowLink, name, caption, tools, empty, choose, shown, onShown, foot, selected, sortKey }) {
  const [own, setOwn] = useState("");
  const order = onSort ? sort : (sortKey ? query(sortKey) : own) || sort || "";
  const setOrder = onSort ?? (sortKey ? (s) => setQuery({ [sortKey]: s }) : setOwn);
  const visible = shown ? [...columns.filter((c) => c.fixed), ...shown.map((k) => columns.find((c) => c.key === k && !c.fixed)).filter(Boolean)] : columns;
  const falling = order.startsWith("-");
  const key = falling ? order.slice(1) : order;
  const sorted = useMemo(() => {
    const c = columns.find((x) => x.key === key);
    if (onSort || !c) return rows;
    return [...rows].sort((a, b) => {
      const x = plain(c, a), y = plain(c, b);
      if (x === null || x === undefined || y === null || y === undefined) return (x === null || x === undefined) - (y === null || y === undefined);
      const d = typeof x === "string" ? x.localeCompare(y) : x - y;
      return falling ? -d : d;
    });
  }, [rows, order, columns]);
  const peak = useMemo(() => {
    const m = {};
    for (const c of visible) if (c.bar) m[c.key] = c.bar === true ? Math.max(1e-300, ...rows.map((r) => Math.abs(plain(c, r) ?? 0))) : c.bar;
    return m;
  }, [rows, visible]);
  const body = useRef(null);
  const click = (c) => setOrder(key === c.key ? (falling ? c.key : "-" + c.key) : c.num ? "-" + c.key : c.key);
  const arrows = (e) => {
    const tr = e.target.closest("tr");
    if (e.key === "c" && tr && !e.ctrlKey && !e.metaKey) {
      const r = sorted[[...body.current.children].indexOf(tr)];
      if (r) { copy(visible.map((c) => plain(c, r) ?? "").join("\t")); e.stopPropagation(); }
      return;
    }
    if (!["ArrowDown", "ArrowUp", "j", "k"].includes(e.key) || e.ctrlKey || e.metaKey) return;
    const links = [...body.current.querySelectorAll("tr")].map((r) => r.querySelector("a,button"));
    const at = links.indexOf(document.activeElement);
    const next = links[at + (e.key === "ArrowDown" || e.key === "j" ? 1 : -1)];
    if (at >= 0 && next) { next.focus(); e.preventDefault(); e.stopPropagation(); }
  };
  return html`<div class="tablebox">
    ${(tools || name) && html`<div class="tabletools">${tools}<span class="grow"></span>
      ${choose && html`<${Chooser} columns=${columns} shown=${shown} onShown=${onShown} />`}
      ${name && html`<button class="quiet" title="Save the rows and columns shown" onClick=${() => save(name + ".csv", "text/csv", csv([visible.map((c) => c.label ?? c.title), ...sorted.map((r) => visible.map((c) => plain(c, r)))]))}>CSV</button>
      <button class="quiet" title="Save the rows and columns shown" onClick=${() => save(name + ".json", "application/json", JSON.stringify(sorted.map((r) => Object.fromEntries(visible.map((c) => [c.key, plain(c, r)]))), null, 1))}>JSON</button>`}
    </div>`}
    <div class="scroll" tabindex="0" role="region" aria-label=${caption}><table>
      <caption class="sr">${caption}</caption>
      <thead><tr>${visible.map((c) => html`<th key=${c.key} scope="col" class=${c.num ? "r" : ""} aria-sort=${key === c.key ? (falling ? "descending" : "ascending") : null}>
        ${c.sort === false ? html`<span title=${c.hint}>${c.title}</span>` : html`<button title=${[c.hint, unitTitle(c.unit)].filter(Boolean).join(" · ") || null} onClick=${() => click(c)}>${c.title}<i aria-hidden="true">${key === c.key ? (falling ? "▾" : "▴") : ""}</i></button>`}</th>`)}</tr></thead>
      <tbody ref=${body} onKeyDown=${arrows}>${sorted.map((r) => html`<tr key=${rowKey(r)} class=${[rowClass?.(r), selected !== undefined && rowKey(r) === selected ? "selected" : ""].filter(Boolean).join(" ") || null}>${visible.map((c, i) => cell(c, r, peak[c.key], i === 0 && rowLink ? rowLink(r) : null))}</tr>`)}
      ${sorted.length === 0 && html`<tr class="none"><td colspan=${visible.length}>${empty ?? "Nothing here."}</td></tr>`}</tbody>
      ${foot && html`<tfoot>${foot(visible)}</tfoot>`}
    </table></div></div>`;
}

function cell(c, row, peak, link) {
  const v = c.get(row);
  const p = plain(c, row);
  const inner = c.render ? c.render(row) : typeof v === "number" || (v !== null && typeof v === "object") ? html`<${V} v=${v} unit=${c.unit} compact />` : (v ?? html`<span class="why">–</span>`);
  const bar = peak && typeof p === "number" ? { "--w": Math.min(100, (Math.abs(p) / peak) * 100).toFixed(1) + "%" } : null;
  return html`<td class=${(c.num ? "r" : "") + (bar ? " bar" : "") + (c.cls ? " " + c.cls : "")} style=${bar}>${link ? html`<a href=${link}>${inner}</a>` : inner}</td>`;
}

function Chooser({ columns, shown, onShown }) {
  const [find, set] = useState("");
  const list = columns.filter((c) => !c.fixed && (!find || (c.key + " " + (c.label ?? c.title)).toLowerCase().includes(find.toLowerCase())));
  return html`<details class="menu"><summary class="quiet">Columns</summary><div class="sheet">
    <input type="search" placeholder="Find a metric" aria-label="Find a metric" value=${find} onInput=${(e) => set(e.target.value)} />
    <ul>${list.slice(0, 80).map((c) => html`<li><label><input type="checkbox" checked=${shown.includes(c.key)} onChange=${(e) => onShown(e.target.checked ? [...shown, c.key] : shown.filter((k) => k !== c.key))} /> ${c.label ?? c.title} <code>${c.key}</code></label></li>`)}</ul>
    ${list.length > 80 && html`<p class="soft">${list.length - 80} more: type to find them.</p>`}
  </div></details>`;
}
