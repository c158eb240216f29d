// SPDX-License-Identifier: MIT
// groups.js: pairs of a comparison as launch groups and as kernels: what a change weighs, and on which side a group is. Pure.

export const SIDES = { both: "both", base: "only in baseline", target: "only in session" };
export const sideOf = (k) => (k.base === null ? "target" : k.target === null ? "base" : "both");

/** Seconds that the session's launches of this group take more than the baseline's; null where a time is missing. */
export const impactOf = (k) => (k.total?.[sideOf(k) === "target" ? "target" : "base"] === null ? null : (k.impact ?? null));

const sum = (list, of) => list.reduce((t, k) => (of(k) === null || of(k) === undefined ? t : (t ?? 0) + of(k)), null);

/** Launch groups put together by kernel, the heaviest change first: {name, demangled, groups, matched, base, target (seconds), impact, percent, reshaped}.
 *  reshaped: launched on both sides, but never in the same shape. */
export function byKernel(list) {
  const by = new Map();
  for (const k of list) by.set(k.demangled, [...(by.get(k.demangled) ?? []), k]);
  return [...by].map(([demangled, groups]) => {
    const base = sum(groups, (k) => k.total?.base), target = sum(groups, (k) => k.total?.target), impact = sum(groups, impactOf), matched = groups.filter((k) => sideOf(k) === "both").length;
    const inBase = groups.some((k) => k.base !== null), inTarget = groups.some((k) => k.target !== null);
    return { demangled, name: groups[0].name, groups, matched, base, target, impact, percent: base > 0 && target !== null ? (target - base) / base : null, side: inBase && inTarget ? "both" : inBase ? "base" : "target", reshaped: inBase && inTarget && matched === 0 };
  }).sort((a, b) => Math.abs(b.impact ?? 0) - Math.abs(a.impact ?? 0));
}
