// Axes: where ticks stand and what they are called, and the range of a value that holds what there is and little more.

import { durationRound, shortened, significant, whole } from "./numbers.js";
import { model, quantaIn, scaledColumn, VALUES } from "./model.js";
import { theme } from "./colours.js";
import { drawLabel } from "./sheet.js";
import { view } from "./view.js";

/** A quiet CPU looks like a flat line and not like its own rounding enlarged: the axis of pace spans at least this ratio (`panels.rs`). */
const LEAST_RATIO = 1.1;
/** Share of the quanta that may lie beyond the axis at either end, where they are drawn at its edge (`picture/mod.rs`). */
const BEYOND = 1e-3;
const SLOTS = 4096;

/**
 * Round numbers from `from` to `to`, some `n` of them.
 * @param {number} from
 * @param {number} to
 * @param {number} n
 */
function linearTicks(from, to, n) {
  const rough = (to - from) / Math.max(1, n);
  if (!(rough > 0) || !Number.isFinite(rough)) return { ticks: [], step: 1 };
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((m) => m * power >= rough) ?? 10);
  const ticks = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; k++) ticks.push(k * step);
  return { ticks, step };
}

/**
 * Round numbers of a logarithmic axis: 1, 2, 5 of each decade where it spans some, else as on a linear one.
 * @param {number} from
 * @param {number} to
 * @param {number} n
 */
export function logTicks(from, to, n) {
  if (!(from > 0 && to > from)) return [];
  if (to / from < 4) return linearTicks(from, to, n).ticks;
  const decades = Math.log10(to / from);
  const mantissas = decades > n ? [1] : decades * 3 > n ? [1, 3] : [1, 2, 5];
  const ticks = [];
  for (let k = Math.floor(Math.log10(from)); 10 ** k <= to; k++) {
    for (const m of mantissas) if (m * 10 ** k >= from && m * 10 ** k <= to) ticks.push(m * 10 ** k);
  }
  return ticks.length > 1 ? ticks : linearTicks(from, to, n).ticks;
}

/**
 * Ticks of a window of time with their names: in seconds, or in ms or us where the whole run is short.
 * @param {number} from
 * @param {number} to
 * @param {number} n
 * @returns {Tick[]}
 */
function timeTicks(from, to, n) {
  const { ticks, step } = linearTicks(from, to, n);
  const end = model.whole[1];
  const [one, symbol] = end < 0.002 ? [1e-6, "µs"] : end < 1 ? [1e-3, "ms"] : [1, "s"];
  const decimals = Math.min(9, Math.max(0, -Math.floor(Math.log10(step / one) + 1e-9)));
  return ticks.map((tick) => [tick, `${(tick / one).toFixed(decimals)} ${symbol}`]);
}

/**
 * The time axis below a frame.
 * @param {Context} context
 * @param {Frame} frame
 */
export function timeAxis(context, frame) {
  const bottom = frame.y + frame.height;
  context.fillStyle = theme.ink.grey;
  context.textAlign = "center";
  for (const [tick, name] of timeTicks(view.from, view.to, frame.width / 120)) {
    const x = frame.x + ((tick - view.from) / (view.to - view.from)) * frame.width;
    context.fillRect(x - 0.5, bottom, 1, 4);
    const half = context.measureText(name).width / 2;
    drawLabel(context, name, Math.max(x, half + 1), bottom + 15);
  }
  context.textAlign = "left";
}

/**
 * Ends of what is there, and of what is there but for the share `beyond` at either end, in the scale of the value.
 * @param {Uint32Array} counts
 * @param {number} low
 * @param {number} high
 * @param {number} beyond
 */
function occupied(counts, low, high, beyond) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const outside = Math.floor(total * beyond);
  /** @param {number} slot */
  const edge = (slot) => low + ((high - low) * slot) / counts.length;
  let first = 0, last = counts.length - 1;
  for (let sum = counts[first]; sum <= outside && first < last;) sum += counts[++first];
  for (let sum = counts[last]; sum <= outside && last > first;) sum += counts[--last];
  return [edge(first), edge(last + 1)];
}

/**
 * Quanta by a scaled value between two ends of it.
 * @param {Float32Array} column
 * @param {number} first
 * @param {number} end
 * @param {number} low
 * @param {number} high
 */
