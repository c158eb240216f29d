// SPDX-License-Identifier: MIT
// lines.mjs: reporter of `node --test` that prints what tests/run.sh counts: PASS, FAIL, SKIP and a name.
const slug = (s) => s.trim().toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_|_$/g, "");
const isFile = (d) => d.details?.type === "suite" || d.name.endsWith(".js");

export default async function* lines(source) {
  for await (const { type, data } of source) {
    if (type === "test:pass" && !isFile(data)) yield data.skip !== undefined ? `SKIP ui_${slug(data.name)} (${data.skip})\n` : `PASS ui_${slug(data.name)}\n`;
    if (type === "test:fail" && !(isFile(data) && data.details?.error?.failureType === "subtestsFailed")) {
      const e = data.details?.error?.cause ?? data.details?.error;
      yield `${String(e?.stack ?? e?.message ?? e).split("\n").slice(0, 14).map((l) => "    " + l).join("\n")}\nFAIL ui_${slug(data.name)}\n`;
    }
    if (type === "test:stderr") process.stderr.write(data.message);
  }
}
