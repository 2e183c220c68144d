// Quanta as density: counts per cell of a raster, a logarithmic colour for each. Never overplotted dots, which hide what matters.

import { density, theme, viridis } from "./colours.js";
import { quantaIn, scaledColumn, VALUES } from "./model.js";

/** CSS pixels to a cell: large enough that a single quantum is seen. */
export const CELL = 2;
/** From so many pixels a quantum on, each is drawn as the bar that it is. */
export const SINGLE = 3;

/**
 * A raster of cells over a frame.
 * @param {Frame} frame
 */
export function makeGrid(frame) {
  const columns = Math.max(1, Math.floor(frame.width / CELL)), rows = Math.max(1, Math.floor(frame.height / CELL));
  return { columns, rows, counts: new Uint32Array(columns * rows), most: 0 };
}

/**
 * Row of a scaled value; what lies beyond the axis falls into the first or the last.
 * @param {Axis} axis
 * @param {Value} value
 * @param {number} rows
 */
export function rowOf(axis, value, rows) {
  const per = rows / (axis.high - axis.low);
  return VALUES[value].up
    ? (/** @type {number} */ scaled) => Math.min(rows - 1, Math.max(0, ((axis.high - scaled) * per) | 0))
    : (/** @type {number} */ scaled) => Math.min(rows - 1, Math.max(0, ((scaled - axis.low) * per) | 0));
}

/**
 * Adds the quanta of a window. A quantum is as long as it lasted.
 * @param {Grid} grid
 * @param {Series} series
 * @param {Axis} axis
 * @param {Value} value
 * @param {number} from
 * @param {number} to
 */
function addQuanta(grid, series, axis, value, from, to) {
  const { columns, rows, counts } = grid;
  const column = scaledColumn(series, value);
  const row = rowOf(axis, value, rows);
  const [first, end] = quantaIn(series, from, to);
  const { start, lengthNs } = series;
  const per = columns / (to - from);
  const perNs = per / 1e9;
  for (let k = first; k < end; k++) {
    const scaled = column[k];
    if (scaled !== scaled) continue;
    const at = (start[k] - from) * per;
    const left = Math.max(0, at | 0);
    // It begins in this cell, and fills those that it covers for the most part.
    const right = Math.min(columns, Math.max(left + 1, Math.round(at + lengthNs[k] * perNs)));
    const line = row(scaled) * columns;
    for (let c = left; c < right; c++) counts[line + c]++;
  }
}

/**
 * Adds the density of a series of which not all quanta are held. A cell of it is spread over what it covers of the raster.
 * @param {Grid} grid
 * @param {Series} series
 * @param {Axis} axis
 * @param {number} from
 * @param {number} to
 */
function addDensity(grid, series, axis, from, to) {
  const { density: source } = series;
  if (!source) return;
  const { columns, rows, counts } = grid;
  const perColumn = series.coarseS / source.columns;
  const logLow = Math.log(source.low), perRow = Math.log(source.high / source.low) / source.rows;
  /** @param {number} scaled */
  const y = (scaled) => ((scaled - axis.low) / (axis.high - axis.low)) * rows;
  /** @param {number} seconds */
  const x = (seconds) => ((seconds - from) / (to - from)) * columns;
  /**
   * @param {number} at
   * @param {number} most
   */
  const clamp = (at, most) => Math.min(most - 1, Math.max(0, at));
  const { column, row, count, length } = source.cells;
  for (let k = 0; k < length; k++) {
    const left = x(column[k] * perColumn), right = x((column[k] + 1) * perColumn);
    if (right <= 0 || left >= columns) continue;
    const first = clamp(Math.floor(left), columns), last = Math.max(first + 1, Math.min(columns, Math.round(right)));
    const top = y(logLow + row[k] * perRow), bottom = y(logLow + (row[k] + 1) * perRow);
    const upper = bottom - top <= 1 ? clamp(Math.floor((top + bottom) / 2), rows) : clamp(Math.round(top), rows);
    const lower = bottom - top <= 1 ? upper + 1 : Math.max(upper + 1, Math.min(rows, Math.round(bottom)));
    // By its area, not by the cells that it is rounded to: their number differs from one to the next. A single quantum is still seen.
    const each = Math.max(1, Math.round(count[k] / (Math.max(1, right - left) * Math.max(1, bottom - top))));
    for (let r = upper; r < lower; r++) for (let c = first; c < last; c++) counts[r * columns + c] += each;
  }
}

/**
 * Paints a raster over a frame, sharp.
 * @param {Context} context
 * @param {Grid} grid
 * @param {Frame} frame
 */
