// Words beside the pointer.

import { element } from "./words.js";

export const tip = element("div", { class: "tip", role: "tooltip", hidden: true });

/**
 * Shows lines of text beside a point of the page.
 * @param {string[]} lines
 * @param {number} clientX
 * @param {number} clientY
 */
export function showTip(lines, clientX, clientY) {
  tip.replaceChildren(...lines.map((words) => element("div", {}, words)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(clientX + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${clientY + 18 + height > innerHeight ? clientY - height - 12 : clientY + 18}px`;
}

export function hideTip() {
  tip.hidden = true;
}
