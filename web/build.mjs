// SPDX-License-Identifier: MIT
// build.mjs: web/src -> web/dist (app.js, app.css, index.html, NOTICE.txt). Run by `make web`.
// Deterministic: the same sources and lock file give the same bytes, which tests/web checks.
// The units come from analyzer/units.def, so that no scaling rule stands twice.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { minify } from "terser";
import { readUnits } from "./units.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");
mkdirSync(out, { recursive: true });

const units = {
  name: "units",
  setup(b) {
    b.onResolve({ filter: /^ws:units$/ }, (a) => ({ path: a.path, namespace: "ws" }));
    b.onLoad({ filter: /.*/, namespace: "ws" }, () => ({ contents: `export default ${JSON.stringify(readUnits())}`, loader: "js" }));
  },
};

await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.js" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  plugins: [units],
  logLevel: "warning",
});

// What terser still finds is 3 % of the page as it travels.
const script = join(out, "app.js");
writeFileSync(script, (await minify(readFileSync(script, "utf8"), { module: true, ecma: 2022, compress: { passes: 2 } })).code);

// The daemon puts ?v=HASH behind the two names when it serves the page (server/assets.c).
copyFileSync(join(here, "index.html"), join(out, "index.html"));

// Licences of what the bundle holds: every runtime dependency, theirs included.
const seen = new Map();
const collect = (name) => {
  if (seen.has(name)) return;
  const dir = join(here, "node_modules", name);
  const meta = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  let text = "";
  for (const f of ["LICENSE", "LICENSE.md", "LICENSE.txt"]) {
    try { text = readFileSync(join(dir, f), "utf8"); break; } catch { /* the next name */ }
  }
  seen.set(name, `${meta.name} ${meta.version} (${meta.license})\n\n${text.trim()}\n`);
  Object.keys(meta.dependencies ?? {}).forEach(collect);
};
Object.keys(JSON.parse(readFileSync(join(here, "package.json"), "utf8")).dependencies).forEach(collect);
writeFileSync(join(out, "NOTICE.txt"), "Third-party software in app.js and app.css.\n\n" + [...seen.keys()].sort().map((k) => seen.get(k)).join("\n" + "-".repeat(80) + "\n\n"));
