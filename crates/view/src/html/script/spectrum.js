// The spectrum of the time lost per quantum, logarithmic both ways, with a line for each signal that was found. Choosing one folds by it.

import { theme } from "./colours.js";
import { duration, frequency, frequencyRound, percent, significant } from "./numbers.js";
import { element, table, visible } from "./words.js";
import { model } from "./model.js";
import { subscribe, view } from "./view.js";
import { logTicks } from "./axes.js";
import { hideTip, showTip } from "./tip.js";
import { AXIS, drawLabel, extent, line, outline, Sheet, take } from "./sheet.js";
import { foldAt } from "./fold.js";

const SPECTRUM = 190;
/** Lines of names above the spectrum, and the height of one. */
const ROWS = 3;
const ROW = 15;
/** Signals with a name, the costliest first. */
const MOST_NAMES = 8;

export function spectrumSection() {
  const sheet = new Sheet(SPECTRUM + AXIS, "Spectrum of the time lost; the signals are below as text");
  const body = element("div");
  const heading = element("h2", {}, "Periodic losses");
  const root = element("section", { id: "spectrum" }, heading, sheet.canvas, body);
  subscribe((keys) => {
    if (keys.size && !["selected", "theme", "period", "size"].some((key) => keys.has(key))) return;
    const series = model.series[view.selected];
    if (!series) return;
    const has = series.spectrum.power.length > 2;
    sheet.canvas.hidden = !has;
    if (has) drawSpectrum(sheet, series);
    body.replaceChildren(signalsTable(series, has));
  });
  sheet.canvas.addEventListener("click", (event) => {
    const series = model.series[view.selected];
    const hz = hzAt(sheet, event);
    if (!hz) return;
    const near = series.report.signals.filter((s) => Math.abs(Math.log(s.frequency_hz / hz)) < 0.04);
    foldAt(1 / (near.length ? near[0].frequency_hz : hz));
  });
  sheet.canvas.addEventListener("pointermove", (event) => {
    const hz = hzAt(sheet, event);
    if (hz) showTip([`${significant(hz, 4)} Hz`, "click to fold at it"], event.clientX, event.clientY);
  });
  sheet.canvas.addEventListener("pointerleave", hideTip);
  return root;
}

/**
 * Lowest and highest frequency of the spectrum of a series.
 * @param {Series} series
 */
const rangeOf = ({ spectrum: { power, step } }) => [step, step * (power.length - 1)];

/**
 * The frequency under the pointer.
 * @param {Sheet} sheet
 * @param {MouseEvent} event
 */
function hzAt(sheet, event) {
  const { frame } = sheet;
  const x = event.clientX - sheet.canvas.getBoundingClientRect().left;
  const [low, high] = rangeOf(model.series[view.selected]);
  if (!frame || x < frame.x || x > frame.x + frame.width) return null;
  return low * (high / low) ** ((x - frame.x) / frame.width);
}

/**
 * @param {Sheet} sheet
 * @param {Series} series
 */
function drawSpectrum(sheet, series) {
  const { power, step } = series.spectrum;
  const rows = Math.min(ROWS, series.report.signals.length);
  sheet.resize(rows * ROW + SPECTRUM + AXIS);
  const context = sheet.begin();
  const left = sheet.width < 560 ? 50 : 64;
  const frame = { x: left, y: 4 + rows * ROW, width: Math.max(40, sheet.width - left - 12), height: SPECTRUM - 8 };
  const [low, high] = rangeOf(series);
  sheet.frame = frame;
  /** @param {number} hz */
  const x = (hz) => frame.x + (Math.log(hz / low) / Math.log(high / low)) * frame.width;
  // The envelope: no line is lost however narrow.
  const columns = Math.floor(frame.width);
  const tops = new Float64Array(columns), bottoms = new Float64Array(columns).fill(Infinity);
  for (let k = 1; k < power.length; k++) {
    const a = Math.max(0, Math.floor(x(step * Math.max(1, k - 0.5)) - frame.x)), b = Math.min(columns - 1, Math.floor(x(step * Math.min(power.length - 1, k + 0.5)) - frame.x));
    for (let c = a; c <= b; c++) {
      tops[c] = Math.max(tops[c], power[k]);
      bottoms[c] = Math.min(bottoms[c], power[k]);
    }
  }
  const positive = [...tops].filter((v) => v > 1e-300).sort((a, b) => a - b);
  outline(context, frame);
  if (!positive.length) return;
  const [least, most] = [positive[Math.floor(positive.length * 0.02)] / 4, positive[positive.length - 1] * 4];
  /** @param {number} v */
  const y = (v) => frame.y + frame.height - Math.min(1, Math.max(0, Math.log(v / least) / Math.log(most / least))) * frame.height;
  context.fillStyle = theme.ink.bar;
  tops.forEach((top, c) => {
    if (top > 0) context.fillRect(frame.x + c, y(top), 1, Math.max(1.5, Math.min(y(bottoms[c]), frame.y + frame.height) - y(top)));
  });
  context.fillStyle = theme.ink.grey;
  context.textAlign = "center";
  for (const tick of logTicks(low, high, frame.width / 70)) {
    context.fillRect(x(tick) - 0.5, frame.y + frame.height, 1, 4);
    drawLabel(context, frequencyRound(tick), Math.min(x(tick), frame.x + frame.width - 14), frame.y + frame.height + 15);
  }
  context.textAlign = "right";
  drawLabel(context, "ns²/Hz", frame.x - 6, frame.y + 9);
  const decades = Math.ceil(Math.log10(most / least) / 8);
  for (let k = Math.ceil(Math.log10(least)); 10 ** k <= most; k += decades) drawLabel(context, `1e${k}`, frame.x - 6, y(10 ** k) + 4);
  context.textAlign = "left";
  nameSignals(context, series, frame, x);
}

