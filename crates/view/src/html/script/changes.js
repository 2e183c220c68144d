// What changed from A to B, where the page is of two recordings: the tables of `changes.rs`, each figure with its interval as a bar beside it.

import { duration, NONE, significant } from "./numbers.js";
import { element, table } from "./words.js";
import { model } from "./model.js";

/**
 * A figure's change and its interval, about none in the middle; a change of all that there was, or an end of an interval that is wider, reaches the edge.
 * @param {Change} row
 */
function changeBar({ reach, changed }) {
  if (!reach) return "";
  const [low, middle, high] = reach.map((part) => 50 + 50 * Math.max(-1, Math.min(1, part)));
  const [interval, point] = [element("i"), element("b")];
  interval.style.left = `${low}%`;
  interval.style.width = `${Math.max(1, high - low)}%`;
  point.style.left = `${middle}%`;
  return element("span", { class: changed ? "change changed" : "change", "aria-hidden": "true" }, interval, point);
}

export function changesSection() {
  const { changes } = model;
  if (!changes) return element("div", { hidden: true });
  const { comparison, tables } = changes;
  /** @param {Change} row */
  const word = (row) => (row.changed ? element("strong", { class: "word" }, "changed") : "");
  const shown = tables.map(({ title, rows }) => table(title, ["", "A", "B", "B − A, 95 %", "", ""],
    rows.map((row) => [row.name, row.a, row.b, row.interval, changeBar(row), word(row)])));
  const { recordings } = comparison;
  const signals = (recordings?.series ?? []).flatMap((pair) => pair.signals.map((signal) =>
    [`${significant(signal.frequency_hz, 7)} Hz${signal.cause === null ? "" : ` ${signal.cause}`}`, ...signal.ns_per_event.map((ns) => (ns === null ? NONE : duration(ns))), signal.what === "both" ? "" : signal.what]));
  const findings = (recordings?.findings ?? []).map((finding) => [finding.kind, ...finding.certainty.map((certainty) => certainty ?? NONE)]);
  const conditions = comparison.conditions.map((checked) => element("li", {}, element("strong", {}, checked.met ? "failed: " : "passed: "), `${checked.condition}: ${checked.found}`));
  return element("section", { id: "changes" }, element("h2", {}, "What changed"),
    comparison.sides.map((side, index) => element("p", {}, element("strong", {}, `${"AB"[index]} `), `${side.name ? `${side.name}, ` : ""}${side.inputs.join(", ")}`)),
    conditions.length ? element("ul", {}, conditions) : null,
    element("div", { class: "tables" }, shown,
      signals.length ? table("Signals: time lost per event", ["", "A", "B", ""], signals) : null,
      findings.length ? table("Findings that differ", ["", "A", "B"], findings, 9) : null),
    comparison.notes.map((note) => element("p", { class: "note" }, note)));
}
