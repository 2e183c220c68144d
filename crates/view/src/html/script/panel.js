// One series over time: its quanta as density with bands, edges and findings, the strip of its gaps below, the histogram of the window at its right.

import { theme } from "./colours.js";
import { duration, durationFine, durationRound, finite, instant, pace, percent, plural, significant, whole } from "./numbers.js";
import { causeName, element, settled, table } from "./words.js";
import { causeColour, lowerBound, model, quantaIn, scaledColumn, summary, VALUES } from "./model.js";
import { CELL, paintSeries, rowOf, scaleY } from "./raster.js";
import { view } from "./view.js";
import { logTicks, timeAxis, valueAxis, valueTicks } from "./axes.js";
import { FLAGS, paintPlaces } from "./places.js";
import { AXIS, drawLabel, extent, line, outline, Sheet, take } from "./sheet.js";

export const STRIP = 58;
export const SPACE = 9;

export class Panel {
  /**
   * @param {Series} series
   * @param {number} height
   */
  constructor(series, height) {
    this.series = series;
    this.height = height;
    const { report } = series;
    this.sheet = new Sheet(FLAGS + height + STRIP + AXIS + SPACE + 4, `Series ${series.label} over time; its numbers are below as text`);
    this.plot = element("div", { class: "plot", tabindex: "0", role: "group", "aria-label": `${series.label}, over time`, "aria-describedby": "keys" }, this.sheet.canvas);
    this.note = element("span", { class: "note" });
    this.numbers = element("div");
    this.root = element("section", { class: "panel" },
      element("h3", {}, series.label, element("span", { class: "note" }, ` ${report.kernel}, ${plural(report.quanta, "quantum", "quanta")} · `), this.note),
      this.plot,
      element("details", { class: "numbers", ontoggle: () => this.tell() }, element("summary", {}, "Numbers of this window"), this.numbers));
    this.shown = true;
    /** What was drawn last: where, with which axis, as which raster. @type {ReturnType<Panel["layout"]> | null} */
    this.frames = null;
    /** @type {Axis | null} */
    this.axis = null;
    /** @type {Grid | null} */
    this.grid = null;
    /** The gap that keys went to. @type {number | null} */
    this.gap = null;
    this.tellLater = settled(() => this.tell(), 120);
  }

  /**
   * Where everything stands in a canvas of this width.
   * @param {number} width
   */
  layout(width) {
    const left = width < 560 ? 50 : 64, right = width < 560 ? 54 : 118;
    const plot = { x: left, y: 4 + FLAGS, width: Math.max(40, width - left - right), height: this.height };
    const strip = { x: left, y: plot.y + plot.height + SPACE, width: plot.width, height: STRIP };
    const histogram = { x: plot.x + plot.width + 6, y: plot.y, width: right - 12, height: plot.height };
    return { plot, strip, histogram };
  }

  draw() {
    if (!this.shown) return;
    const context = this.sheet.begin();
    this.frames = this.layout(this.sheet.width);
    const { plot, strip, histogram } = this.frames;
    const axis = valueAxis(this.series);
    this.axis = axis;
    this.note.textContent = this.words(axis);
    this.paintAbsent(context, plot);
    if (axis) {
      this.paintRules(context, plot, axis);
      if (view.layers.bands) this.paintBands(context, plot, axis);
      this.grid = view.layers.density ? paintSeries(context, this.series, axis, view.value, view.from, view.to, plot) : null;
      if (view.layers.edges) this.paintEdges(context, plot);
      this.paintHistogram(context, histogram, axis);
    } else {
      context.fillStyle = theme.ink.grey;
      drawLabel(context, "No quanta to draw.", plot.x + 8, plot.y + 20);
    }
    if (view.layers.findings) paintPlaces(context, this.series, plot);
    outline(context, plot);
    if (view.layers.gaps) this.paintGaps(context, strip);
    outline(context, strip);
    timeAxis(context, strip);
    this.tellLater();
  }

