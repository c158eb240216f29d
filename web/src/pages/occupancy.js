// SPDX-License-Identifier: MIT
// occupancy.js: the calculator on its own. The whole setting is in the URL.
import { catalogue } from "../api.js";
import { exact, kib } from "../format.js";
import { WhatIf } from "../charts/occupancy.js";
import { query, setQuery } from "../router.js";
import { Panel, html, rows, when } from "../ui.js";

const LIMITS = [["warps_per_sm", "Warps per SM", "1"], ["blocks_per_sm", "Blocks per SM", "1"], ["regs_per_sm", "Registers per SM", "1"], ["regs_per_thread", "Registers per thread, at most", "1"], ["smem_per_sm", "Shared memory per SM", "B"], ["smem_per_block", "Shared memory per block, opt-in", "B"], ["smem_reserved", "Reserved per block", "B"], ["barriers_per_sm", "Barriers per SM", "1"], ["cluster_max", "Blocks per cluster, at most", "1"]];

export function OccupancyPage() {
  const cat = catalogue();
  const start = { threads: Number(query("threads", "256")), regs: Number(query("regs", "32")), smem: Number(query("smem", "0")), dynamic: Number(query("dynamic", "0")) };
  return when(cat, (c) => {
    const cc = query("cc", c.limits.some((l) => l.cc === "9.0") ? "9.0" : c.limits[0]?.cc);
    const l = c.limits.find((x) => x.cc === cc);
    const boards = c.boards.filter((b) => b.cc === cc).map((b) => (Array.isArray(b.names) ? b.names[0] : b.names.split("|")[0]));
    return html`<div class="page"><div class="pagehead"><h1>Occupancy calculator</h1><p class="note">How many warps of a launch fit on one SM, and what limits them</p></div>
      <div class="controls"><label class="pick">Compute capability <select value=${cc} onChange=${(e) => setQuery({ cc: e.target.value })}>${c.limits.map((x) => html`<option key=${x.cc} value=${x.cc}>${x.cc}</option>`)}</select></label><span class="soft">${boards.join(", ")}</span></div>
      <div class="two"><div class="main"><${Panel} title="Launch"><${WhatIf} cc=${cc} start=${start} own=${false} onChange=${(v) => setQuery(v, { replace: true })} /><//></div>
      <aside class="side"><${Panel} title=${`Limits of cc ${cc}`}>${l && rows(LIMITS.filter(([k]) => l[k] !== undefined && l[k] !== 0).map(([k, t, u]) => [t, html`<span class="num" title=${`${exact(l[k])}${u === "B" ? " B" : ""}`}>${u === "B" ? kib(l[k]) : exact(l[k])}</span>`]))}${l && html`<p class="caption">${l.source}</p>`}<//></aside></div></div>`;
  }, "Loading the limits");
}
