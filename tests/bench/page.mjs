// SPDX-License-Identifier: MIT
// page.mjs: how long the page takes to be usable, and a frame of the timeline to be drawn, in a real browser.
// usage: node page.mjs URL SESSION [ROUNDS]     prints JSON; times in ms
// Usable: the page's own mark that it has drawn what it asked for, counted from the start of the navigation; the
// browser's cache is empty each time. A frame: from one animation frame to the next while the view pans, with the
// display's rate limit off, so that a frame takes as long as its script, layout and raster do.
import { require } from "../web/bundle.mjs";

const [url, session, rounds = "7"] = process.argv.slice(2);
const { chromium } = require("playwright-core");
const launch = (...more) => chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", ...more],
});
let browser = await launch();
const median = (v) => v.sort((a, b) => a - b)[Math.floor(v.length / 2)];
const at = (v, q) => v[Math.min(v.length - 1, Math.floor(v.length * q))];

/** The tab before is gone and the browser rests, as it does when somebody opens a page. */
const rest = () => new Promise((ok) => setTimeout(ok, 500));

async function open(path) {
  await rest();
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  page.setDefaultTimeout(60000);
  await page.addInitScript(() => {
    const ready = () => document.documentElement?.dataset.ready === "1" && document.querySelector("main h1, main .tablebox") && !document.querySelector(".loading");
    const watch = new MutationObserver(() => { if (window.usableAt === undefined && ready()) { window.usableAt = null; requestAnimationFrame(() => { window.usableAt = performance.now(); watch.disconnect(); }); } });
    watch.observe(document, { childList: true, subtree: true, attributes: true });
  });
  await page.goto(url + path);
  await page.waitForFunction(() => typeof window.usableAt === "number");
  return { context, page, usable: await page.evaluate(() => window.usableAt) };
}

// What the browser itself takes: a page without a script, alternating with the others.
async function openEmpty() {
  await rest();
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(url + "/healthz");
  const t = await page.evaluate(() => new Promise((ok) => requestAnimationFrame(() => ok(performance.now()))));
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  await context.close();
  return paint ?? t;
}

const usable = {};
const blank = [];
for (const [name, path] of [["sessions", "/"], ["overview", `/sessions/${session}`], ["kernels", `/sessions/${session}/kernels`]]) {
  const times = [];
  for (let i = 0; i < Number(rounds); i++) {
    const p = await open(path);
    times.push(p.usable);
    blank.push(await openEmpty());
    await p.context.close();
  }
  usable[name] = { median: median(times), min: times[0], max: times.at(-1) };
}

await browser.close();
browser = await launch("--disable-frame-rate-limit", "--disable-gpu-vsync");
// From the whole run down to 1/200 of it, panning at each width.
const { context, page } = await open(`/sessions/${session}/timeline`);
await page.waitForTimeout(1000);
const pan = {};
for (const [name, zooms] of [["whole/2", 2], ["whole/12", 5], ["whole/200", 8]]) {
  for (let i = 0; i < zooms; i++) { await page.keyboard.press("w"); await page.waitForTimeout(100); }
  await page.waitForTimeout(800);
  const frames = await page.evaluate(async () => {
    const next = () => new Promise(requestAnimationFrame);
    const all = [];
    let last = await next();
    for (let i = 0; i < 300; i++) {
      dispatchEvent(new KeyboardEvent("keydown", { key: i % 60 < 30 ? "d" : "a", bubbles: true }));
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: i % 60 < 30 ? "d" : "a", bubbles: true }));
      const now = await next();
      all.push(now - last);
      last = now;
    }
    return all.slice(10);
  });
  const sorted = [...frames].sort((a, b) => a - b);
  pan[name] = { median: at(sorted, 0.5), p90: at(sorted, 0.9), max: sorted.at(-1), frames: frames.length };
}
await context.close();
await browser.close();
const empty = { median: median(blank), min: blank[0], max: blank.at(-1) };
console.log(JSON.stringify({ chromium: browser.version(), usable, empty, pan }));
