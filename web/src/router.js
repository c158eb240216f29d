// SPDX-License-Identifier: MIT
// router.js: the URL is the state. Path = page, query = everything that a shared link must bring back.
// A page saved as one file (`report --html`) has no server to own paths: there the route lives behind '#'.
import { computed, signal } from "@preact/signals";

export const embedded = (() => {
  const node = document.getElementById("warpsight-data");
  return node ? JSON.parse(node.textContent) : null;
})();

const read = () => {
  const u = embedded ? new URL(location.hash.slice(1) || "/sessions/" + embedded.report.session.id, "http://x") : new URL(location.href);
  return { path: u.pathname.replace(/(.)\/+$/, "$1"), query: u.searchParams };
};

export const route = signal(read());
export const path = computed(() => route.value.path);

/** href of a route, for a plain <a>. */
export const href = (to) => (embedded ? "#" + to : to);

export function go(to, { replace = false } = {}) {
  if (!embedded) history[replace ? "replaceState" : "pushState"](null, "", to);
  else if (replace) location.replace("#" + to);
  else location.hash = to;
  route.value = read();
}

/** Change query members; null removes one. Typing into a filter replaces, a click pushes. */
export function setQuery(change, { replace = false } = {}) {
  const q = new URLSearchParams(route.value.query);
  for (const [k, v] of Object.entries(change)) v === null || v === undefined || v === "" ? q.delete(k) : q.set(k, v);
  const s = q.toString().replace(/%2C/gi, ",").replace(/%3A/gi, ":").replace(/%2F/gi, "/");
  go(route.value.path + (s ? "?" + s : ""), { replace });
}

export const query = (key, otherwise = "") => route.value.query.get(key) ?? otherwise;

export function link() {
  return embedded ? location.href : location.origin + location.pathname + location.search;
}

export function startRouter(onNavigate) {
  addEventListener(embedded ? "hashchange" : "popstate", () => { route.value = read(); });
  addEventListener("click", (e) => {
    if (e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const a = e.target.closest?.("a[href]");
    if (!a || a.target || a.hasAttribute("download")) return;
    const to = a.getAttribute("href");
    if (!to.startsWith("/") || to.startsWith("/api/")) return;
    e.preventDefault();
    go(to);
    onNavigate?.();
  });
}
