// SPDX-License-Identifier: MIT
// units.mjs: reads analyzer/units.def: symbol -> [what people read, how it is scaled].
import { readFileSync } from "node:fs";

export function readUnits() {
  const text = readFileSync(new URL("../analyzer/units.def", import.meta.url), "utf8");
  const units = {};
  for (const m of text.matchAll(/^WS_UNIT\(\w+,\s*"([^"]*)",\s*"[^"]*",\s*"([^"]*)",\s*(\w+),/gm)) units[m[1]] = [m[2], m[3]];
  if (Object.keys(units).length < 10) throw new Error("units.def: no WS_UNIT rows found");
  return units;
}
