// How it was measured: machine, clock with its error, self-tests, what was missing; and warnings, which limit all of the above.

import { durationRound, NONE, percent, plural, significant, whole } from "./numbers.js";
import { element, table, visible } from "./words.js";
import { model } from "./model.js";

/** That there are warnings is said at the top. */
export function warningsLine() {
  const kinds = [...new Set(model.report.warnings.map((warning) => warning.kind))];
  if (!kinds.length) return "";
  return element("p", { class: "note" }, element("a", { href: "#warnings" }, `${plural(kinds.length, "warning", "warnings")}: ${kinds.join(", ")}`));
}

export function warningsSection() {
  const { warnings } = model.report;
  if (!warnings.length) return element("div", { hidden: true });
  return element("section", { id: "warnings" }, element("h2", {}, "Warnings"),
    element("ul", {}, warnings.map((w) => element("li", {}, element("strong", {}, `${w.kind}: `), w.message, w.advice ? ` – ${w.advice}` : ""))));
}

export function measuredSection() {
  const { recording } = model.report;
  const sides = model.changes ? [{ side: "A", one: recording }, { side: "B", one: model.changes.recording }] : [{ side: "", one: recording }];
  const rows = model.measured.map(([name, words]) => [name, words]);
  /** @param {Series} series */
  const about = (series) => {
    const { report } = series;
    const { clock, fraction, limits } = report;
    return [series.label, whole(report.quanta), whole(report.segments), durationRound(report.duration_s * 1e9), significant(clock.ticks_per_ns, 7), clock.error_ppm === null ? NONE : significant(clock.error_ppm, 2), clock.drift_ppm === null ? NONE : significant(clock.drift_ppm, 3),
      fraction ? percent(fraction.of_max) : NONE, limits.band ? `${percent(limits.band.distance)} away for ${durationRound(limits.band.lasting_s * 1e9)}` : NONE];
  };
  const held = model.series.filter((series) => !series.complete || !series.allMarks);
  return element("section", { id: "measured" }, element("h2", {}, "How it was measured"),
    sides.map(({ side, one }) => element("p", {}, side && `${side}: `, one ? [one.started, one.tool].filter(Boolean).join(", ") : "imported: the file does not describe the machine")),
    rows.length ? table(null, ["", ""], rows, 9) : null,
    table("Series", ["series", "quanta", "segments", "time", "ticks per ns", "clock error, ppm", "clock drift, ppm", "FTQ's fraction", "smallest detectable band"], model.series.map(about)),
    held.length ? element("p", { class: "note" }, `This page holds a part of each long series. ${held.map((series) => `${series.label}: ${series.length ? `${whole(series.length)} of ${whole(series.report.quanta)} quanta` : "no quanta"}, ${series.allMarks ? "all gaps" : `the longest ${whole(series.marks.length)} gaps`}`).join("; ")}. The rest is drawn from counts, minima and maxima over time. Bands, signals, findings and the ledger cover all quanta.`) : null,
    sides.map(({ side, one }) => (one ? element("details", {}, element("summary", {}, `recording.json${side && ` of ${side}`}, in full`), element("pre", { tabindex: "0" }, document.createTextNode(JSON.stringify(one, null, 1).split("\n").map(visible).join("\n")))) : null)));
}
