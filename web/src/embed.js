// SPDX-License-Identifier: MIT
// embed.js: answers the API's questions from one report inside the page itself (`report --html`): no daemon, no network.
// The file carries <script type="application/json" id="warpsight-data">{"report":…,"session":…,"roofline":…,"catalogue":…,"sources":{ID:…}}</script>:
// report = `report --json`; session, roofline, time and catalogue = the API's answers of those names, sources those
// of the kernels that `--source` named. All but report may be left out.

const value = (k, key) => {
  if (key === "duration") return k.duration?.total ?? null;
  if (["mean", "min", "max"].includes(key)) return k.duration?.[key] ?? null;
  if (key === "launches") return k.launches;
  if (key === "name") return k.demangled ?? k.name;
  if (key === "gain") return (k.findings ?? []).reduce((m, f) => (f.gain !== null && (m === null || f.gain > m) ? f.gain : m), null);
  return k.metrics?.[key]?.value ?? null;
};

const OPS = { ">": (a, b) => a > b, ">=": (a, b) => a >= b, "<": (a, b) => a < b, "<=": (a, b) => a <= b, "=": (a, b) => a === b };

/** One term of a filter, as the daemon reads it (docs/api.md). */
function holds(k, term) {
  const c = /^(\w+)(>=|<=|>|<|=)(.+)$/.exec(term);
  if (c) { const v = value(k, c[1]); return v !== null && OPS[c[2]](v, Number(c[3])); }
  if (term.startsWith("rule:")) return (k.findings ?? []).some((f) => f.rule.startsWith(term.slice(5)));
  if (term.startsWith("severity:")) return (k.findings ?? []).some((f) => f.severity === term.slice(9));
  if (term.startsWith("bound:")) return (k.roofline?.points ?? []).some((p) => p.bound === term.slice(6));
  return (k.demangled ?? k.name).toLowerCase().includes(term.replace(/^name:/, "").toLowerCase());
}

function kernels(list, query) {
  const terms = (query.get("filter") ?? "").split(/\s+/).filter(Boolean);
  const sort = query.get("sort") ?? "-duration", falls = sort.startsWith("-"), key = sort.replace("-", "");
  const rows = list.filter((k) => terms.every((t) => (t.length > 1 && t.startsWith("-") ? !holds(k, t.slice(1)) : holds(k, t))));
  rows.sort((a, b) => {
    const x = value(a, key), y = value(b, key);
    if (x === null || y === null) return (x === null) - (y === null);
    const d = typeof x === "string" ? x.localeCompare(y) : x - y;
    return falls ? -d : d;
  });
  return rows;
}

/** The answer to a path of the API, or undefined. */
export function answer(data, path) {
  const u = new URL(path, "http://x"), r = data.report;
  const session = { live: false, note: "", kernels: r.kernels.length, launches: r.kernels.reduce((n, k) => n + k.launches, 0), ...r.session };
  const at = u.pathname.replace(/^\/sessions\/\d+/, "/session");
  if (u.pathname === "/sessions") return { sessions: [session], next: null, total: 1 };
  if (at === "/session") return data.session ?? { session, processes: [], devices: r.devices, warnings: r.warnings, loss: [], cost: [] };
  if (at === "/session/report") return r;
  if (at === "/session/kernels") { const rows = kernels(r.kernels, u.searchParams); return { session: session.id, kernels: rows, total: rows.length, next: null }; }
  const one = /^\/session\/kernels\/(\d+)$/.exec(at);
  if (one) { const k = r.kernels.find((x) => x.id === Number(one[1])); return k && { ...r, kernels: [k] }; }
  const source = /^\/session\/kernels\/(\d+)\/source$/.exec(at);
  if (source) return data.sources?.[source[1]];
  if (at === "/session/roofline") return data.roofline ?? { session: session.id, devices: r.devices.map((g) => ({ ...g, ceilings: [] })), points: r.kernels.flatMap((k) => (k.roofline?.points ?? []).map((p) => ({ kernel: k.id, name: k.demangled ?? k.name, launches: k.launches, duration: k.duration?.total, ...p }))), not_plotted: r.kernels.filter((k) => !k.roofline?.points?.length).map((k) => ({ kernel: k.id, name: k.demangled ?? k.name, why: k.roofline?.why ?? "" })) };
  if (at === "/session/time") return data.time;
  if (at === "/session/timeline") return { session: session.id, base_ns: "0", from: 0, to: 0, events: 0, kernels: [], lanes: [] };
  if (u.pathname === "/catalogue") return data.catalogue ?? { metrics: [], units: [], rules: [], limits: [], boards: [], stalls: [], timeline: [], ceilings: [], reasons: [], formats: [] };
  return undefined;
}
