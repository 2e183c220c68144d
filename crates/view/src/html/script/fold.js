// The run folded at any period: quanta by their phase in it. What has the period stands still; edges that crept through the quanta as an X
// become two straight lines.

import { theme } from "./colours.js";
import { durationRound, plural, significant } from "./numbers.js";
import { element, reveal, settled } from "./words.js";
import { model, quantaIn, scaledColumn, VALUES } from "./model.js";
import { makeGrid, paintGrid, rowOf, scaleY } from "./raster.js";
import { change, subscribe, view } from "./view.js";
import { valueAxis, valueTicks } from "./axes.js";
import { AXIS, drawLabel, outline, Sheet } from "./sheet.js";

const FOLD = 220;
/**
 * Units of a period, and of a frequency, in lower case; of `mHz` and `MHz` the case tells.
 * @type {Record<string, number>}
 */
const SECONDS = { ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1 };
/** @type {Record<string, number>} */
const HERTZ = { hz: 1, khz: 1e3, mhz: 1e6 };

/**
 * A period as people write it: `1ms`, `250 Hz`, `0.004`; in seconds, or null.
 * @param {string} words
 */
function parsePeriod(words) {
  const match = /^\s*([0-9.]+(?:e[+-]?\d+)?)\s*(ns|us|µs|ms|s|mHz|Hz|kHz|MHz)?\s*$/i.exec(words);
  if (!match || !(Number(match[1]) > 0)) return null;
  const number = Number(match[1]);
  const unit = match[2] ?? "s";
  const seconds = SECONDS[unit.toLowerCase()];
  if (seconds) return number * seconds;
  return 1 / (number * (unit === "mHz" ? 1e-3 : HERTZ[unit.toLowerCase()]));
}

/** @param {number} period */
export function foldAt(period) {
  change({ period });
  reveal("fold", "nearest");
}

export function foldSection() {
  const sheet = new Sheet(FOLD + AXIS + 4, "Quanta by their phase in the period");
  const input = element("input", { type: "text", id: "period", size: 18, placeholder: "1ms or 250 Hz", autocomplete: "off", spellcheck: false });
  const note = element("p", { class: "note", role: "status" });
  const form = element("form", { class: "group", onsubmit: (event) => {
    event.preventDefault();
    const period = parsePeriod(input.value);
    if (period) change({ period });
    else note.textContent = `Found “${input.value}”, expected a period or a frequency, such as 1ms or 250 Hz.`;
  } }, element("label", { for: "period" }, "period "), input, element("button", {}, "fold"),
    element("button", { type: "button", onclick: () => change({ period: view.period && view.period / 2 }) }, "half"),
    element("button", { type: "button", onclick: () => change({ period: view.period && view.period * 2 }) }, "double"));
  const draw = () => {
    const series = model.series[view.selected];
    if (!series) return;
    if (view.period && !input.value) input.value = spellPeriod(view.period);
    const context = sheet.begin();
    note.textContent = drawFold(context, series, sheet.width);
  };
  const later = settled(draw, 60);
  subscribe((keys) => {
    if (keys.has("period") && view.period && document.activeElement !== input) input.value = spellPeriod(view.period);
    if (!keys.size || keys.has("period") || keys.has("size")) draw();
    else if (["from", "to", "selected", "value", "theme", "fit"].some((key) => keys.has(key))) later();
  });
  return element("section", { id: "fold" }, element("h2", {}, "Quanta folded at a period"), form, sheet.canvas, note);
}

/**
 * A period to the digits that tell a drift of a part in 10^9.
 * @param {number} s
 */
const spellPeriod = (s) => (s < 1e-3 ? `${Number((s * 1e6).toPrecision(12))} us` : s < 1 ? `${Number((s * 1e3).toPrecision(12))} ms` : `${Number(s.toPrecision(12))} s`);

/**
 * Draws the quanta of the window by phase; returns what there is to say.
 * @param {Context} context
 * @param {Series} series
 * @param {number} width
 */
function drawFold(context, series, width) {
  const frame = { x: width < 560 ? 50 : 64, y: 4, width: Math.max(40, width - (width < 560 ? 60 : 76)), height: FOLD };
  const axis = valueAxis(series);
  if (!view.period || !axis || !series.length) {
    outline(context, frame);
    return !series.length ? "This page does not hold the quanta of this series." : "Type a period, or select “fold” at a signal or a finding.";
  }
  const y = scaleY(axis, view.value, frame);
  context.textAlign = "right";
  for (const [tick, name] of valueTicks(axis, view.value, frame.height / 34)) {
    const at = y(VALUES[view.value].scale(tick));
    context.fillStyle = theme.ink.rule;
    context.fillRect(frame.x, at - 0.5, frame.width, 1);
    context.fillStyle = theme.ink.grey;
    drawLabel(context, name, frame.x - 6, at + 4);
  }
  context.textAlign = "center";
  for (let k = 0; k <= 4; k++) {
    const at = frame.x + (frame.width * k) / 4;
    drawLabel(context, durationRound((view.period * 1e9 * k) / 4), Math.min(at, frame.x + frame.width - 18), frame.y + frame.height + 15);
  }
  context.textAlign = "left";
  const grid = makeGrid(frame);
  const row = rowOf(axis, view.value, grid.rows);
  const column = scaledColumn(series, view.value);
  const [first, end] = quantaIn(series, view.from, view.to);
  const turns = 1 / view.period;
  const phases = new Uint32Array(end - first), seen = new Uint8Array(grid.columns);
  for (let k = first; k < end; k++) {
    const phase = series.start[k] * turns;
    const c = Math.min(grid.columns - 1, Math.floor((phase - Math.floor(phase)) * grid.columns));
    phases[k - first] = c;
    seen[c] = 1;
  }
  // Where all quanta begin at a few phases, each fills its length; where they creep, its beginning is enough, and sharper.
  const few = seen.reduce((a, b) => a + b, 0) < grid.columns / 2;
  const wide = few ? Math.max(1, Math.round(series.quantumS * turns * grid.columns)) : 1;
  for (let k = first; k < end; k++) {
    if (column[k] !== column[k]) continue;
    const line = row(column[k]) * grid.columns;
    const c = phases[k - first];
    for (let w = 0; w < wide && w < grid.columns; w++) grid.counts[line + ((c + w) % grid.columns)]++;
  }
  paintGrid(context, grid, frame);
  outline(context, frame);
  const turnsShown = (view.to - view.from) * turns;
  const held = series.complete ? "" : " that this page holds";
  return `${plural(end - first, "quantum", "quanta")} of ${series.label}${held}, placed by their start within a period of ${spellPeriod(view.period)} (${significant(turns, 9)} Hz). The window has ${significant(turnsShown, 4)} periods: an error of one part in ${significant(turnsShown, 2)} smears the picture over its whole width.`;
}
