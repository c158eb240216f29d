// SPDX-License-Identifier: MIT
// harness.mjs: a daemon on a database of its own with the recorded captures in it, and a browser whose pages
// collect everything that must not happen: console errors, page errors, policy violations, requests elsewhere.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { require } from "./bundle.mjs";

const root = new URL("../../", import.meta.url).pathname;
export const program = join(process.env.B ?? join(root, "build"), "warpsight");
const scratch = process.env.SCRATCH ?? tmpdir();
/** A synthetic session by tests/web/made_up.c: "" | "after" | "live" | "rotated" | "sampled". */
export function madeUp(kind = "") {
  const file = join(scratch, `made-up${kind}.wscap`);
  execFileSync(join(process.env.B ?? join(root, "build"), "web/made_up"), [file, ...(kind ? [kind] : [])]);
  return file;
}
/** Reference kernels through the SIMT model; names of kernels/ptx. */
export function modelled(names, ...options) {
  const dir = mkdtempSync(join(scratch, "model-")), file = join(dir, "modelled.wscap");
  execFileSync(resolve(program), ["kernels", "model", ...names, ...options, "-q", "-o", "modelled.wscap"], { cwd: dir, env: { ...process.env, WARPSIGHT_DB: join(dir, "db"), WARPSIGHT_SPOOL: join(dir, "spool") } });
  return file;
}
/** What was recorded on a GPU. */
export const recorded = readdirSync(join(root, "tests/flow")).filter((f) => f.endsWith(".wscap")).map((f) => join(root, "tests/flow", f));
export const captures = process.env.WS_UI_URL ? recorded : [madeUp(), madeUp("after"), ...recorded];

/** {url, token, db, env, stop(), kill()}; files: captures to import before. WS_UI_URL: a daemon that runs
 *  already is used, unless the test needs its own. */
export async function daemon({ files = captures, token = false, own = false } = {}) {
  if (process.env.WS_UI_URL && !own) {
    const u = new URL(process.env.WS_UI_URL);
    return { url: u.origin, token: u.searchParams.get("token"), db: null, stop: async () => {} };
  }
  const dir = mkdtempSync(join(scratch, "ui-"));
  return serve(dir, files, token);
}

const children = new Set();
export function child(command, args, env = process.env) {
  const c = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  children.add(c);
  c.on("exit", () => children.delete(c));
  return c;
}

/** A daemon again on the database of one that has ended; port: the same as before, where the page must find it. */
export const again = (e, port = 0) => serve(e.dir, [], false, port);

async function serve(dir, files, token, port = 0) {
  const env = { ...process.env, WARPSIGHT_DB: join(dir, "db"), WARPSIGHT_SPOOL: join(dir, "spool"), XDG_RUNTIME_DIR: dir, XDG_DATA_HOME: dir };
  for (const f of files) execFileSync(program, ["import", f], { env, stdio: ["ignore", "ignore", "pipe"] });
  const server = child(program, ["serve", "--listen", `127.0.0.1:${port}`, ...(token ? [] : ["--no-token"])], env);
  let said = "";
  const url = await new Promise((ok, no) => {
    const hear = (d) => { said += d; const m = /http:\/\/[^\s"']+/.exec(said); if (m) ok(new URL(m[0])); };
    server.stdout.on("data", hear);
    server.stderr.on("data", hear);
    server.on("exit", (c) => no(new Error(`warpsight serve ended with ${c}: ${said}`)));
    setTimeout(() => no(new Error("warpsight serve printed no URL: " + said)), 20000).unref();
  });
  const gone = new Promise((ok) => server.on("exit", ok));
  return { dir, url: url.origin, token: url.searchParams.get("token"), db: join(dir, "db"), spool: join(dir, "spool"), kill: async () => { server.kill("SIGKILL"); await gone; }, stop: async () => { server.kill("SIGTERM"); await gone; } };
}

let shared;
export async function browser() {
  shared ??= await require("playwright-core").chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  return shared;
}
/** Whatever a failed test left behind must not keep the run from ending. */
export const closeAll = async () => { await shared?.close(); for (const c of children) { c.kill("SIGKILL"); c.stdout?.destroy(); c.stderr?.destroy(); } };

/** A page with a fresh profile. page.problems: what must not have happened; allow: statuses of requests that may fail. */
export async function open(url, { theme = "light", allow = [], ...options } = {}) {
  const context = await (await browser()).newContext({ viewport: { width: 1280, height: 800 }, colorScheme: theme, reducedMotion: "reduce", permissions: ["clipboard-read", "clipboard-write"], ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  page.problems = [];
  const origin = new URL(url).origin;
  page.on("console", (m) => { if (["error", "warning"].includes(m.type()) && !allow.some((s) => m.text().includes(s))) page.problems.push(`console: ${m.text()}`); });
  page.on("pageerror", (e) => page.problems.push(`error: ${e.message}`));
  page.on("request", (r) => { const u = new URL(r.url()); if (u.origin !== origin && !["data:", "blob:"].includes(u.protocol)) page.problems.push(`request elsewhere: ${r.url()}`); });
  await page.addInitScript(() => document.addEventListener("securitypolicyviolation", (e) => console.error("policy violation: " + e.violatedDirective + " " + e.blockedURI)));
  await page.goto(url);
  await settled(page);
  return page;
}

/** The page has drawn what it asked for. */
export async function settled(page) {
  await page.waitForFunction(() => document.documentElement.dataset.ready === "1" && document.querySelector("main h1, main .state, main .tablebox") && !document.querySelector(".loading"), null, { timeout: 20000 });
}

export async function close(page) {
  await page.context().close();
}

export const getJson = async (d, path) => {
  const r = await fetch(d.url + "/api/v1" + path, { headers: d.token ? { Authorization: "Bearer " + d.token } : {} });
  if (!r.ok) throw new Error(`${path}: ${r.status} ${await r.text()}`);
  return r.json();
};
