// SPDX-License-Identifier: MIT
// source.js: a kernel's source, line by line, with what each line cost: heat, requests, sectors, rounds. A panel of the kernel's page.
// PC samples (`run --stalls pc`) stand beside the instructions that they hit: source left, SASS right, one heat.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { STALL_GROUPS, stallGroup } from "../charts/bars.js";
import { useApi } from "../api.js";
import { exact, format } from "../format.js";
import { HEATS, hottest, linesOf, mainHeat, reasonsOf, stretches } from "../lines.js";
import { embedded, query, setQuery } from "../router.js";
import { Code, Loading, Mark, Panel, Segment, V, Why, html } from "../ui.js";
import { Table } from "../table.js";

const isHere = (kid) => !embedded || embedded.sources?.[kid] !== undefined;
const useSource = (id, kid) => useApi(kid === null || !isHere(kid) ? null : `/sessions/${id}/kernels/${kid}/source`);
const base = (path) => path.split("/").pop();
const ratio = (a, b) => (b > 0 ? a / b : null);

// What a rule about accesses finds, as the heat of a line; other rules are about no line.
const HEAT_OF = [[/bank/, "conflicts"], [/coalesced|misaligned|scattered/, "excess"]];

/** The line that has most of what a rule finds: {d, l, heat, share, query}; null when no line stands out, or none is known. */
function useHotLine(id, kid, rule) {
  const heat = HEAT_OF.find(([re]) => re.test(rule))?.[1], d = useSource(id, heat ? kid : null).data;
  return useMemo(() => {
    const all = heat && d?.from ? linesOf(d) : null, l = all && hottest(all.lines, heat)[0];
    return l && l[heat] >= 0.4 * all.total[heat] ? { d, l, heat, share: l[heat] / all.total[heat], query: { heat: heat === mainHeat(all.total) ? null : heat, line: l.id } } : null;
  }, [d, heat]);
}
const placeOf = ({ d, l }) => `line ${l.line} of ${base(d.files[l.file].path)}`;
const MarkOf = ({ d }) => d.from.source === "modelled" && html`<${Mark} source="modelled" /> `;

/** The line to change, in one sentence below the advice of that rule. */
export function HotLine({ id, k, rule }) {
  const hot = useHotLine(id, k.id, rule);
  return hot && html`<p class="verdictline"><span class="qa">Where?</span> <${MarkOf} d=${hot.d} /><button class="quiet at" onClick=${() => { setQuery(hot.query, { replace: true }); document.getElementById("source")?.scrollIntoView(); }}>${placeOf(hot)}</button>${hot.l.text !== null && html` <code>${hot.l.text.trim()}</code>`} <span class="soft">${format(hot.share, "")} of the ${HEATS.find(([h]) => h === hot.heat)[1].toLowerCase()}</span></p>`;
}

/** The same for a list of findings: a link to the line. */
export function LineLink({ id, k, rule }) {
  const hot = useHotLine(id, k.id, rule);
  return hot && html` · <${MarkOf} d=${hot.d} /><a href=${`/sessions/${id}/kernels/${k.id}?line=${hot.l.id}${hot.query.heat ? "&heat=" + hot.heat : ""}`} title=${hot.l.text?.trim()}>${placeOf(hot)}</a>`;
}

/** No facts of lines: which command gives them. */
function Nothing({ source }) {
  return html`<p class="soft">Nothing is known of this kernel's lines. Counters are of a whole kernel. On a GPU, <code>warpsight run --stalls pc ./your_program</code> samples where its warps wait, by line; the SIMT model counts each instruction, without a GPU. ${source === "modelled" ? "This session was modelled before it told of them: model it again." : "Run the same program in it, compiled with "}${source !== "modelled" && html`<code>-lineinfo -cudart shared</code>: its lines then stand here, marked as modelled, where kernel and launch shape are the same.`}</p>
    <${Code} text="warpsight run --model ./your_program" /><p class="soft">A kernel's PTX alone: <code>warpsight model --ptx kernel.ptx --spec launch.json</code>. The reference kernels: <code>warpsight kernels model</code>.</p>`;
}

