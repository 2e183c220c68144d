// Where findings are to be seen: a stretch of time each, a period to fold by, and the flags above the pictures.

import { theme } from "./colours.js";
import { finite } from "./numbers.js";
import { model } from "./model.js";
import { view } from "./view.js";
import { drawLabel, take } from "./sheet.js";

/** Cards that there are at all: each has a picture. */
export const MOST_CARDS = 200;

/**
 * The cause that a finding is about, by its evidence or by the signal of its frequency.
 * @param {Finding} finding
 */
export function causeOf(finding) {
  /** @type {Evidence} */
  const { cause, causes, frequency_hz: hz } = finding.evidence;
  const signal = model.series[finding.series[0]]?.report.signals.find((one) => one.frequency_hz === hz);
  return cause ?? (finding.kind === "stolen-time" ? "host" : causes?.split(",")[0].trim() || signal?.cause) ?? null;
}

/**
 * Where a finding is best seen: a stretch of time, a period to fold by, or both. Null where neither is known.
 * @param {Finding} finding
 * @returns {Place | null}
 */
export function placeOf(finding) {
  /** @type {Evidence} */
  const e = finding.evidence;
  const series = model.series[finding.series[0]];
  if (!series) return null;
  const [start, end] = model.whole;
  /**
   * @param {number} at
   * @param {number} s
   */
  const around = (at, s) => ({ at, from: Math.max(start, at - s), to: Math.min(end, at + s) });
  const hz = e.frequency_hz;
  const period = e.period_s ?? e.grid_s ?? (hz ? 1 / hz : e.period_quanta ? e.period_quanta * series.quantumS : null);
  const edges = series.edges.at;
  switch (finding.kind) {
    case "warm-up":
      return { at: start, from: start, to: Math.min(end, start + 2 * (e.measured_s ?? e.duration_s ?? end)) };
    case "migration":
      return finite(e.first_s) ? around(e.first_s, 50 * series.quantumS) : null;
    case "time-away":
    case "stolen-time":
    case "synchronous-gaps": {
      const longest = longestGap(series, causeOf(finding));
      return longest < 0 ? null : { ...around(series.marks.at[longest], Math.max(20 * series.quantumS, series.marks.ns[longest] / 1e8)), period };
    }
    case "moving-edges":
    case "bistable-pace":
    case "edge-pairs":
    case "sub-loop-mixture":
    case "frequency-steps":
    case "alternating-bands":
      if (edges.length > 1) {
        const middle = Math.floor(edges.length / 2);
        // As long as eight stays are, where they are all of a length.
        const stays = Math.min(edges.length - 1, 8);
        const first = Math.min(edges.length - 1 - stays, Math.max(0, middle - Math.floor(stays / 2)));
        const span = Math.max(edges[first + stays] - edges[first], 20 * series.quantumS);
        return { ...around((edges[first] + edges[first + stays]) / 2, span * 0.6), period };
      }
      return { at: null, from: start, to: Math.min(end, start + 64 * series.quantumS), period };
    default:
      if (period) return { ...around(middleOf(series), Math.max(6 * period, 20 * series.quantumS)), period };
      if (series.marks.length) {
        const longest = longestGap(series, null);
        return around(series.marks.at[longest], 40 * series.quantumS);
      }
      return { at: null, from: start, to: end };
  }
}

/**
 * The middle of the longest stretch of a series.
 * @param {Series} series
 */
function middleOf(series) {
  const longest = series.stretches.reduce((a, b) => (b[1] - b[0] > a[1] - a[0] ? b : a), series.stretches[0] ?? model.whole);
  return (longest[0] + longest[1]) / 2;
}

/**
 * The longest gap of a cause, or of all; -1 where there is none.
 * @param {Series} series
 * @param {string | null} cause
 */
function longestGap(series, cause) {
  const { marks } = series;
  const index = cause ? marks.names.indexOf(cause) : -1;
  let found = -1;
  for (let k = 0; k < marks.length; k++) {
    if (index >= 0 && marks.cause[k] !== index) continue;
    if (found < 0 || marks.ns[k] > marks.ns[found]) found = k;
  }
  return found;
}

/** Findings with their places, worked out once. */
export function places() {
  return (model.places ??= model.report.findings.slice(0, MOST_CARDS).map((finding, number) => ({ finding, number: number + 1, place: placeOf(finding) })));
}

/** CSS pixels above a plot for the flags of findings. */
export const FLAGS = 15;
/** Numbers that are written beside one flag. */
const MOST_NUMBERS = 3;

/**
 * A flag above the plot for each finding that has an instant; one for those that would stand on each other.
 * @param {Context} context
 * @param {Series} series
 * @param {Frame} frame
 */
export function paintPlaces(context, series, frame) {
  const here = places().flatMap(({ finding, number, place }) => {
    const at = finding.series.includes(series.index) ? place?.at : null;
    return finite(at) && at >= view.from && at <= view.to ? [{ number, at }] : [];
  });
  /** @type {{ x: number, numbers: number[] }[]} */
  const flags = [];
  /** @param {number[]} numbers */
  const words = (numbers) => numbers.slice(0, MOST_NUMBERS).join(", ") + (numbers.length > MOST_NUMBERS ? " …" : "");
  for (const { number, at } of here.sort((a, b) => a.at - b.at)) {
    const x = frame.x + ((at - view.from) / (view.to - view.from)) * frame.width;
    const last = flags.at(-1);
    if (last && x < last.x + 20 + context.measureText(words(last.numbers)).width) last.numbers.push(number);
    else flags.push({ x, numbers: [number] });
  }
  context.fillStyle = theme.ink.ink;
  for (const { x, numbers } of flags) {
    const [top, bottom] = [frame.y - 10, frame.y - 2];
    if (!take(context, [x - 5, top, x + 5, bottom])) continue;
    context.beginPath();
    context.moveTo(x - 5, top);
    context.lineTo(x + 5, top);
    context.lineTo(x, bottom);
    context.fill();
    drawLabel(context, words(numbers), x + 8, frame.y - 3);
  }
}

/**
 * The finding whose flag is at an instant, `y` pixels below the top of the plot.
 * @param {Series} series
 * @param {number} seconds
 * @param {number} within
 * @param {number} y
 */
export function placeNear(series, seconds, within, y) {
  if (y >= 0) return null;
  return places().find(({ finding, place }) => place && finite(place.at) && Math.abs(place.at - seconds) < within && finding.series.includes(series.index)) ?? null;
}
