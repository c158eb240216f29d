// SPDX-License-Identifier: MIT
// api.js: the only file that talks to the daemon. Answers are cached by path, refetched when the
// ingest revision moves (304 is free), and kept on screen while their successor is on its way.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { answer } from "./embed.js";
import { embedded } from "./router.js";

export class ApiError extends Error {
  constructor(status, body) {
    super(body?.message || `The daemon answered ${status}.`);
    this.status = status;
    this.code = body?.code ?? "";
    this.hint = body?.hint ?? "";
    this.request = body?.request_id ?? "";
  }
}

/** revision: of the data on screen; live: ids of running sessions; connection: open | lost | bye | off. */
export const revision = signal(0);
export const live = signal([]);
export const connection = signal("off");
export const paused = signal(false);
export const pending = signal(0);

const unreachable = () => new ApiError(0, { code: "unreachable", message: "The daemon does not answer.", hint: "Start it again with `warpsight serve`; this page reconnects by itself." });

async function call(path, init) {
  if (embedded) {
    const found = init?.method ? undefined : answer(embedded, path);
    if (found !== undefined) return { json: async () => found };
    throw new ApiError(404, { code: "not_in_file", message: "This saved report does not hold that.", hint: "Open the session in a running daemon: `warpsight serve`." });
  }
  let response;
  try {
    response = await fetch("/api/v1" + path, init);
  } catch {
    throw unreachable();
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  throw new ApiError(response.status, body?.error);
}

async function parse(response) {
  try {
    return await response.json();
  } catch {
    throw new ApiError(0, { code: "truncated", message: "The daemon's answer was cut off.", hint: "Load the page again; if it stays, `warpsight serve` logs why." });
  }
}

export const getJson = async (path) => parse(await call(path));
export const getBytes = async (path, signal) => (await call(path, { signal })).arrayBuffer();
export async function send(method, path, body) {
  const headers = { "X-WarpSight": "1" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const r = await call(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  return r.status === 204 ? null : parse(r);
}

const cache = new Map(); // path -> {data, error, rev}
const LIMIT = 60;

const underway = new Map(); // path and revision -> promise: several parts of a page that want the same ask once

function load(path, fixed) {
  const key = fixed ? path : `${revision.peek()} ${path}`;
  let promise = underway.get(key);
  if (!promise) {
    promise = fetchEntry(path).finally(() => underway.delete(key));
    underway.set(key, promise);
  }
  return promise;
}

async function fetchEntry(path) {
  const rev = revision.peek();
  let entry;
  try {
    entry = { data: await getJson(path), rev };
  } catch (error) {
    // What was there stays readable while the daemon is away.
    const old = cache.get(path);
    entry = error.code === "unreachable" && old?.data ? { data: old.data, stale: true, rev } : { error, rev };
  }
  cache.delete(path);
  cache.set(path, entry);
  if (cache.size > LIMIT) cache.delete(cache.keys().next().value);
  return entry;
}

/** {data, error, loading} of a GET; path null = nothing yet. Keeps the last data while it refetches.
 *  fixed: the answer is the daemon's own and follows no revision. */
export function useApi(path, fixed = false) {
  const rev = fixed ? 0 : revision.value;
  const [state, set] = useState(() => ({ path, ...(path ? cache.get(path) : null) }));
  if (path && !cache.has(path)) load(path, fixed); // asked for now: effects run only after the first paint
  useEffect(() => {
    if (!path) return undefined;
    let gone = false;
    const hit = cache.get(path);
    if (hit) set({ path, ...hit });
    if (!hit || (!fixed && hit.rev !== rev) || hit.error) load(path, fixed).then((entry) => { if (!gone) set({ path, ...entry }); });
    return () => { gone = true; };
  }, [path, rev]);
  const now = state.path === path ? state : { path, ...(path ? cache.get(path) : null) };
  // Another query of the same resource (sort, filter) keeps the old rows until the new ones are here.
  const kin = now.data === undefined && !now.error && path && state.path?.split("?")[0] === path.split("?")[0] ? state.data : undefined;
  return { data: now.data ?? kin, error: now.error, loading: Boolean(path) && now.data === undefined && !now.error };
}

let latest = 0;
function arrived(number, ids) {
  latest = number;
  live.value = ids;
  if (paused.peek() || held) pending.value = number - revision.peek();
  else revision.value = number;
}

/** While the pointer is over rows or points, nothing under it moves; what arrives meanwhile is shown when it leaves. */
let held = false;
export function hold(on) {
  if (held === on) return;
  held = on;
  if (!on && !paused.peek()) resume();
}

export function resume() {
  paused.value = false;
  pending.value = 0;
  if (latest > revision.peek()) revision.value = latest;
}

/** One event stream per tab; without one (too many tabs) the status is polled. */
export function startEvents() {
  if (embedded) return;
  let timer;
  const poll = async () => {
    try {
      const s = await getJson("/status");
      connection.value = "open";
      arrived(s.revision, live.peek());
    } catch (e) {
      connection.value = e.status === 401 ? "off" : "lost";
    }
    timer = setTimeout(poll, 3000);
  };
  const stream = new EventSource("/api/v1/events");
  stream.addEventListener("revision", (e) => {
    clearTimeout(timer);
    timer = undefined;
    connection.value = "open";
    const d = JSON.parse(e.data);
    arrived(d.revision, Array.isArray(d.live) ? d.live : []);
  });
  stream.addEventListener("bye", () => { connection.value = "bye"; });
  stream.addEventListener("error", () => {
    if (connection.peek() === "open") connection.value = "lost";
    if (stream.readyState === EventSource.CLOSED && !timer) timer = setTimeout(poll, 500);
  });
}

export const catalogue = () => useApi("/catalogue", true);