const Ratio = ({ v, best }) => (v === null ? "" : html`<span class=${"num" + (best !== null && v > best * 1.1 ? " poor" : "")} title=${`${exact(v)}${best === null ? "" : `, best possible ${exact(best)}`}`}>${format(v, "1")}</span>`);

const wordOf = (reason) => reason.replaceAll("_", " ");

/** Why warps were found there: a small bar, groups of reasons in the colours of the kernel's stalls. */
function Reasons({ stalls, samples }) {
  const parts = reasonsOf(stalls);
  let at = 0;
  return html`<svg class="whybar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label=${parts.slice(0, 3).map(([r, n]) => `${wordOf(r)} ${format(n / samples, "")}`).join(", ")}><title>${parts.map(([r, n]) => `${wordOf(r)} ${format(n / samples, "")}`).join("\n")}</title>${parts.map(([r, n]) => { const x = at; at += (n / samples) * 100; return html`<rect key=${r} class=${"st-" + stallGroup(r)} x=${x} width=${(n / samples) * 100} height="10" />`; })}</svg>`;
}

/** The instructions with samples of a line, and its reasons. */
function Sampled({ l, total }) {
  return html`<tr class="ins"><td></td><td colspan="6"><table class="plain"><caption class="sr">Why warps were found at line ${l.line}</caption><thead><tr><th scope="col">Reason</th><th class="r" scope="col">PC samples</th><th class="r" scope="col">Of the line</th><th class="r" scope="col">Of the kernel</th></tr></thead><tbody>
    ${reasonsOf(l.stalls).map(([r, n]) => html`<tr key=${r}><td><i class=${"key st-" + stallGroup(r)}></i>${wordOf(r)}</td><td class="r"><${V} v=${n} unit="1" /></td><td class="r"><${V} v=${n / l.samples} unit="" /></td><td class="r"><${V} v=${n / total} unit="" /></td></tr>`)}</tbody></table></td></tr>`;
}

/** Every instruction of the code, as far as it is known: those of the open line are marked. */
function Sass({ d, at, open, total }) {
  const box = useRef(null), s = d.samples;
  const rows = s.rows.filter((r) => s.sass_why === null || r.samples > 0), cubins = [...new Set(rows.map((r) => r.cubin))];
  const most = Math.max(1, ...rows.map((r) => r.samples));
  const idOf = (r) => (r.file === null ? null : `${r.file}:${r.line}`);
  useEffect(() => {
    const hot = rows.filter((r) => idOf(r) === at).sort((a, b) => b.samples - a.samples)[0], row = hot && box.current?.querySelector(`tr[data-at="${hot.cubin}-${hot.at}"]`);
    if (row) box.current.scrollTop = row.offsetTop - box.current.clientHeight / 2;
  }, [at]);
  return html`<div class="codes sass" tabindex="0" role="region" aria-label="SASS instructions" ref=${box}>
    ${cubins.map((c) => html`<table class="code" key=${c}><caption>SASS${s.sass_why && html` <span class="why">no text: ${s.sass_why}</span>`}</caption>
    <thead><tr><th scope="col" class="r">At</th><th scope="col" class="r">Line</th><th scope="col">Samples</th><th scope="col">Why</th><th scope="col">Instruction</th></tr></thead><tbody>
    ${rows.filter((r) => r.cubin === c).map((r) => html`<tr key=${r.at} data-at=${`${r.cubin}-${r.at}`} class=${`${r.samples ? "has" : ""} ${at !== null && idOf(r) === at ? "at" : ""}`}>
      <td class="no">${r.at.toString(16).padStart(4, "0")}</td>
      <td class="no">${r.file !== null && html`<button aria-label=${`Line ${r.line} of ${base(d.files[r.file].path)}`} title=${r.call_line ? `inlined at line ${r.call_line}` : undefined} onClick=${() => open(idOf(r))}>${r.line}</button>`}</td>
      <td class="heat">${r.samples > 0 && html`<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width=${(r.samples / most) * 100} height="10" /></svg><span title=${exact(r.samples)}>${format(r.samples / total, "")}</span>`}</td>
      <td class="whycell">${r.samples > 0 && html`<${Reasons} stalls=${r.stalls} samples=${r.samples} />`}</td>
      <td class="text"><code>${r.sass ?? ""}</code></td></tr>`)}</tbody></table>`)}</div>`;
}

