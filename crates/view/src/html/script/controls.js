// How the reader moves: wheel, drag and keys on the panels, buttons for the same, what is shown, light and dark.

import { durationRound, instant } from "./numbers.js";
import { element } from "./words.js";
import { model, VALUES } from "./model.js";
import { change, isWhole, look, pan, subscribe, view, zoom } from "./view.js";
import { stepGap } from "./hover.js";
import { SPACE, STRIP } from "./panel.js";
import { hideTip } from "./tip.js";

/** @type {Record<string, () => void>} */
const KEYS = {
  "+": () => zoom(0.5),
  "=": () => zoom(0.5),
  "-": () => zoom(2),
  "0": () => look(...model.whole),
  ArrowLeft: () => pan(-0.25),
  ArrowRight: () => pan(0.25),
  PageUp: () => pan(-1),
  PageDown: () => pan(1),
  Home: () => look(model.whole[0], model.whole[0] + view.to - view.from),
  End: () => look(model.whole[1] - (view.to - view.from), model.whole[1]),
  ArrowUp: () => zoom(0.5),
  ArrowDown: () => zoom(2),
};

/**
 * Wheel, drag and keys of a panel.
 * @param {Panel} panel
 */
export function steer(panel) {
  const { plot } = panel;
  /** @param {MouseEvent} event */
  const secondsAt = (event) => {
    const box = panel.sheet.canvas.getBoundingClientRect();
    if (!panel.frames) return view.from;
    const frame = panel.frames.plot;
    const share = (event.clientX - box.left - frame.x) / frame.width;
    return view.from + Math.min(1, Math.max(0, share)) * (view.to - view.from);
  };
  plot.addEventListener("wheel", (event) => {
    if (!panel.frames || event.ctrlKey) return;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      if (isWhole()) return;
      event.preventDefault();
      return pan(event.deltaX / panel.frames.plot.width);
    }
    // Nothing is left to zoom out of: the page scrolls on.
    if (event.deltaY > 0 && isWhole()) return;
    event.preventDefault();
    hideTip();
    zoom(2 ** (Math.max(-120, Math.min(120, event.deltaY)) / 120), secondsAt(event));
  }, { passive: false });
  plot.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target !== plot) return;
    const step = event.key === "n" ? 1 : event.key === "p" ? -1 : 0;
    if (step) stepGap(panel, step);
    else if (KEYS[event.key]) KEYS[event.key]();
    else return;
    event.preventDefault();
  });
  drag(panel, secondsAt);
}

/**
 * Drags the window; or, with Shift or where all is shown, marks the part to zoom to.
 * @param {Panel} panel
 * @param {(event: MouseEvent) => number} secondsAt
 */
function drag(panel, secondsAt) {
  const { plot } = panel;
  const mark = element("div", { class: "mark", hidden: true });
  plot.append(mark);
  /** @type {{ at: number, x: number, selects: boolean, from: number, to: number } | null} */
  let begun = null;
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !panel.frames) return;
    hideTip();
    begun = { at: secondsAt(event), x: event.clientX, selects: event.shiftKey || isWhole(), from: view.from, to: view.to };
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", (event) => {
    if (!begun) return;
    const { frames, sheet } = panel;
    if (!frames) return;
    if (begun.selects) {
      const left = sheet.canvas.getBoundingClientRect().left;
      /** @param {number} x */
      const clamp = (x) => Math.min(frames.plot.x + frames.plot.width, Math.max(frames.plot.x, x - left));
      const [a, b] = [clamp(begun.x), clamp(event.clientX)];
      mark.hidden = false;
      mark.style.top = `${frames.plot.y}px`;
      mark.style.left = `${Math.min(a, b)}px`;
      mark.style.width = `${Math.abs(b - a)}px`;
      mark.style.height = `${panel.height + STRIP + SPACE}px`;
    } else {
      const moved = ((begun.x - event.clientX) / frames.plot.width) * (begun.to - begun.from);
      look(begun.from + moved, begun.to + moved);
    }
  });
  /** @param {PointerEvent} event */
  const end = (event) => {
    if (!begun) return;
    mark.hidden = true;
    const { at, x, selects } = begun;
    begun = null;
    if (event.type === "pointerup" && selects && Math.abs(event.clientX - x) > 4) {
      const other = secondsAt(event);
      look(Math.min(at, other), Math.max(at, other));
    }
  };
  plot.addEventListener("pointerup", end);
  plot.addEventListener("pointercancel", end);
  plot.addEventListener("dblclick", (event) => zoom(0.25, secondsAt(event)));
}

/**
 * A button that is on or off.
 * @param {string} words
 * @param {() => boolean} isOn
 * @param {(on: boolean) => void} set
 */
function toggle(words, isOn, set) {
  const button = element("button", { type: "button", class: "toggle", "aria-pressed": String(isOn()), onclick: () => set(!isOn()) }, words);
  subscribe(() => button.setAttribute("aria-pressed", String(isOn())));
  return button;
}

export function controls() {
  /**
   * @param {string} words
   * @param {string} label
   * @param {() => void} work
   */
  const button = (words, label, work) => element("button", { type: "button", "aria-label": label, title: label, onclick: work }, words);
  /**
   * @param {string} label
   * @param {...Child} children
   */
  const group = (label, ...children) => element("div", { class: "group", role: "group", "aria-label": label }, ...children);
  const values = /** @type {[Value, Shown][]} */ (Object.entries(VALUES)).map(([value, { name }]) => toggle(name, () => view.value === value, () => change({ value })));
  /**
   * @param {Layer} name
   * @param {string} words
   */
  const layer = (name, words) => toggle(words, () => view.layers[name], (on) => change({ layers: { ...view.layers, [name]: on } }));
  const window = element("span", { class: "note", id: "window" });
  subscribe(() => {
    const span = view.to - view.from;
    window.textContent = isWhole() ? `the whole run, ${durationRound(span * 1e9)}` : `${instant(view.from, span)} to ${instant(view.to, span)}: ${durationRound(span * 1e9)}`;
  });
  return element("div", { class: "controls", role: "toolbar", "aria-label": "What is shown" },
    group("Value", ...values),
    group("Layers", layer("density", "quanta"), layer("bands", "bands"), layer("edges", "edges"), layer("findings", "findings"), layer("gaps", "gaps")),
    group("Zoom", button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)), button("‹", "Earlier", () => pan(-0.5)), button("›", "Later", () => pan(0.5)), button("whole run", "Show the whole run", () => look(...model.whole)),
      toggle("fit axis", () => view.fit, (fit) => change({ fit }))),
    window);
}

/** The whole run in little, with the window on it, to be dragged. */
export function overview() {
  const thumb = element("div", { class: "thumb" });
  const track = element("div", { class: "track", "aria-hidden": "true" }, thumb);
  subscribe(() => {
    const [start, end] = model.whole;
    thumb.style.left = `${((view.from - start) / (end - start)) * 100}%`;
    thumb.style.width = `max(4px, ${((view.to - view.from) / (end - start)) * 100}%)`;
  });
  /** @param {PointerEvent} event */
  const move = (event) => {
    if (!event.buttons) return;
    const box = track.getBoundingClientRect();
    const at = model.whole[0] + ((event.clientX - box.left) / box.width) * (model.whole[1] - model.whole[0]);
    look(at - (view.to - view.from) / 2, at + (view.to - view.from) / 2);
  };
  track.addEventListener("pointerdown", (event) => {
    track.setPointerCapture(event.pointerId);
    move(event);
  });
  track.addEventListener("pointermove", move);
  return track;
}
