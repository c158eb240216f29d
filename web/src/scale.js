// SPDX-License-Identifier: MIT
// scale.js: numbers to pixels, linear and logarithmic. Pure. (d3-scale does this too, and brings colours, dates and formats: 11 KB of 87.)

const scale = (f) => ([a, b], [from, to]) => (x) => from + ((f(x) - f(a)) / (f(b) - f(a) || 1)) * (to - from);

/** scaleX([least, greatest], [pixel, pixel])(number) = its pixel. Of a logarithmic one every number is above 0. */
export const scaleLinear = scale((x) => x);
export const scaleLog = scale(Math.log);

/** About n round numbers from a to b: 1, 2 or 5 times a power of ten apart. */
export function ticks([a, b], n) {
  const raw = (b - a) / Math.max(1, n), power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((s) => s * power >= raw * 0.75) * power;
  const out = [];
  if (!(raw > 0) || !Number.isFinite(step)) return out;
  for (let i = Math.ceil(a / step - 1e-9); i * step <= b + step * 1e-9; i++) out.push(Number((i * step).toPrecision(12)));
  return out;
}