function Instructions({ l }) {
  return html`<tr class="ins"><td></td><td colspan="5"><table class="plain"><caption class="sr">Instructions of line ${l.line}</caption><thead><tr><th scope="col">PTX</th><th scope="col">Instruction</th><th scope="col">Access</th><th class="r" scope="col">Warps</th><th class="r" scope="col">Lanes</th><th class="r" scope="col">Sectors</th><th class="r" scope="col">Ideal</th><th class="r" scope="col">Rounds</th><th class="r" scope="col">Ideal</th></tr></thead><tbody>
    ${l.instructions.map((i) => html`<tr key=${i.key}><td class="num soft">${i.at}</td><td><code>${i.opcode}</code></td><td class="soft">${i.space ? `${i.space} ${i.access.replace("-", " ")}` : ""}</td><td class="r"><${V} v=${i.runs} unit="1" /></td><td class="r"><${V} v=${ratio(i.lanes, i.runs) ?? 0} unit="1" /></td>${["sectors", "ideal_sectors", "wavefronts", "ideal_wavefronts"].map((c) => html`<td class="r" key=${c}>${i[c] ? html`<${V} v=${i[c]} unit="1" />` : ""}</td>`)}</tr>`)}</tbody></table></td></tr>`;
}

function Line({ n, text, l, heat, peak, total, open, onOpen, has }) {
  const x = l?.[heat] ?? 0;
  return html`<tr class=${`${l ? "has" : ""} ${open ? "at" : ""}`} data-line=${l?.id}>
    <td class="no">${l ? html`<button aria-expanded=${String(open)} aria-label=${`Line ${n}: instructions`} onClick=${onOpen}>${n}</button>` : n}</td>
    <td class="heat">${x > 0 && html`<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width=${(x / peak) * 100} height="10" /></svg><span title=${exact(x)}>${format(x / total, "")}</span>`}</td>
    ${has.samples && html`<td class="whycell">${l?.samples ? html`<${Reasons} stalls=${l.stalls} samples=${l.samples} />` : ""}</td>`}
    ${has.requests && html`<td class="r opt">${l?.requests ? html`<${V} v=${l.requests} unit="1" />` : ""}</td>`}
    ${has.sectors && html`<td class="r">${l?.sectors ? html`<${Ratio} v=${ratio(l.sectors, l.sectorRequests)} best=${ratio(l.ideal_sectors, l.sectorRequests)} />` : ""}</td>`}
    ${has.rounds && html`<td class="r">${l?.wavefronts ? html`<${Ratio} v=${ratio(l.wavefronts, l.sharedRequests)} best=${ratio(l.ideal_wavefronts, l.sharedRequests)} />` : ""}</td>`}
    <td class="text"><code>${text ?? html`<span class="why">${l ? [...new Set(l.instructions.map((i) => i.opcode))].slice(0, 6).join(", ") : ""}</span>`}</code></td></tr>
    ${open && l && l.samples > 0 && html`<${Sampled} l=${l} total=${has.total} />`}
    ${open && l && l.instructions.length > 0 && html`<${Instructions} l=${l} />`}`;
}

