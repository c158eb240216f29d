// SPDX-License-Identifier: MIT
// theme.js: light, dark or as the system says; one toggle, remembered.
import { effect, signal } from "@preact/signals";

const NEXT = { auto: "light", light: "dark", dark: "auto" };
const stored = (() => { try { return localStorage.getItem("warpsight-theme"); } catch { return null; } })();
export const theme = signal(NEXT[stored] ? stored : "auto");

effect(() => {
  const root = document.documentElement;
  if (theme.value === "auto") root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", theme.value);
  try { localStorage.setItem("warpsight-theme", theme.value); } catch { /* a private window forgets */ }
});

export const nextTheme = () => { theme.value = NEXT[theme.value]; };
