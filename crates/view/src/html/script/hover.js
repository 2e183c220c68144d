// What lies under the pointer, and the same for those who have none: keys go from gap to gap and say what stands there.

import { duration, finite, instant, pace, plural, whole } from "./numbers.js";
import { byId, causeName, visible } from "./words.js";
import { lowerBound, quantaIn, VALUES } from "./model.js";
import { SINGLE } from "./raster.js";
import { look, view } from "./view.js";
import { FLAGS, placeNear } from "./places.js";
import { hideTip, showTip } from "./tip.js";

/**
 * Index of the gap nearest to an instant within `within` seconds; the longest of those. -1 where there is none.
 * @param {Series} series
 * @param {number} at
 * @param {number} within
 */
function gapNear(series, at, within) {
  const { marks } = series;
  let found = -1;
  for (let k = lowerBound(marks.at, at - within); k < marks.length && marks.at[k] <= at + within; k++) {
    if (found < 0 || marks.ns[k] > marks.ns[found]) found = k;
  }
  return found;
}

/**
 * @param {Series} series
 * @param {number} k
 */
function gapWords(series, k) {
  const { marks } = series;
  return [`${duration(marks.ns[k])} · ${causeName(marks.names[marks.cause[k]])}`, `gap at ${instant(marks.at[k], 1e-3)}`];
}

/**
 * What a quantum was.
 * @param {Series} series
 * @param {number} k
 */
function quantumWords(series, k) {
  const words = [`quantum at ${instant(series.start[k], 1e-3)}, ${duration(series.lengthNs[k])} long`, `${plural(series.count[k], "unit", "units")}, ${pace(series.pace[k])} ns per unit`];
  if (series.gaps[k]) words.push(plural(series.gaps[k], "gap", "gaps"));
  if (finite(series.loss[k])) words.push(`${duration(series.loss[k])} lost against the best pace`);
  return words;
}

/**
 * What the pointer is on, in words; null off the pictures.
 * @param {Panel} panel
 * @param {number} x
 * @param {number} y
 */
function wordsAt(panel, x, y) {
  const { series, frames, axis } = panel;
  if (!frames) return null;
  const { plot, strip } = frames;
  if (x < plot.x || x > plot.x + plot.width || y < plot.y - FLAGS || y > strip.y + strip.height) return null;
  const seconds = view.from + ((x - plot.x) / plot.width) * (view.to - view.from);
  const pixelS = (view.to - view.from) / plot.width;
  if (y >= strip.y) {
    const near = gapNear(series, seconds, 5 * pixelS);
    return near < 0 ? [instant(seconds, view.to - view.from)] : gapWords(series, near);
  }
  const place = view.layers.findings ? placeNear(series, seconds, 6 * pixelS, y - plot.y) : null;
  if (place) return [place.finding.summary];
  if (y < plot.y) return null;
  const [first, end] = quantaIn(series, seconds, seconds + pixelS);
  if (series.quantumS / pixelS >= SINGLE && end > first) return quantumWords(series, first);
  if (!axis) return null;
  const per = (axis.high - axis.low) / plot.height;
  const scaled = VALUES[view.value].up ? axis.high - (y - plot.y) * per : axis.low + (y - plot.y) * per;
  const value = VALUES[view.value].back(scaled);
  const spelt = view.value === "pace" ? `${pace(value)} ns per unit` : view.value === "count" ? `count ${whole(value)}` : `${duration(value)} lost`;
  const words = [`${instant(seconds, view.to - view.from)}, ${spelt}`];
  const { grid } = panel;
  if (grid) {
    const column = Math.min(grid.columns - 1, Math.floor(((x - plot.x) / plot.width) * grid.columns));
    const row = Math.min(grid.rows - 1, Math.floor(((y - plot.y) / plot.height) * grid.rows));
    // The density of a long run is spread over the cells.
    words.push(`${series.complete ? "" : "about "}${plural(grid.counts[row * grid.columns + column], "quantum", "quanta")} in this cell`);
  }
  return words;
}

/** @param {Panel} panel */
export function hover(panel) {
  panel.plot.addEventListener("pointermove", (event) => {
    const box = panel.sheet.canvas.getBoundingClientRect();
    const words = event.buttons ? null : wordsAt(panel, event.clientX - box.left, event.clientY - box.top);
    if (words) showTip(words, event.clientX, event.clientY);
    else hideTip();
  });
  panel.plot.addEventListener("pointerleave", hideTip);
}

/**
 * Goes to the next gap, or the one before, and says what it is.
 * @param {Panel} panel
 * @param {number} direction
 */
export function stepGap(panel, direction) {
  const { series } = panel;
  const { marks } = series;
  if (!marks.length) return say("No gaps.");
  // From a gap that was left out of view the reader does not go on.
  const known = panel.gap !== null && marks.at[panel.gap] >= view.from && marks.at[panel.gap] <= view.to ? panel.gap : null;
  let next = known === null ? lowerBound(marks.at, view.from) - (direction < 0 ? 1 : 0) : known + direction;
  next = Math.min(marks.length - 1, Math.max(0, next));
  panel.gap = next;
  const at = marks.at[next];
  if (at < view.from || at > view.to) look(at - (view.to - view.from) / 2, at + (view.to - view.from) / 2);
  const words = gapWords(series, next);
  say(words.join(", "));
  requestAnimationFrame(() => {
    if (!panel.frames) return;
    const box = panel.sheet.canvas.getBoundingClientRect();
    const { strip } = panel.frames;
    showTip(words, box.left + panel.x(at, strip), box.top + strip.y + 12);
  });
}

/**
 * Says something to those who listen, below the controls for those who look.
 * @param {string} words
 */
function say(words) {
  byId("said").textContent = visible(words);
}
