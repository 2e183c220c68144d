// The switch between light and dark.

import { applyTheme } from "./colours.js";
import { element } from "./words.js";

/**
 * Light, dark, or as the system is; printed pages are light.
 * @param {() => void} changed
 * @param {() => void} redrawAtOnce Before a page is printed.
 */
export function themeSwitch(changed, redrawAtOnce) {
  let chosen = "system";
  /** @param {string} value */
  const choose = (value) => {
    chosen = value;
    applyTheme(chosen);
    changed();
  };
  const select = element("select", { "aria-label": "Colours", onchange: () => choose(select.value) },
    ["system", "light", "dark"].map((value) => element("option", { value }, value === "system" ? "colours: system" : value)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => choose(chosen));
  addEventListener("beforeprint", () => {
    applyTheme("light");
    redrawAtOnce();
  });
  addEventListener("afterprint", () => choose(chosen));
  return select;
}