function File({ f, lines, heat, peak, total, at, open, has }) {
  const known = new Map(lines.map((l) => [l.line, l]));
  const parts = f.lines.length ? stretches([...known.keys()], f.first + f.lines.length - 1) : lines.map((l) => [l.line, l.line]);
  return html`<table class="code"><caption><code title=${f.path}>${base(f.path)}</code>${f.why && html` <span class="why">no text: ${f.why}</span>`}${f.changed && html` <span class="poor">changed since: lines may have moved</span>`}</caption>
    <thead><tr><th scope="col" class="r">Line</th><th scope="col">${HEATS.find(([h]) => h === heat)[1]}</th>${has.samples && html`<th scope="col" title="Reasons for which warps were found there">Why</th>`}${has.requests && html`<th scope="col" class="r opt" title="Memory requests of warps, a launch">Requests</th>`}${has.sectors && html`<th scope="col" class="r" title="32-byte sectors of global and local memory that a request touches">Sectors each</th>`}${has.rounds && html`<th scope="col" class="r" title="Rounds that shared memory needs for a request">Rounds each</th>`}<th scope="col">Source</th></tr></thead>
    ${parts.map(([a, b], i) => html`<tbody key=${a}>${i > 0 && html`<tr class="fold"><td colspan="7">⋯</td></tr>`}${Array.from({ length: b - a + 1 }, (_, j) => { const l = known.get(a + j); return html`<${Line} key=${a + j} n=${a + j} text=${f.lines[a + j - f.first]} l=${l} heat=${heat} peak=${peak} total=${total} has=${has} open=${l !== undefined && l.id === at} onOpen=${() => open(l.id === at ? null : l.id)} />`; })}</tbody>`)}</table>`;
}

function Lines({ d, k, id }) {
  const { lines, total } = useMemo(() => {
    const all = linesOf(d);
    // A line may access both memories: what is said "each" counts the requests of its own kind.
    for (const l of all.lines) for (const i of l.instructions) {
      if (i.sectors) l.sectorRequests = (l.sectorRequests ?? 0) + i.requests;
      if (i.wavefronts) l.sharedRequests = (l.sharedRequests ?? 0) + i.requests;
    }
    return all;
  }, [d]);
  const heat = HEATS.some(([h]) => h === query("heat")) ? query("heat") : mainHeat(total), at = query("line") || null;
  const hot = hottest(lines, heat), rank = hot.findIndex((l) => l.id === at);
  const open = (line) => setQuery({ line }, { replace: true });
  const jump = (by) => {
    const to = hot[Math.max(0, Math.min(hot.length - 1, rank < 0 ? 0 : rank + by))];
    if (to) open(to.id);
  };
  useEffect(() => { if (at) document.querySelector(`tr[data-line="${at}"]`)?.scrollIntoView({ block: "center" }); }, [at]);
  useEffect(() => {
    const on = (e) => {
      const by = { n: 1, p: -1 }[e.key];
      if (!by || e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) || e.target.closest?.("dialog")) return;
      e.preventDefault();
      jump(by);
    };
    addEventListener("keydown", on);
    return () => removeEventListener("keydown", on);
  });
  const has = { samples: total.samples > 0, total: total.samples, requests: total.requests > 0, sectors: total.sectors > 0, rounds: total.wavefronts > 0 };
  const files = [...new Set(lines.map((l) => l.file))];
  const there = total[heat] > 0, peak = Math.max(1e-300, hot[0]?.[heat] ?? 0);
  const columns = [
    { key: "file", title: "File", get: (l) => d.files[l.file].path, render: (l) => html`<span class="mono" title=${d.files[l.file].path}>${base(d.files[l.file].path)}</span>` },
    { key: "line", title: "Line", num: true, get: (l) => l.line, render: (l) => html`<span class="num">${l.line}</span>` }, { key: "text", title: "Source", cls: "wide", get: (l) => l.text ?? "", render: (l) => html`<code class="clip">${l.text ?? ""}</code>` },
    ...(has.samples ? [["samples", "PC samples"]] : []).map(([key, title]) => ({ key, title, num: true, unit: "1", get: (l) => l[key] })),
    ...(total.runs > 0 ? [["requests", "Requests"], ["sectors", "Sectors"], ["ideal_sectors", "Ideal sectors"], ["wavefronts", "Rounds"], ["ideal_wavefronts", "Ideal rounds"], ["conflicts", "Extra rounds"], ["runs", "Instructions"], ["lanes", "Thread instructions"], ["diverged", "Splits"]] : []).map(([key, title]) => ({ key, title, num: true, unit: "1", get: (l) => l[key] })),
  ];
  return html`<div class="controls"><${Segment} label="Heat by" value=${heat} onChange=${(h) => setQuery({ heat: h === mainHeat(total) ? null : h, line: null }, { replace: true })} options=${HEATS.filter(([h]) => total[h] > 0).map(([h, t, doc]) => [h, t, doc])} />
      <span class="tools"><button class="quiet" disabled=${!hot.length || rank === 0} title="The line hotter than this (p)" onClick=${() => jump(-1)}>▴ hotter</button><button class="quiet" disabled=${!hot.length || rank === hot.length - 1} title="The next hottest line (n)" onClick=${() => jump(1)}>▾ next hottest</button></span>
      ${rank >= 0 && html`<span class="soft" aria-live="polite">line ${hot[rank].line}: ${rank + 1} of ${hot.length}, ${format(hot[rank][heat] / total[heat], "")} of ${exact(Math.round(total[heat]))}</span>`}</div>
    ${there ? "" : html`<p class="soft">None in this kernel.</p>`}
    <div class=${has.samples ? "sides" : ""}><div class="codes" tabindex="0" role="region" aria-label="Source lines">${files.map((f) => html`<${File} key=${f} f=${d.files[f]} lines=${lines.filter((l) => l.file === f)} heat=${heat} peak=${peak} total=${total[heat] || 1} has=${has} at=${at} open=${open} />`)}${lines.length === 0 && html`<p class="why">No line is known: ${d.samples?.lines_why ?? "compile with -lineinfo"}.</p>`}</div>${has.samples && html`<${Sass} d=${d} at=${at} open=${open} total=${total.samples} />`}</div>
    ${has.samples && html`<p class="legend">${STALL_GROUPS.filter(([g]) => reasonsOf(total.stalls).some(([r]) => stallGroup(r) === g)).map(([g, t]) => html`<span key=${g}><i class=${"key st-" + g}></i>${t}</span>`)}</p>`}
    ${d.instructions.some((i) => i.file === null) && html`<p class="caption">${lines.length ? "Some" : "All"} of the instructions have no source line: compile with <code>-lineinfo</code>.</p>`}
    <details class="twin"><summary>As a table</summary><${Table} columns=${columns} rows=${lines} rowKey=${(l) => l.id} sort=${"-" + (columns.some((c) => c.key === heat) ? heat : "sectors")} name=${`kernel-${k.id}-lines`} caption="Source lines of this kernel" empty="No line is known." /></details>
    ${total.runs > 0 && html`<p class="caption">Counts of one launch, of the compiler's PTX: SASS may join or drop instructions. A number in red is above the best possible for the access's width.</p>`}
    ${has.samples && html`<p class="caption">PC samples of all launches of this function, whatever their shape: where the hardware found a warp, and what it waited for. Another method than counters: the two are never added.${d.samples.lines_why && html` Some code has no lines: ${d.samples.lines_why}.`}</p>`}`;
}

