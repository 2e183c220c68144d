// The series of the page: the report's figures and, from the columns of `data.rs`, quanta, gaps, edges and spectrum.
//
// Times are seconds since the start of the recording, durations nanoseconds. Where not all quanta are held (`complete`), a density and bins of equal
// length stand for the run, and the quanta that are held lie in `stretches`.

import { theme } from "./colours.js";
import { bytesOf, Numbers } from "./decode.js";
import { finite } from "./numbers.js";
import { byId } from "./words.js";

/** @type {Model} */
export const model = { report: /** @type {WholeReport} */ (/** @type {unknown} */ (null)), measured: [], changes: null, series: [], whole: [0, 1], causes: new Map() };

/**
 * What can be shown over time: how it is scaled, whether more is better, its name. Linear in `scale`, so that equal heights are equal ratios of pace.
 * @type {Record<Value, Shown>}
 */
export const VALUES = {
  pace: { name: "pace", unit: "ns per unit", scale: Math.log, back: Math.exp, up: false, log: true },
  count: { name: "count", unit: "units per quantum", scale: (v) => v, back: (v) => v, up: true, log: false },
  // Time that work at the best pace would not have taken: over all quanta it adds up to the ledger's losses. What is not above a nanosecond is drawn at it.
  loss: { name: "time lost", unit: "ns per quantum", scale: (v) => Math.log(Math.max(v, 1)), back: Math.exp, up: false, log: true },
};

export async function load() {
  const { report, measured, changes, series } = /** @type {Held} */ (JSON.parse(byId("document").textContent));
  Object.assign(model, { report, measured, changes });
  const blocks = [...document.querySelectorAll("script.columns")];
  model.series = await Promise.all(blocks.map(async (block, index) => {
    const bytes = await bytesOf(block.textContent);
    block.textContent = "";
    return readSeries(series[index], report.series[index], index, new Numbers(bytes));
  }));
  const ends = model.series.map((s) => s.endS).filter((end) => finite(end) && end > 0);
  model.whole = [0, ends.length ? Math.max(...ends) : 1];
  rankCauses();
}

/**
 * @param {Description} about
 * @param {SeriesReport} report
 * @param {number} index
 * @param {Numbers} numbers
 * @returns {Series}
 */
function readSeries(about, report, index, numbers) {
  // In the order in which the columns were written.
  const perS = about.ticks_per_ns * 1e9;
  const { marks, told } = readMarks(about, numbers, perS);
  const quanta = readQuanta(about, report, numbers, perS, told);
  const edges = readEdges(about, numbers);
  const spectrum = { step: about.step_hz, windows: about.windows, power: logarithms(numbers, about.spectrum, 1000) };
  const { density, bins } = readCoarse(about, numbers);
  const { length } = quanta;
  const last = length ? quanta.start[length - 1] + quanta.lengthNs[length - 1] / 1e9 : 0;
  const coarseS = about.time_s ?? NaN;
  return {
    index, report, label: about.label, complete: about.complete, allMarks: about.all_marks, quantumS: 1 / (report.rate_hz || 1e4),
    ...quanta, scaledColumns: {}, edges, spectrum, marks, density, bins, coarseS, endS: Math.max(finite(coarseS) ? coarseS : 0, last),
  };
}

/**
 * @param {Description} about
 * @param {Numbers} numbers
 */
function readEdges(about, numbers) {
  const edges = { at: new Float64Array(about.edges), from: new Uint8Array(about.edges), to: new Uint8Array(about.edges) };
  for (let k = 0, at = 0; k < about.edges; k++) {
    at += numbers.signed();
    edges.at[k] = at / 1e9;
    edges.from[k] = numbers.next();
    edges.to[k] = numbers.next();
  }
  return edges;
}

// What has no pace, as in the analysis (`MIN_PRESENT`, `MAX_QUANTA_OF_UNITS` and `MAX_QUANTA_OF_ONE_UNIT` of `series/derive.rs`).
const MIN_PRESENT = 0.25;
const MAX_QUANTA_OF_UNITS = 4;
const MAX_QUANTA_OF_ONE_UNIT = 64;

/**
 * @param {Description} about
 * @param {SeriesReport} report
 * @param {Numbers} numbers
 * @param {number} perS
 * @param {{ at: Float64Array, duration: Float64Array }} told
 * @returns {Quanta}
 */
