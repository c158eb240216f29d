// SPDX-License-Identifier: MIT
// format.js: THE number formatter. Three significant digits and SI prefixes for people; the exact
// number for tooltips and exports. Scaling comes from units.def by way of the bundle.
import units from "ws:units";

const THIN = "\u202f"; // narrow no-break space: between number and unit, and between thousands
const PREFIX = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const TIME = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];

/** Three significant digits of |x| < 1000; whole numbers stay whole. */
export function digits(x) {
  if (x === 0) return "0";
  const a = Math.abs(x);
  const r = (s) => s.replace("-", "\u2212");
  if (Number.isInteger(x) && a < 1000) return r(String(x));
  if (a >= 99.95) return r(x.toFixed(0));
  if (a >= 9.995) return r(x.toFixed(1));
  if (a >= 0.9995) return r(x.toFixed(2));
  if (a >= 1e-4) return r(String(Number(x.toPrecision(3))));
  return r(x.toExponential(1));
}

/** 1234567 -> "1 234 567" with narrow spaces; decimals as they are. */
export function grouped(x) {
  const [whole, rest] = String(x).split(".");
  if (/e/i.test(String(x))) return String(x);
  const g = whole.replace("-", "\u2212").replace(/\B(?=(\d{3})+$)/g, THIN);
  return rest === undefined ? g : g + "." + rest;
}

function pick(steps, x) {
  const a = Math.abs(x);
  let i = steps.findIndex(([f]) => a >= f * 0.9995);
  if (i < 0) i = steps.length - 1;
  return steps[i];
}

/** A number of a unit as [digits, unit text]. Unit "" is a ratio and reads as percent. */
export function scaled(x, unit = "1") {
  const [people, how] = units[unit] ?? [unit === "1" ? "" : unit, unit === "ns" ? "TIME" : "SI"];
  if (unit === "ns") x *= 1e-9;
  if (how === "PERCENT") return [digits(x * 100), "%"];
  if (how === "TIME") {
    if (x === 0) return ["0", "s"];
    if (Math.abs(x) >= 600) return [digits(x / 60), "min"];
    const [f, p] = pick(TIME, x);
    return [digits(round3(x / f)), p];
  }
  if (how === "PLAIN") return [Math.abs(x) >= 1000 ? grouped(Math.round(x)) : digits(x), people];
  const [f, p] = x === 0 ? [1, ""] : pick(PREFIX, x);
  // A prefix clings to a symbol ("GB/s") but not to a word ("M sectors").
  return [digits(round3(x / f, f === 1)), p && /^[a-z]{2}/.test(people) ? p + THIN + people : p + people];
}

// 0.1 + 0.2 style noise from dividing must not print as a non-integer.
function round3(x, exact) {
  return exact ? x : Number(x.toPrecision(12));
}

/** "4.19 M sectors", "83.1 %", "12.4 µs". */
export function format(x, unit) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  const [n, u] = scaled(x, unit);
  return u ? n + THIN + u : n;
}

/** What a tooltip shows: every digit, in the unit of the API. */
export function exact(x, unit) {
  if (x === null || x === undefined) return "";
  const u = unit === undefined || unit === "" || unit === "1" ? "" : " " + unit;
  return grouped(x) + u + (unit === "" ? " (ratio)" : "");
}

/** Capacities of on-chip memory are multiples of 1024 and read as such: "228 KiB". */
export const kib = (b) => (b >= 1024 && b % 1024 === 0 ? `${grouped(b / 1024)}${THIN}KiB` : b < 10000 ? `${grouped(b)}${THIN}B` : format(b, "B"));

export const percent = (x) => format(x, "");
export const seconds = (x) => format(x, "s");
export const nanoseconds = (x) => format(x, "ns");
export const count = (x) => format(x, "1");
export const isPercent = (unit) => units[unit]?.[1] === "PERCENT";
/** Integer operations are no FLOP: what a rate, or an intensity ("B" behind the slash), of a precision counts in. */
export const opUnit = (precision, per = "s") => (/int/.test(precision ?? "") ? "OP/" : "FLOP/") + per;
/** What a column header says: the unit without a prefix. */
export const unitTitle = (unit) => (unit === undefined ? "" : (units[unit]?.[0] ?? unit));

export function dims(v) {
  const a = [...(v ?? [])];
  while (a.length > 1 && a[a.length - 1] === 1) a.pop();
  return a.length ? a.join("×") : "–";
}

/** Kernel name without return type, template arguments and parameters, for narrow places. */
export function shortName(name) {
  if (!name) return "(unnamed)";
  if (!/^[A-Za-z_(~]/.test(name)) return name; // not a C++ name: show it as it is
  let depth = 0, out = "", args = "";
  const n = name.replace(/^(void|int|float|double|unsigned|auto)\s+/, "").replace(/\(anonymous namespace\)/g, "(anon)").replace(/operator<<?/g, (s) => s.replace(/</g, "\u0001"));
  for (const c of n) {
    if (c === "<" && depth++ === 0) { args = ""; continue; }
    if (c === ">" && depth > 0 && --depth === 0) { out += args.length <= 12 ? `<${args}>` : "<…>"; continue; }
    if (depth === 0) out += c;
    else args += c;
  }
  out = out.replace(/\u0001/g, "<");
  // The parameter list is the last bracket at depth 0 that is not "(anon)".
  const p = out.search(/(?<!^)\((?!anon\))/);
  if (p > 0) out = out.slice(0, p);
  return out.trim() || name;
}

export function when(iso) {
  const d = new Date(iso);
  if (!iso || Number.isNaN(d.getTime())) return "–";
  const p = (n) => String(n).padStart(2, "0");
  return `${d.getFullYear()}-${p(d.getMonth() + 1)}-${p(d.getDate())} ${p(d.getHours())}:${p(d.getMinutes())}`;
}
