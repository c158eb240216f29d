// SPDX-License-Identifier: MIT
// bundle.mjs: loads a source module of the page into node, with what the bundle would give it.
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { readUnits } from "../../web/units.mjs";

const require = createRequire(new URL("../../web/package.json", import.meta.url));

export async function load(name) {
  const { build } = require("esbuild");
  const units = { name: "units", setup(b) { b.onResolve({ filter: /^ws:units$/ }, (a) => ({ path: a.path, namespace: "ws" })); b.onLoad({ filter: /.*/, namespace: "ws" }, () => ({ contents: `export default ${JSON.stringify(readUnits())}`, loader: "js" })); } };
  const r = await build({ entryPoints: [new URL("../../web/src/" + name, import.meta.url).pathname], bundle: true, format: "esm", write: false, plugins: [units], logLevel: "silent" });
  const file = join(process.env.SCRATCH ?? "/tmp", name.replace(/\W/g, "_") + ".mjs");
  writeFileSync(file, r.outputFiles[0].text);
  return import(pathToFileURL(file));
}
export { require };