  /**
   * What the axis is, and what it does not show.
   * @param {Axis | null} axis
   */
  words(axis) {
    const { name, unit, up, back } = VALUES[view.value];
    let words = `${name} in ${unit}, ${up ? "more" : "faster"} at the top`;
    if (view.value === "loss") words = `${name} in each quantum, less at the top`;
    if (axis && !view.fit) {
      const [least, greatest] = axis.all;
      /** @param {number} v */
      const spell = (v) => (view.value === "count" ? whole(back(v)) : view.value === "loss" ? duration(back(v)) : pace(back(v)));
      const [upper, lower] = up ? [greatest > axis.high && greatest, least < axis.low && least] : [least < axis.low && least, greatest > axis.high && greatest];
      if (upper !== false) words += `; drawn at the top edge: to ${spell(upper)}`;
      if (lower !== false) words += `; drawn at the bottom edge: to ${spell(lower)}`;
    }
    if (!this.series.complete) words += this.series.length ? "; of this long run the page holds samples, and the quanta around findings" : "; the page does not hold these quanta";
    return words;
  }

  /**
   * @param {number} seconds
   * @param {Frame} frame
   */
  x(seconds, frame) {
    return frame.x + ((seconds - view.from) / (view.to - view.from)) * frame.width;
  }

  /**
   * Time in which this series was not measured, because another rate had its turn.
   * @param {Context} context
   * @param {Frame} frame
   */
  paintAbsent(context, frame) {
    const { series } = this;
    if (!series.complete) return;
    context.fillStyle = theme.ink.absent;
    let last = model.whole[0];
    for (const [from, to] of [...series.stretches, [model.whole[1], model.whole[1]]]) {
      const left = Math.max(frame.x, this.x(last, frame)), right = Math.min(frame.x + frame.width, this.x(from, frame));
      if (right - left >= 1) context.fillRect(left, frame.y, right - left, frame.height);
      last = to;
    }
  }

  /**
   * @param {Context} context
   * @param {Frame} frame
   * @param {Axis} axis
   */
  paintRules(context, frame, axis) {
    const y = scaleY(axis, view.value, frame);
    context.textAlign = "right";
    for (const [tick, name] of valueTicks(axis, view.value, frame.height / 34)) {
      const at = y(VALUES[view.value].scale(tick));
      context.fillStyle = theme.ink.rule;
      context.fillRect(frame.x, at - 0.5, frame.width, 1);
      context.fillStyle = theme.ink.grey;
      drawLabel(context, name, frame.x - 6, Math.min(Math.max(at + 4, frame.y + 9), frame.y + frame.height));
    }
    context.textAlign = "left";
  }

  /**
   * Paces that recur, as dashed lines with their names at the right.
   * @param {Context} context
   * @param {Frame} frame
   * @param {Axis} axis
   */
  paintBands(context, frame, axis) {
    if (view.value === "loss") return;
    const y = scaleY(axis, view.value, frame);
    context.strokeStyle = theme.ink.band;
    context.setLineDash([5, 4]);
    for (const band of this.series.report.bands) {
      const of = view.value === "pace" ? band.ns_per_unit : band.count;
      if (!(of > 0)) continue;
      const at = y(VALUES[view.value].scale(of));
      line(context, frame.x, at, frame.x + frame.width, at);
    }
    context.setLineDash([]);
  }

  /**
   * Instants at which the pace changes: a hair each, shading where there are more than pixels.
   * @param {Context} context
   * @param {Frame} frame
   */
  paintEdges(context, frame) {
    const { at } = this.series.edges;
    const first = lowerBound(at, view.from), end = lowerBound(at, view.to);
    if (end <= first) return;
    context.fillStyle = theme.ink.edge;
    if (end - first < frame.width / 3) {
      context.globalAlpha = Math.min(0.75, Math.max(0.3, 30 / (end - first)));
      for (let k = first; k < end; k++) context.fillRect(this.x(at[k], frame) - 0.5, frame.y, 1, frame.height);
    } else {
      // A bar below, darker where there are more.
      const columns = Math.floor(frame.width / CELL);
      const counts = new Float64Array(columns);
      for (let k = first; k < end; k++) counts[Math.min(columns - 1, Math.floor(((at[k] - view.from) / (view.to - view.from)) * columns))]++;
      const most = counts.reduce((a, b) => Math.max(a, b), 0);
      counts.forEach((count, column) => {
        if (!count) return;
        context.globalAlpha = 0.25 + 0.75 * (count / most);
        context.fillRect(frame.x + column * CELL, frame.y + frame.height + 2, CELL, 4);
      });
    }
    context.globalAlpha = 1;
  }