function readQuanta(about, report, numbers, perS, told) {
  const n = about.quanta;
  /** @type {[first: number, quanta: number][]} */
  const starts = [];
  for (let s = 0, at = 0; s < about.stretches; s++) starts.push([(at += numbers.next()), numbers.next()]);
  const ticks = new Float64Array(n);
  // One that would be 0 ticks long does not fit a difference: its length follows.
  for (let q = 0; q < n; q++) ticks[q] = about.quantum_ticks + numbers.signed() || numbers.next();
  const start = new Float64Array(n);
  const gapTicks = new Float64Array(n), gaps = new Uint32Array(n), own = new Float64Array(n);
  /** @type {Pair[]} */
  const stretches = [];
  let quantum = 0, mark = 0;
  for (const [first, quanta] of starts) {
    let at = first;
    for (const end = quantum + quanta; quantum < end; quantum++) {
      start[quantum] = at / perS;
      const next = at + ticks[quantum];
      // What the gaps say that begin in it; corrected below where that is not all.
      for (; mark < told.at.length && told.at[mark] < next; mark++) {
        if (told.at[mark] < at) continue;
        gapTicks[quantum] += told.duration[mark];
        gaps[quantum]++;
      }
      at = next;
    }
    stretches.push([first / perS, at / perS]);
  }
  for (let m = 0, k = 0; m < about.with_gaps; m++) {
    k += numbers.next();
    gapTicks[k] = numbers.next();
    gaps[k] = numbers.next();
  }
  for (let m = 0, k = 0; m < about.with_measurement; m++) {
    k += numbers.next();
    own[k] = numbers.next();
  }
  const count = readCounts(n, ticks, gapTicks, own, gaps, numbers);
  const best = report.best_pace ? report.best_pace.ns_per_unit : NaN;
  const pace = new Float32Array(n), loss = new Float32Array(n), lengthNs = new Float32Array(n);
  for (let q = 0; q < n; q++) {
    const units = count[q] - gaps[q];
    const ns = ticks[q] / about.ticks_per_ns;
    lengthNs[q] = ns;
    const present = ticks[q] - gapTicks[q] - own[q];
    const few = gapTicks[q] > 0 && present < MIN_PRESENT * about.quantum_ticks;
    const long = !report.gaps_known && ticks[q] > (units > 1 ? MAX_QUANTA_OF_UNITS : MAX_QUANTA_OF_ONE_UNIT) * about.quantum_ticks;
    pace[q] = units > 0 && !few && !long ? present / about.ticks_per_ns / units : NaN;
    loss[q] = ns - count[q] * best;
  }
  return { length: n, start, lengthNs, gaps, pace, loss, count, stretches };
}

/**
 * Counts, which are told against what the pace of the quantum before would give.
 * @param {number} n
 * @param {Float64Array} ticks
 * @param {Float64Array} gapTicks
 * @param {Float64Array} own
 * @param {Uint32Array} gaps
 * @param {Numbers} numbers
 */
function readCounts(n, ticks, gapTicks, own, gaps, numbers) {
  const count = new Uint32Array(n);
  let pace = 0;
  for (let k = 0; k < n; k++) {
    const present = Math.max(0, ticks[k] - (gapTicks[k] + own[k]));
    const expected = pace > 0 ? Math.min(4e9, Math.floor(present / pace + 0.5)) + gaps[k] : 0;
    count[k] = expected + numbers.signed();
    const units = count[k] - gaps[k];
    if (units > 0 && present > 0) pace = present / units;
  }
  return count;
}

/**
 * Gaps, and the same in ticks, to tell those of each quantum.
 * @param {Description} about
 * @param {Numbers} numbers
 * @param {number} perS
 */
function readMarks(about, numbers, perS) {
  const n = about.marks;
  const marks = { length: n, at: new Float64Array(n), ns: new Float64Array(n), cause: new Uint32Array(n), names: about.causes };
  const told = { at: new Float64Array(n), duration: new Float64Array(n) };
  for (let k = 0, at = 0; k < n; k++) {
    told.at[k] = at += numbers.next();
    told.duration[k] = numbers.next();
    marks.at[k] = at / perS;
    marks.ns[k] = told.duration[k] / about.ticks_per_ns;
    marks.cause[k] = numbers.next();
  }
  return { marks, told };
}

/**
 * @param {Numbers} numbers
 * @param {number} n
 * @param {number} perDecade
 */
function logarithms(numbers, n, perDecade) {
  const values = new Float64Array(n);
  for (let k = 0, step = 0; k < n; k++) {
    step += numbers.signed();
    values[k] = 10 ** (step / perDecade);
  }
  return values;
}

