// Findings as cards, beneath the line of the ledger that they explain: what was recognised, how sure, on what evidence, and where it is seen. What to do about
// them, each command once.

import { NONE, percent, whole } from "./numbers.js";
import { element, table, visible } from "./words.js";
import { causeColour, lowerBound, model } from "./model.js";
import { paintSeries } from "./raster.js";
import { change, look, subscribe, view } from "./view.js";
import { axisOf } from "./axes.js";
import { grouped } from "./parts.js";
import { MOST_CARDS, places } from "./places.js";
import { outline, Sheet } from "./sheet.js";
import { foldAt } from "./fold.js";
import { show } from "./ledger.js";

const CERTAINTIES = { certain: "The data admit no other explanation.", likely: "The best explanation of the data.", possible: "The data fit it, and other explanations as well." };
/** Cards that are shown at once. */
const CARDS = 24;

/**
 * @param {unknown} value
 * @returns {string}
 */
function spellEvidence(value) {
  if (Array.isArray(value)) return value.map(spellEvidence).join(", ");
  if (typeof value !== "number") return visible(value ?? NONE);
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? whole(value) : String(Number(value.toPrecision(9)));
}

/** @param {Placed} placed */
function card({ finding, number, place }) {
  const rows = Object.entries(finding.evidence).map(([key, value]) => [key.replaceAll("_", " "), spellEvidence(value)]);
  const labels = finding.series.map((index) => model.series[index]?.label).filter(Boolean);
  const series = model.series[finding.series[0]];
  const jump = () => {
    if (!place) return;
    // Edges that creep through the quanta are straight in the count, which is their share of the quantum.
    const value = finding.kind === "moving-edges" ? "count" : view.value;
    change({ selected: finding.series[0] ?? 0, value, ...(place.period ? { period: place.period } : {}) });
    show(place.from, place.to);
  };
  const fold = () => {
    if (!place || !place.period) return;
    change({ selected: finding.series[0], ...(finding.kind === "moving-edges" ? { value: "count" } : {}) });
    look(...model.whole);
    foldAt(place.period);
  };
  const sheet = place ? new Sheet(72, `The place of finding ${number}`) : null;
  const made = element("article", { class: `card ${finding.certainty}`, id: `finding-${number}` },
    element("header", {}, element("span", { class: "number" }, String(number)), element("span", { class: "certainty", title: CERTAINTIES[finding.certainty] }, finding.certainty), element("span", { class: "note" }, ` ${finding.kind}${labels.length < model.series.length ? ` · ${labels.join("; ")}` : ""}`)),
    element("p", { class: "summary" }, finding.summary),
    sheet ? sheet.canvas : null,
    element("div", { class: "group" }, place ? element("button", { type: "button", class: "show", onclick: jump }, "show me") : null,
      place && place.period ? element("button", { type: "button", class: "show", onclick: fold }, "fold") : null),
    element("details", {}, element("summary", {}, "Evidence"), table(null, ["", ""], rows)));
  if (sheet && place) thumbnails.push(() => drawPlace(sheet, series, place));
  return made;
}

/** What changes with the theme. @type {(() => void)[]} */
let thumbnails = [];

/**
 * The findings of a line with its share of the time; of two recordings there are two shares, which the ledger has.
 * @param {ReturnType<typeof grouped>[number]} group
 */
function groupOf({ line, share, placed }) {
  const swatch = element("span", { class: "swatch" });
  if (line) thumbnails.push(() => { swatch.style.background = line.colour(); });
  return element("div", { class: placed.length > 1 ? "several" : null },
    line ? element("h3", {}, swatch, line.name, element("span", { class: "note" }, model.changes ? "" : ` ${percent(share)} of the time`)) : element("h3", {}, "Without a line in the ledger"),
    element("div", { class: "cards" }, placed.map(card)));
}

/**
 * The place in little, with the axis that fits it.
 * @param {Sheet} sheet
 * @param {Series} series
 * @param {Place} place
 */