  /**
   * How many quanta of the window have which value, logarithmic; bands by name.
   * @param {Context} context
   * @param {Frame} frame
   * @param {Axis} axis
   */
  paintHistogram(context, frame, axis) {
    const rows = Math.floor(frame.height / CELL);
    const counts = new Float64Array(rows);
    if (this.grid && this.grid.rows === rows) {
      for (let r = 0; r < rows; r++) for (let c = 0; c < this.grid.columns; c++) counts[r] += this.grid.counts[r * this.grid.columns + c];
    } else if (this.series.length) {
      const column = scaledColumn(this.series, view.value);
      const row = rowOf(axis, view.value, rows);
      const [first, end] = quantaIn(this.series, view.from, view.to);
      for (let k = first; k < end; k++) if (column[k] === column[k]) counts[row(column[k])]++;
    }
    const most = counts.reduce((a, b) => Math.max(a, b), 0);
    const room = frame.width < 60 ? frame.width : frame.width * 0.46;
    context.fillStyle = theme.ink.bar;
    counts.forEach((count, r) => {
      if (count > 0) context.fillRect(frame.x, frame.y + r * CELL, Math.max(1, (Math.log1p(count) / Math.log1p(most)) * room), CELL);
    });
    if (!view.layers.bands || frame.width < 60 || view.value === "loss") return;
    const y = scaleY(axis, view.value, frame);
    context.fillStyle = theme.ink.band;
    const bands = [...this.series.report.bands].sort((a, b) => b.share - a.share);
    for (const band of bands) {
      const of = view.value === "pace" ? band.ns_per_unit : band.count;
      if (!(of > 0)) continue;
      const at = y(VALUES[view.value].scale(of));
      const x = frame.x + room + 4, base = Math.min(Math.max(at, frame.y + 11), frame.y + frame.height - 15);
      const [name, share] = [view.value === "pace" ? `${pace(of)} ns` : significant(of, 4), percent(band.share)];
      if (!take(context, extent(context, name, x, base - 1), extent(context, share, x, base + 12))) continue;
      context.fillText(name, x, base - 1);
      context.fillText(share, x, base + 12);
    }
  }