export function paintGrid(context, grid, frame) {
  const { columns, rows, counts } = grid;
  let most = 0;
  for (let k = 0; k < counts.length; k++) if (counts[k] > most) most = counts[k];
  grid.most = most;
  if (!most) return;
  const image = new ImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const logMost = Math.log(most);
  const known = new Uint32Array(Math.min(most, 65535) + 1);
  for (let k = 0; k < counts.length; k++) {
    const count = counts[k];
    if (!count) continue;
    pixels[k] = count < known.length ? known[count] || (known[count] = density(count, logMost)) : density(count, logMost);
  }
  const sheet = new OffscreenCanvas(columns, rows);
  sheet.getContext("2d")?.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(sheet, frame.x, frame.y, frame.width, frame.height);
}

/**
 * Draws each quantum of a window as a bar as long as it lasted; where there is room, a hair shows where it ends.
 * @param {Context} context
 * @param {Series} series
 * @param {Axis} axis
 * @param {Value} value
 * @param {number} from
 * @param {number} to
 * @param {Frame} frame
 */
function paintSingles(context, series, axis, value, from, to, frame) {
  const column = scaledColumn(series, value);
  const [first, end] = quantaIn(series, from, to);
  const y = scaleY(axis, value, frame);
  /** @param {number} seconds */
  const x = (seconds) => frame.x + ((seconds - from) / (to - from)) * frame.width;
  const [red, green, blue] = viridis(theme.name === "light" ? 0.25 : 0.75);
  context.fillStyle = `rgb(${red} ${green} ${blue})`;
  for (let k = first; k < end; k++) {
    if (column[k] !== column[k]) continue;
    const left = x(series.start[k]), right = x(series.start[k] + series.lengthNs[k] / 1e9);
    context.fillRect(left, y(column[k]) - 1.5, Math.max(1.5, right - left - 1), 3);
  }
}

/**
 * Least and greatest in bins, where the bins are all there is.
 * @param {Context} context
 * @param {Series} series
 * @param {Axis} axis
 * @param {Value} value
 * @param {number} from
 * @param {number} to
 * @param {Frame} frame
 */
function paintBins(context, series, axis, value, from, to, frame) {
  if (value === "loss" || !series.bins.length) return;
  const step = series.coarseS / series.bins.length;
  const { scale } = VALUES[value];
  const y = scaleY(axis, value, frame);
  /** @param {number} seconds */
  const x = (seconds) => frame.x + ((seconds - from) / (to - from)) * frame.width;
  const first = Math.max(0, Math.floor(from / step)), end = Math.min(series.bins.length, Math.ceil(to / step));
  for (let k = first; k < end; k++) {
    const bin = series.bins[k];
    if (!bin.quanta) continue;
    const [a, b] = value === "pace" ? [bin.fast, bin.slow] : [bin.high, bin.low];
    const [top, bottom] = [y(scale(a)), y(scale(b))];
    const left = x(k * step), width = Math.max(1, x((k + 1) * step) - left - 0.5);
    context.fillStyle = theme.ink.bar;
    context.globalAlpha = 0.6;
    context.fillRect(left, top, width, Math.max(1, bottom - top));
    context.globalAlpha = 1;
  }
}

/**
 * From a scaled value to a height in a frame, held to it.
 * @param {Axis} axis
 * @param {Value} value
 * @param {Frame} frame
 */
export function scaleY(axis, value, frame) {
  const per = frame.height / (axis.high - axis.low);
  const { up } = VALUES[value];
  return (/** @type {number} */ scaled) => frame.y + Math.min(frame.height, Math.max(0, (up ? axis.high - scaled : scaled - axis.low) * per));
}

/**
 * Draws a series over a window of time into a frame, as finely as there is data; returns the raster, if one was drawn.
 * @param {Context} context
 * @param {Series} series
 * @param {Axis} axis
 * @param {Value} value
 * @param {number} from
 * @param {number} to
 * @param {Frame} frame
 */
export function paintSeries(context, series, axis, value, from, to, frame) {
  context.save();
  context.beginPath();
  context.rect(frame.x, frame.y, frame.width, frame.height);
  context.clip();
  let grid = null;
  /** @param {number} seconds */
  const pixels = (seconds) => (seconds / (to - from)) * frame.width;
  if (!series.complete) {
    const coarse = series.density && value === "pace" && pixels(series.coarseS / series.density.columns) < 3 * CELL;
    if (coarse) {
      grid = makeGrid(frame);
      addDensity(grid, series, axis, from, to);
      paintGrid(context, grid, frame);
    } else {
      paintBins(context, series, axis, value, from, to, frame);
    }
    // Quanta themselves over it, once a stretch of them is more than a sliver.
    if (coarse || !series.stretches.some(([a, b]) => b > from && a < to && pixels(b - a) > 24)) {
      context.restore();
      return grid;
    }
  }
  if (series.length) {
    if (pixels(series.quantumS) >= SINGLE) {
      paintSingles(context, series, axis, value, from, to, frame);
    } else {
      grid = makeGrid(frame);
      addQuanta(grid, series, axis, value, from, to);
      paintGrid(context, grid, frame);
    }
  }
  context.restore();
  return grid;
}