function slots(column, first, end, low, high) {
  const counts = new Uint32Array(SLOTS);
  const per = SLOTS / (high - low);
  for (let k = first; k < end; k++) {
    const at = (column[k] - low) * per;
    if (at >= 0 && at <= SLOTS) counts[Math.min(SLOTS - 1, at | 0)]++;
  }
  return counts;
}

/**
 * The two ranges of one series between two instants: with all, and without those beyond; null where there is nothing.
 * @param {Series} series
 * @param {Value} value
 * @param {number} from
 * @param {number} to
 */
function ranges(series, value, from, to) {
  let low = Infinity, high = -Infinity;
  const column = series.length ? scaledColumn(series, value) : new Float32Array();
  const [first, end] = quantaIn(series, from, to);
  for (let k = first; k < end; k++) {
    if (column[k] < low) low = column[k];
    if (column[k] > high) high = column[k];
  }
  const { density: cells } = series;
  if (!series.complete && cells && value === "pace") {
    const counts = new Uint32Array(cells.rows);
    for (let k = 0; k < cells.cells.length; k++) counts[cells.cells.row[k]] += cells.cells.count[k];
    const [bottom, top] = [Math.log(cells.low), Math.log(cells.high)];
    return [occupied(counts, bottom, top, 0), occupied(counts, bottom, top, BEYOND)];
  }
  if (!series.complete && series.bins.length && value === "count") {
    const bins = series.bins.filter((bin) => bin.quanta > 0);
    low = Math.min(low, ...bins.map((bin) => bin.low));
    high = Math.max(high, ...bins.map((bin) => bin.high));
    return [[low, high], [low, high]];
  }
  if (!(low <= high)) return null;
  if (low === high) return [[low, high], [low, high]];
  const counts = slots(column, first, end, low, high);
  return [[low, high], occupied(counts, low, high, BEYOND)];
}

/**
 * The axis that holds some series, in the scale of the value.
 * @param {Series[]} members
 * @param {Value} value
 * @param {number} from
 * @param {number} to
 */
export function axisOf(members, value, from, to) {
  const found = members.map((series) => ranges(series, value, from, to)).filter((range) => range !== null);
  if (!found.length) return null;
  /**
   * @param {0 | 1} which
   * @returns {Pair}
   */
  const join = (which) => [Math.min(...found.map((f) => f[which][0])), Math.max(...found.map((f) => f[which][1]))];
  const [all, most] = [join(0), join(1)];
  const { log } = VALUES[value];
  const least = log ? Math.log(LEAST_RATIO) : Math.max(1, 0.1 * Math.abs(all[1]));
  /** @param {Pair} range */
  const room = ([low, high]) => Math.max(high - low, least);
  const [low, high] = room(all) > 2 * room(most) ? most : all;
  const missing = Math.max(0, least - (high - low)) / 2;
  const margin = room([low, high]) * 0.06;
  return { low: low - missing - margin, high: high + missing + margin, all };
}

/** Axes of all series: one for those of a work kernel, because paces of two kernels have nothing in common. Kept until something of it changes. */
/** @type {{ known: Map<string, Axis | null> }} */
const axes = { known: new Map() };

/** @param {Series} series */
export function valueAxis(series) {
  const { value, fit } = view;
  const [from, to] = fit ? [view.from, view.to] : model.whole;
  const name = `${value} ${from} ${to} ${series.report.kernel} ${value === "count" ? series.report.rate_hz : ""}`;
  if (!axes.known.has(name)) {
    if (axes.known.size > 64) axes.known.clear();
    const members = model.series.filter((other) => other.report.kernel === series.report.kernel && (value !== "count" || other.report.rate_hz === series.report.rate_hz));
    axes.known.set(name, axisOf(members, value, from, to));
  }
  return axes.known.get(name) ?? null;
}

/**
 * Ticks of the axis of a value with their names.
 * @param {Axis} axis
 * @param {Value} value
 * @param {number} n
 * @returns {Tick[]}
 */
export function valueTicks(axis, value, n) {
  const { back, log } = VALUES[value];
  const [from, to] = [back(axis.low), back(axis.high)];
  const ticks = log ? logTicks(from, to, n) : linearTicks(from, to, n).ticks;
  if (value === "loss") return ticks.map((tick) => [tick, durationRound(tick)]);
  return ticks.map((tick) => [tick, value === "count" ? whole(tick) : shortened(`${significant(tick, 4)} `).trim()]);
}
