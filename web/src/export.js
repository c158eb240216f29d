// SPDX-License-Identifier: MIT
// export.js: what is on screen as CSV, JSON, SVG or PNG. Raw numbers, not scaled ones.

export function save(name, type, content) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const a = document.createElement("a");
  a.href = url;
  a.download = name.replace(/[^\w.-]+/g, "-");
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** A spreadsheet must not run a kernel's name: =, +, -, @ and control characters get an apostrophe. */
export function csvCell(v) {
  if (v === null || v === undefined) return "";
  if (typeof v === "number") return String(v);
  let s = String(v);
  if (/^[=+\-@\t\r]/.test(s)) s = "'" + s;
  return /[",\n\r]/.test(s) ? '"' + s.replace(/"/g, '""') + '"' : s;
}
export const csv = (rows) => rows.map((r) => r.map(csvCell).join(",")).join("\r\n") + "\r\n";

const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "letter-spacing", "dominant-baseline", "visibility", "paint-order", "stroke-linejoin"];

/** A copy of an SVG that stands alone: the theme's styles become attributes. */
export function svgText(svg) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((node, i) => {
    const s = getComputedStyle(node);
    for (const k of KEPT) if (s.getPropertyValue(k)) to[i].setAttribute(k, s.getPropertyValue(k));
    for (const a of ["class", "style", "tabindex", "data-tip"]) to[i].removeAttribute(a);
  });
  const { width, height } = svg.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  if (!copy.getAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [k, v] of [["width", "100%"], ["height", "100%"], ["fill", getComputedStyle(document.documentElement).getPropertyValue("--panel").trim()]]) ground.setAttribute(k, v);
  copy.insertBefore(ground, copy.firstChild);
  return new XMLSerializer().serializeToString(copy);
}

export function saveSvg(svg, name) {
  save(name + ".svg", "image/svg+xml", svgText(svg));
}

export function savePng(svg, name) {
  const { width, height } = svg.getBoundingClientRect();
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = width * 2;
    canvas.height = height * 2;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((b) => save(name + ".png", "image/png", b));
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svgText(svg));
}
