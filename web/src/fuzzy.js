// SPDX-License-Identifier: MIT
// fuzzy.js: how well a few letters are found in a text. Pure.

/** How well the letters of a query are found in a text, in order: higher is better, null = not at all. */
export function score(query, text) {
  const q = query.toLowerCase(), t = text.toLowerCase();
  if (!q) return 0;
  const whole = t.indexOf(q);
  if (whole >= 0) return 1000 - whole - t.length / 100 + (whole === 0 || /[^a-z0-9]/.test(t[whole - 1]) ? 200 : 0);
  let at = -1, sum = 0;
  for (const c of q) {
    if (c === " ") continue;
    const next = t.indexOf(c, at + 1);
    if (next < 0) return null;
    sum += next === at + 1 ? 8 : /[^a-z0-9]/.test(t[next - 1] ?? " ") ? 5 : -Math.min(3, (next - at) / 8);
    at = next;
  }
  return sum - t.length / 100;
}
