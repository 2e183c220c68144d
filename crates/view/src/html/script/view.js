// What the reader looks at: the window of time, the value, the layers. Everything that draws subscribes; a change is drawn once a frame.

import { finite } from "./numbers.js";
import { model } from "./model.js";

/** @type {View} */
export const view = {
  from: 0,
  to: 1,
  value: "pace",
  layers: { density: true, bands: true, gaps: true, edges: true, findings: true },
  /** Whether the axis of the value follows what the window shows. */
  fit: false,
  /** The series that the ledger, the spectrum and the fold are of. */
  selected: 0,
  /** Seconds; null folds nothing. */
  period: null,
};

/** @type {((changed: Set<string>) => void)[]} */
const drawers = [];
/** @type {{ asked: boolean, drawn: number, ms: number[] }} */
export const frames = { asked: false, drawn: 0, ms: [] };

/**
 * `drawer(changed)` is called with the set of keys that changed.
 * @param {(changed: Set<string>) => void} drawer
 */
export function subscribe(drawer) {
  drawers.push(drawer);
}

/** @type {Set<string>} */
export let changed = new Set();

/** @param {Partial<View>} patch */
export function change(patch) {
  Object.assign(view, patch);
  for (const key of Object.keys(patch)) changed.add(key);
  if (frames.asked) return;
  frames.asked = true;
  requestAnimationFrame(redraw);
}

export function redraw() {
  const begun = performance.now();
  frames.asked = false;
  const keys = changed;
  changed = new Set();
  for (const drawer of drawers) drawer(keys);
  frames.drawn++;
  frames.ms.push(performance.now() - begun);
  if (frames.ms.length > 1000) frames.ms.shift();
}

/** The shortest window: four quanta of the finest series. */
function shortest() {
  return Math.min(model.whole[1], 4 * Math.min(1, ...model.series.map((series) => series.quantumS).filter(finite)));
}

/**
 * Shows from `from` to `to`, held to the run and to four quanta.
 * @param {number} from
 * @param {number} to
 */
export function look(from, to) {
  const [start, end] = model.whole;
  const span = Math.min(end - start, Math.max(to - from, shortest()));
  const left = Math.min(Math.max((from + to) / 2 - span / 2, start), end - span);
  change({ from: left, to: left + span });
}

/**
 * Zooms by a factor about an instant, which stays where it is.
 * @param {number} factor
 * @param {number} [about]
 */
export function zoom(factor, about = (view.from + view.to) / 2) {
  const span = Math.min(model.whole[1] - model.whole[0], Math.max((view.to - view.from) * factor, shortest()));
  const share = (about - view.from) / (view.to - view.from);
  look(about - share * span, about + (1 - share) * span);
}

/**
 * Moves by a share of the window.
 * @param {number} share
 */
export function pan(share) {
  const step = (view.to - view.from) * share;
  look(view.from + step, view.to + step);
}

export const isWhole = () => view.to - view.from >= (model.whole[1] - model.whole[0]) * (1 - 1e-9);