/**
 * The density and the bins of a series of which not all quanta are held.
 * @param {Description} about
 * @param {Numbers} numbers
 */
function readCoarse(about, numbers) {
  const [columns, rows, low, high] = about.density;
  const sound = about.cells > 0 && columns > 0 && rows > 0 && low > 0 && high > low;
  const cells = { length: about.cells, column: new Uint32Array(about.cells), row: new Uint32Array(about.cells), count: new Uint32Array(about.cells) };
  for (let k = 0, at = 0; k < about.cells; k++) {
    at += numbers.next();
    cells.column[k] = Math.floor(at / rows);
    cells.row[k] = at % rows;
    cells.count[k] = numbers.next();
  }
  /** @type {Bin[]} */
  const bins = Array.from({ length: about.bins }, () => ({ quanta: numbers.next(), fast: NaN, slow: NaN, low: 0, high: 0, gapNs: 0 }));
  const occupied = bins.filter((bin) => bin.quanta > 0);
  for (const key of /** @type {const} */ (["fast", "slow"])) {
    logarithms(numbers, occupied.length, 100000).forEach((value, k) => { occupied[k][key] = value; });
  }
  for (const bin of occupied) [bin.low, bin.high, bin.gapNs] = [numbers.next(), numbers.next(), numbers.next()];
  return { density: sound ? { columns, rows, low, high, cells } : null, bins: finite(about.time_s) && about.time_s > 0 ? bins : [] };
}

/** Causes get colours by the time that they took in all series, so that one has the same colour everywhere. */
function rankCauses() {
  const lost = new Map();
  for (const { ledger } of model.report.series) {
    for (const [cause, ns] of Object.entries(ledger.gaps_ns)) lost.set(cause, (lost.get(cause) ?? 0) + ns);
  }
  for (const { marks } of model.series) for (const name of marks.names) if (!lost.has(name)) lost.set(name, 0);
  const ranked = [...lost].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  model.causes = new Map(ranked.map(([cause], rank) => [cause, rank]));
}

/**
 * Colour of a cause. Those beyond the hues have none of their own; in a list they alternate by their place.
 * @param {string} cause
 * @param {number} [place]
 */
export function causeColour(cause, place = 0) {
  return theme.hues[model.causes.get(cause) ?? Infinity] ?? theme.others[place % theme.others.length];
}

/**
 * The column of a value as it is drawn, computed when first wanted.
 * @param {Series} series
 * @param {Value} value
 */
export function scaledColumn(series, value) {
  const known = series.scaledColumns[value];
  if (known) return known;
  const { scale } = VALUES[value];
  const column = series[value];
  // A loop is ten times as fast as `Float32Array.from`, which the first picture would wait for.
  const scaled = new Float32Array(column.length);
  for (let k = 0; k < column.length; k++) scaled[k] = scale(column[k]);
  return (series.scaledColumns[value] = scaled);
}

/**
 * First index at which `sorted` is not below `value`.
 * @param {ArrayLike<number>} sorted
 * @param {number} value
 * @param {number} [length]
 */
export function lowerBound(sorted, value, length = sorted.length) {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Quanta that lie in a window at least in part: first, and the one after the last.
 * @param {Series} series
 * @param {number} from
 * @param {number} to
 */
export function quantaIn(series, from, to) {
  let first = lowerBound(series.start, from);
  while (first > 0 && series.start[first - 1] + series.lengthNs[first - 1] / 1e9 > from) first--;
  return [first, lowerBound(series.start, to)];
}

/**
 * What quanta that start in a window come to.
 * @param {Series} series
 * @param {number} from
 * @param {number} to
 */
export function summary(series, from, to) {
  const [first, end] = [lowerBound(series.start, from), lowerBound(series.start, to)];
  const sum = { quanta: end - first, units: 0, lostNs: 0, gaps: 0, wallNs: 0, fastest: Infinity, slowest: 0, least: Infinity, most: 0 };
  for (let k = first; k < end; k++) {
    sum.units += series.count[k];
    sum.gaps += series.gaps[k];
    sum.wallNs += series.lengthNs[k];
    sum.lostNs += series.loss[k];
    if (series.pace[k] < sum.fastest) sum.fastest = series.pace[k];
    if (series.pace[k] > sum.slowest) sum.slowest = series.pace[k];
    if (series.count[k] < sum.least) sum.least = series.count[k];
    if (series.count[k] > sum.most) sum.most = series.count[k];
  }
  return sum;
}
