// SPDX-License-Identifier: MIT
// speedscope.mjs FILE…: opens each file in speedscope (the npm package's page, in chromium) and prints what it made of
// it, as its own "Export" writes it: {"FILE": {"title", "profiles": [{"name", "unit", "weights": {FRAME: [COUNT, TOTAL]}}]}}.
// A file that it does not open ends this with 1 and its words.
import { createServer } from "node:http";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, extname, join } from "node:path";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const page_folder = join(dirname(require.resolve("speedscope/package.json")), "dist/release");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".png": "image/png" };
const files = new Set(readdirSync(page_folder));

const server = createServer((request, answer) => {
  const name = request.url === "/" ? "index.html" : request.url.slice(1).split("?")[0];
  if (!files.has(name)) return answer.writeHead(404).end();
  answer.writeHead(200, { "Content-Type": types[extname(name)] ?? "application/octet-stream" }).end(readFileSync(join(page_folder, name)));
});
await new Promise((ok) => server.listen(0, "127.0.0.1", ok));

/** Frames of one profile in speedscope's file format: how often each was open, and for how long in all, in its unit. */
function weights(profile, frames) {
  const out = {}, open = [];
  const add = (frame, weight) => { const at = (out[frames[frame].name] ??= [0, 0]); at[0]++; at[1] += weight; };
  if (profile.type === "sampled") profile.samples.forEach((stack, i) => new Set(stack).forEach((f) => add(f, profile.weights[i])));
  else
    for (const e of profile.events) {
      if (e.type === "O") open.push(e);
      else { const from = open.pop(); if (from.frame !== e.frame) throw new Error("a frame closes that is not open"); add(e.frame, e.at - from.at); }
    }
  return out;
}

const browser = await require("playwright-core").chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--no-first-run", "--disable-background-networking"] });
let status = 0;
const all = {};
for (const file of process.argv.slice(2)) {
  const page = await (await browser.newContext({ acceptDownloads: true })).newPage();
  const problems = [];
  page.on("pageerror", (e) => problems.push(String(e)));
  page.on("console", (m) => m.type() === "error" && problems.push(m.text()));
  // It says what it does not open by alert().
  const refused = new Promise((_, no) => page.on("dialog", (d) => { problems.push(d.message()); d.dismiss(); no(new Error(d.message())); }));
  refused.catch(() => {});
  try {
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.getByText("Browse", { exact: true }).click()]);
    await chooser.setFiles(file);
    const opened = page.getByText("Export", { exact: false });
    await Promise.race([opened.waitFor({ timeout: 30000 }), refused]);
    const [download] = await Promise.all([page.waitForEvent("download"), opened.click()]);
    const made = JSON.parse(readFileSync(await download.path(), "utf8"));
    all[basename(file)] = { title: await page.title(), profiles: made.profiles.map((p) => ({ name: p.name, unit: p.unit, weights: weights(p, made.shared.frames) })) };
  } catch (e) {
    process.stderr.write(`${basename(file)}: ${problems.join("; ") || e}\n`);
    status = 1;
  }
  await page.context().close();
}
console.log(JSON.stringify(all));
await browser.close();
server.close();
process.exit(status);