function drawPlace(sheet, series, place) {
  const context = sheet.begin();
  const frame = { x: 0, y: 0, width: sheet.width, height: sheet.height };
  const axis = axisOf([series], "pace", place.from, place.to);
  if (axis && sheet.width > 1) paintSeries(context, series, axis, "pace", place.from, place.to, frame);
  const { marks } = series;
  const end = lowerBound(marks.at, place.to);
  for (let k = lowerBound(marks.at, place.from); k < end; k++) {
    context.fillStyle = causeColour(marks.names[marks.cause[k]]);
    const x = ((marks.at[k] - place.from) / (place.to - place.from)) * frame.width;
    context.fillRect(x, frame.height - 9, Math.max(1.5, (marks.ns[k] / 1e9 / (place.to - place.from)) * frame.width), 9);
  }
  outline(context, frame);
}

/**
 * Copies a command, where the browser lets a page from disk do so.
 * @param {string} text
 */
function copyButton(text) {
  if (!navigator.clipboard) return null;
  const button = element("button", { type: "button", class: "copy", onclick: () => {
    navigator.clipboard.writeText(text).then(() => { button.textContent = "copied"; }, () => { button.textContent = "select it by hand"; });
  } }, "copy");
  return button;
}

export function findingsSection() {
  const all = places();
  const groups = element("div", { class: "cards" });
  let shown = 0;
  const more = element("button", { type: "button", hidden: true, onclick: () => fill(MOST_CARDS) });
  const rest = element("p", { class: "note", hidden: true }, `The first ${MOST_CARDS} of ${whole(model.report.findings.length)} findings, by importance. The report as JSON has all.`);
  /** @param {number} most */
  const fill = (most) => {
    thumbnails = [];
    groups.replaceChildren(...grouped(all.slice(0, most)).map(groupOf));
    shown = Math.min(all.length, most);
    more.hidden = all.length <= shown;
    more.textContent = `show more of ${whole(model.report.findings.length)}`;
    rest.hidden = !more.hidden || model.report.findings.length <= MOST_CARDS;
    change({ findings: shown });
  };
  fill(CARDS);
  subscribe((keys) => {
    if (!keys.size || ["theme", "size", "findings"].some((key) => keys.has(key))) for (const draw of thumbnails) draw();
  });
  return element("section", { id: "findings" }, element("h2", {}, "Findings"),
    all.length ? groups : element("p", {}, "No findings. “Periodic losses” and “How it was measured” state the smallest effects that this recording could have detected."), more, rest);
}

/** Remedies, as the text has them: fixes, then what answers an open question. */
export function remediesSection() {
  const { remedies } = model.report;
  if (!remedies.length) return element("div", { hidden: true });
  const lists = /** @type {const} */ ([["To fix", "fix"], ["To find out", "find-out"]]).map(([title, purpose]) => {
    const some = remedies.filter((remedy) => remedy.purpose === purpose);
    return some.length ? [element("h3", {}, title), element("ul", {}, some.map(remedyItem))] : [];
  });
  return element("section", { id: "remedies" }, element("h2", {}, "What to do"), ...lists);
}

const NEEDS = { root: "root", boot: "a boot", host: "the host" };

/** A text in which backticks stand around code. @param {string} text */
const withCode = (text) => text.split("`").map((part, k) => (k % 2 ? element("code", {}, part) : part));

/** @param {WholeReport["remedies"][number]} remedy */
function remedyItem({ what, command, needs, undo }) {
  return element("li", {}, withCode(command ? `${what}: ` : what),
    command ? [element("code", {}, command), copyButton(command)] : null,
    needs.length ? element("span", { class: "note" }, ` needs ${needs.map((need) => NEEDS[need]).join(", ")}`) : null,
    undo ? element("div", { class: "note" }, "undo: ", command ? element("code", {}, undo) : undo) : null);
}
