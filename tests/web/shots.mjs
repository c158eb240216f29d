// SPDX-License-Identifier: MIT
// shots.mjs: the pictures of the README and of docs/pages.md, one of each page, of the real daemon with the session recorded
// on an H200: make screenshots, or node tests/web/shots.mjs [FOLDER [NAME…]]. Writes docs/img/*.png, each at most 100 kB.
// What is on them changes only when the page or the recorded session does. Only the Live page shows a synthetic session.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { browser, closeAll, daemon, getJson, madeUp, modelled, recorded, settled } from "./harness.mjs";

/** RGBA pixels as a PNG of 256 colours: the most frequent ones, every other pixel takes the nearest of them. */
function png(rgba, width, height) {
  const count = new Map();
  for (let i = 0; i < rgba.length; i += 4) { const c = (rgba[i] << 16) | (rgba[i + 1] << 8) | rgba[i + 2]; count.set(c, (count.get(c) ?? 0) + 1); }
  // Of colours that hardly differ one is kept, so that rare hues find a place, too.
  const apart = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;
  const kept = [];
  for (const [c, n] of [...count].sort((a, b) => b[1] - a[1])) if (kept.length < 256 && (n > 400 || kept.every((k) => apart(k, c) > 110))) kept.push(c);
  const nearest = new Map(kept.map((c, i) => [c, i]));
  for (const c of count.keys()) {
    if (nearest.has(c)) continue;
    let best = 0, least = Infinity;
    kept.forEach((k, i) => { const d = apart(k, c); if (d < least) { least = d; best = i; } });
    nearest.set(c, best);
  }
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) { const i = 4 * (y * width + x); rows[y * (width + 1) + 1 + x] = nearest.get((rgba[i] << 16) | (rgba[i + 1] << 8) | rgba[i + 2]); }
  const crc = (b) => { let c = ~0; for (const v of b) { c ^= v; for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1; } return ~c >>> 0; };
  const chunk = (type, data) => { const b = Buffer.alloc(12 + data.length); b.writeUInt32BE(data.length); b.write(type, 4); data.copy(b, 8); b.writeUInt32BE(crc(b.subarray(4, 8 + data.length)), 8 + data.length); return b; };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  head[8] = 8;
  head[9] = 3; // 8 bits, a palette
  return Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), chunk("IHDR", head), chunk("PLTE", Buffer.from(kept.flatMap((c) => [c >> 16, (c >> 8) & 255, c & 255]))), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

const out = process.argv[2] ?? new URL("../../docs/img", import.meta.url).pathname;
mkdirSync(out, { recursive: true });
// A model of the same kernel beside it tells of lines of source, as `make demo` has it.
const d = await daemon({ files: [...recorded, modelled(["transpose"])], own: true });
const named = (await getJson(d, "/sessions")).sessions, find = (name) => named.find((x) => x.name === name);
const s = find("h200-kernels"), torch = find("torch"), phases = find("pm-1ms"), model = named.find((x) => x.source === "modelled");
const k = (await getJson(d, `/sessions/${s.id}/kernels?filter=name:transpose_tile<32>`)).kernels[0];
// [file, theme, page, height, what is scrolled to the top]
const SHOTS = [
  ["overview", "light", `/sessions/${s.id}`, 760],
  ["kernel", "light", `/sessions/${s.id}/kernels/${k.id}`, 800],
  ["roofline", "dark", `/sessions/${s.id}/roofline`, 780],
  ["decode", "light", `/reference/decode?session=${s.id}`, 690],
  ["kernels", "light", `/sessions/${s.id}/kernels`, 640],
  ["source", "light", `/sessions/${s.id}/kernels/${k.id}`, 700, "#source"],
  ["timeline", "dark", `/sessions/${torch.id}/timeline`, 640],
  ["timeline-samples", "dark", `/sessions/${phases.id}/timeline`, 760],
  ["compare", "light", `/compare?base=${s.id}&target=${model.id}`, 640],
  ["occupancy", "light", "/occupancy", 720],
  ["access", "light", "/access?stride=2", 720],
  ["reference", "light", "/reference", 640],
];
const only = process.argv.slice(3);
async function shoot(d, [name, theme, path, height, at]) {
  if (only.length && !only.includes(name)) return;
  const context = await (await browser()).newContext({ viewport: { width: 1240, height }, colorScheme: theme, reducedMotion: "reduce" });
  const page = await context.newPage();
  await page.goto(d.url + path);
  await settled(page);
  await page.waitForLoadState("load");
  if (at) await page.locator(at).evaluate((e) => { const bar = document.querySelector("header"); scrollTo(0, e.getBoundingClientRect().top + scrollY - (bar?.getBoundingClientRect().height ?? 0) - 12); });
  await page.waitForTimeout(1000); // canvases draw in the frame after their data
  const shot = (await page.screenshot()).toString("base64");
  // The browser itself decodes its picture; the page's policy allows data: images.
  const pixels = await page.evaluate(async (b64) => {
    const image = new Image();
    image.src = "data:image/png;base64," + b64;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height }), c = canvas.getContext("2d");
    c.drawImage(image, 0, 0);
    const bytes = c.getImageData(0, 0, image.width, image.height).data;
    let text = "";
    for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
    return { width: image.width, height: image.height, text: btoa(text) };
  }, shot);
  const picture = png(Buffer.from(pixels.text, "base64"), pixels.width, pixels.height);
  if (picture.length > 100000) throw new Error(`${name}.png would have ${picture.length} bytes`);
  writeFileSync(join(out, name + ".png"), picture);
  console.log(`${name}.png ${picture.length} bytes`);
  await context.close();
}
for (const shot of SHOTS) await shoot(d, shot);
await d.stop();
// Without the model: its time is now, and its counts would stand beside the samples.
const r = await daemon({ files: recorded, own: true });
const sampled = (await getJson(r, "/sessions")).sessions.find((x) => x.argv.includes("--repeat"));
const waits = (await getJson(r, `/sessions/${sampled.id}/kernels?filter=name:transpose_tile<32>`)).kernels[0];
await shoot(r, ["sessions", "light", "/sessions", 400]);
await shoot(r, ["samples", "light", `/sessions/${sampled.id}/kernels/${waits.id}`, 700, "#source"]);
// The Live page shows something while a program runs: a made-up one, which says that it is synthetic.
await shoot(await daemon({ files: [madeUp("live")], own: true }), ["live", "light", "/live", 560]);
await closeAll();
process.exit(0);