  /**
   * Gaps by duration, logarithmic, in the colour of their cause; of many only the longest in each pixel, and all heads.
   * @param {Context} context
   * @param {Frame} frame
   */
  paintGaps(context, frame) {
    const { marks, report } = this.series;
    context.fillStyle = theme.ink.grey;
    if (!marks.length) {
      const words = !report.gaps_known ? "Gaps were not recorded." : report.gaps && report.gaps.number ? "No gap with a known time and duration." : "No gaps.";
      drawLabel(context, words, frame.x + 8, frame.y + 20);
      return;
    }
    const [low, high] = gapRange();
    /** @param {number} ns */
    const y = (ns) => frame.y + frame.height - 2 - (Math.log(ns / low) / Math.log(high / low)) * (frame.height - 8);
    context.textAlign = "right";
    for (const tick of logTicks(low, high, 3)) {
      const at = y(tick);
      context.fillStyle = theme.ink.rule;
      context.fillRect(frame.x, at - 0.5, frame.width, 1);
      if (at > frame.y + frame.height - 4) continue;
      context.fillStyle = theme.ink.grey;
      drawLabel(context, durationRound(tick), frame.x - 6, at + 4);
    }
    context.textAlign = "left";
    // What the strip shows, in as many words as there is room for.
    ["gaps", "by duration", "and cause"].forEach((words, row) => drawLabel(context, words, frame.x + frame.width + 8, frame.y + 12 + row * 15));
    const first = lowerBound(marks.at, view.from), end = lowerBound(marks.at, view.to);
    const colours = marks.names.map(causeColour);
    const many = end - first > frame.width;
    const tops = new Float64Array(Math.ceil(frame.width) + 1);
    context.save();
    context.beginPath();
    context.rect(frame.x, frame.y, frame.width, frame.height);
    context.clip();
    const seen = new Set();
    for (let k = first; k < end; k++) {
      const at = Math.round(this.x(marks.at[k], frame)), top = Math.round(y(Math.max(marks.ns[k], low)));
      if (many) {
        // Heads of one colour on one pixel are one head.
        const place = (at * 256 + top) * 16 + Math.min(15, marks.cause[k]);
        if (seen.has(place)) continue;
        seen.add(place);
        const column = Math.min(tops.length - 1, Math.max(0, at - Math.floor(frame.x)));
        if (marks.ns[k] > tops[column]) tops[column] = marks.ns[k];
      }
      context.fillStyle = colours[marks.cause[k]];
      if (!many) {
        context.globalAlpha = 0.55;
        context.fillRect(at - 0.5, top, 1, frame.y + frame.height - top);
        context.globalAlpha = 1;
      }
      const size = many ? 2 : 4;
      context.fillRect(at - size / 2, top - size / 2, size, size);
    }
    if (many) {
      context.fillStyle = theme.ink.frame;
      context.globalAlpha = 0.35;
      tops.forEach((ns, column) => {
        if (ns > 0) context.fillRect(frame.x + column, y(ns), 1, frame.y + frame.height - y(ns));
      });
    }
    context.restore();
  }

  /** The window in numbers, as text. */
  tell() {
    if (!this.root.querySelector("details")?.open) return;
    const { series } = this;
    // At the very end a quantum may have no length: one whose boundary a long gap passed.
    const sum = summary(series, view.from, view.to >= model.whole[1] ? Infinity : view.to);
    const { marks } = series;
    const causes = new Map();
    const [first, end] = [lowerBound(marks.at, view.from), lowerBound(marks.at, view.to)];
    for (let k = first; k < end; k++) {
      const name = marks.names[marks.cause[k]];
      const known = causes.get(name) ?? { number: 0, ns: 0, longest: 0 };
      known.number++;
      known.ns += marks.ns[k];
      known.longest = Math.max(known.longest, marks.ns[k]);
      causes.set(name, known);
    }
    const span = view.to - view.from;
    const rows = [["window", `${instant(view.from, span)} to ${instant(view.to, span)}`], [series.complete ? "quanta" : "quanta held", whole(sum.quanta)]];
    if (sum.quanta) {
      rows.push(["units", whole(sum.units)], ["gaps", whole(sum.gaps)],
        ["pace, fastest to slowest", `${pace(sum.fastest)} to ${pace(sum.slowest)} ns per unit`],
        ["count, lowest to highest", `${whole(sum.least)} to ${whole(sum.most)}`]);
      if (finite(sum.lostNs)) rows.push(["time lost against the best pace", `${durationFine(Math.round(sum.lostNs))}, ${percent(sum.lostNs / sum.wallNs)}`]);
    }
    const named = [...causes].sort((a, b) => b[1].ns - a[1].ns).map(([name, cause]) => [causeName(name), whole(cause.number), duration(cause.ns), duration(cause.longest)]);
    this.numbers.replaceChildren(table(null, ["", ""], rows), named.length ? table("Gaps that begin in this window, by main cause", ["main cause", "gaps", "total", "longest"], named) : "");
  }
}

/** Durations from a little below the shortest gap of all series to a little above the longest. */
function gapRange() {
  if (model.gapRange) return model.gapRange;
  let [low, high] = [Infinity, 0];
  for (const { marks } of model.series) for (let k = 0; k < marks.length; k++) {
    if (marks.ns[k] > 0) low = Math.min(low, marks.ns[k]);
    high = Math.max(high, marks.ns[k]);
  }
  const ratio = Math.max(high / low, 10);
  return (model.gapRange = [low / ratio ** 0.1, Math.max(high, low * 10) * ratio ** 0.08]);
}