/**
 * A dashed line for each signal, up to its name above the spectrum: like a flag, so that no line runs through the name of another.
 * @param {Context} context
 * @param {Series} series
 * @param {Frame} frame
 * @param {(hz: number) => number} x
 */
function nameSignals(context, series, frame, x) {
  const right = frame.x + frame.width;
  // Signals on one line share it.
  /** @type {Map<number, SeriesReport["signals"]>} */
  const lines = new Map();
  for (const signal of series.report.signals) {
    const at = Math.round(x(signal.frequency_hz));
    if (at >= frame.x && at <= right) lines.set(at, [...(lines.get(at) ?? []), signal]);
  }
  const flags = [...lines].map(([at, signals], rank) => {
    const causes = new Set(signals.flatMap(({ cause }) => cause ?? []).map(visible));
    const words = `${frequencyRound(signals[0].frequency_hz)} ${[...causes].join(", ")}`.slice(0, 40).trim();
    const width = context.measureText(words).width;
    const toLeft = at + 4 + width > right;
    return { at, words, toLeft, left: toLeft ? at - 4 - width : at + 4, named: rank < MOST_NAMES };
  });
  // A name covers lines behind it, whose names must be lower: those come first.
  flags.sort((a, b) => Number(a.toLeft) - Number(b.toLeft) || (a.toLeft ? a.at - b.at : b.at - a.at));
  context.strokeStyle = context.fillStyle = theme.ink.band;
  context.setLineDash([4, 4]);
  for (const { at, words, left, named } of flags) {
    const rows = named ? Array.from({ length: ROWS }, (_, row) => frame.y - 5 - row * ROW) : [];
    const base = rows.find((y) => take(context, extent(context, words, left, y), [at - 2, y - 10, at + 2, frame.y]));
    if (base !== undefined) context.fillText(words, left, base);
    line(context, at, base === undefined ? frame.y : base - 10, at, frame.y + frame.height);
  }
  context.setLineDash([]);
}

/**
 * A button that folds by a frequency.
 * @param {number} hz
 * @param {string} [words]
 */
export function foldButton(hz, words = "fold") {
  return element("button", { type: "button", class: "show", onclick: () => foldAt(1 / hz) }, words);
}

/**
 * @param {Series} series
 * @param {boolean} has
 */
function signalsTable(series, has) {
  const { signals, limits } = series.report;
  const rows = signals.map((s) => [frequency(s.frequency_hz, s.uncertainty_hz), duration(s.ns_per_event), percent(s.ns_per_event * s.frequency_hz / 1e9), s.origin, s.cause ?? `not known; seen in the ${s.seen_in}`, foldButton(s.frequency_hz)]);
  const losses = limits.losses.map((l) => `${duration(l.ns_per_event)} at ${frequencyRound(l.frequency_hz)}`);
  return element("div", {},
    rows.length ? table(`Signals of ${series.label}, costliest first`, ["frequency", "loss per event", "of time", "origin", "cause", ""], rows)
      : element("p", {}, has ? `No periodic loss was found in ${series.label}.` : `${series.label} is too short for a spectrum.`),
    losses.length ? element("p", { class: "note" }, `Smallest detectable periodic loss: ${losses.join(", ")}.`) : null);
}