export function Source({ id, k, source }) {
  const state = useSource(id, k.id), d = state.data;
  const from = d?.from, elsewhere = from && from.kernel !== k.id;
  return html`<${Panel} id="source" title="Source" note=${d?.samples ? "Where warps waited, by PC samples" : from ? html`<${Mark} source=${from.source} /> what each line cost` : "What each line cost"} tools=${elsewhere && !embedded && html`<a class="quiet" href=${`/sessions/${from.session}/kernels/${from.kernel}`}>session ${from.session}, ${from.name || "unnamed"}</a>`}>
    ${!isHere(k.id) ? html`<p class="soft">The source of this kernel is not kept in this file. <code>warpsight report --html FILE --source KERNEL</code> keeps it; so does the session in a daemon, <code>warpsight serve</code>.</p>` : state.error ? html`<${Why} v=${{ why: state.error.message }} />` : !d ? html`<${Loading} what="Loading the source" />` : !from && !d.samples ? html`<${Nothing} source=${source} />` : html`${elsewhere && html`<p class="hint">${d.samples ? "Counts of instructions" : "No counter of this session tells of lines. These"} are of the same kernel with the same launch shape in session ${from.session}${from.source === "modelled" ? ", as the SIMT model predicts them" : ""}.</p>`}<${Lines} d=${d} k=${k} id=${id} />`}
  <//>`;
}
