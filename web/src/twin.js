// SPDX-License-Identifier: MIT
// twin.js: a rule's reference kernels, the bad beside the good, as they were measured in a session of this database.
// Which of them is bad is not stated here: it is the one in which the rule fires.
import { useApi } from "./api.js";
import { dims, format, shortName } from "./format.js";
import { V, html } from "./ui.js";
import { twinNames } from "./verdict.js";

/** Kernels whose name holds `name`: of the session on screen, else of the newest one that ran the reference kernels. */
function useKernels(id, name, metric) {
  const ask = (session) => (session && name ? `/sessions/${session}/kernels?filter=name:${name}&limit=60${metric ? "&metrics=" + metric.key : ""}` : null);
  const here = useApi(ask(id));
  const sessions = useApi(here.data?.total === 0 ? "/sessions?limit=100" : null);
  const elsewhere = sessions.data?.sessions.find((s) => /warpsight-kernels$/.test(s.exe) && s.id !== id)?.id;
  const there = useApi(ask(elsewhere));
  return { session: here.data?.total ? id : elsewhere, list: (here.data?.total ? here.data : there.data)?.kernels ?? [] };
}

/** metric: of the catalogue, the one that tells the two apart; except: the kernel on screen. */
export function Twin({ id, rule, metric, except }) {
  const names = [twinNames(rule.bad)[0], twinNames(rule.good)[0]];
  const a = useKernels(id, names[0], metric), b = useKernels(id, names[1] === names[0] ? undefined : names[1], metric);
  const fires = (k) => k.findings?.find((f) => f.rule === rule.id);
  const gain = (k) => fires(k)?.gain ?? 0;
  const good = names[1] === names[0] ? a : b;
  // The nearest twin is another instance of the same function: transpose_tile<33> beside transpose_tile<32>.
  const like = (k) => (k.name ?? "").replace(/<.*/, ""), model = a.list.find((k) => k.id === except && fires(k)) ?? a.list.find(fires);
  const far = (k) => (model && like(k) === like(model) ? 0 : 1);
  const rows = [
    ...a.list.filter((k) => fires(k) && k.id !== except).sort((x, y) => gain(y) - gain(x)).slice(0, 2).map((k) => [k, a.session, true]),
    ...good.list.filter((k) => !fires(k) && k.profiled_launches > 0 && k.id !== except).sort((x, y) => far(x) - far(y)).slice(0, 2).map((k) => [k, good.session, false]),
  ];
  return html`<div class="twinbox">
    ${rows.length > 0 && html`<table class="plain"><caption class="sr">Reference kernels in which ${rule.id} fires, and in which it does not</caption><tbody>${rows.map(([k, session, bad]) => html`<tr key=${k.id}><td><span class=${bad ? "poor" : "fine"}>${bad ? "✗ bad twin" : "✓ good twin"}</span></td><td><a class="mono clip" title=${`${k.demangled || k.name}, grid ${dims(k.grid)}, block ${dims(k.block)}, session ${session}`} href=${`/sessions/${session}/kernels/${k.id}`}>${shortName(k.demangled || k.name)}</a></td><td class="r" title=${metric?.title}>${metric ? html`<${V} v=${k.metrics?.[metric.key]} />` : bad ? format(gain(k), "") : ""}</td></tr>`)}</tbody></table>`}
    <p class="soft">Bad twin: ${rule.bad || "none"}. Good twin: ${rule.good || "none"}.</p></div>`;
}
