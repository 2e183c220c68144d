// Where the time went: for each series a bar of the wall time that adds up, below it what was lost at full width; each part is a button that opens
// what it rests on.

import { textOn } from "./colours.js";
import { duration, durationFine, durationRound, frequency, instant, pace, percent, plural, significant, whole } from "./numbers.js";
import { RUNNABLE, element, reveal, scroller, table } from "./words.js";
import { model } from "./model.js";
import { lineOf, parts } from "./parts.js";
import { places } from "./places.js";
import { change, look, subscribe, view } from "./view.js";
import { foldButton } from "./spectrum.js";

/** A band that holds this share of the time is the main one (`text/account.rs`). */
const MAIN = 0.5;

/**
 * Opens or closes the evidence of a part; what is several parts is shown as such.
 * @param {Part} part
 * @param {Series} series
 */
function choose(part, series) {
  const again = account.open === part.key && view.selected === series.index;
  account.all ||= Boolean(part.rest);
  account.open = again || part.rest ? null : part.key;
  change({ selected: series.index, account: `${account.open} ${account.all}` });
}

/**
 * Selected part of the ledger, by key, and whether each cause has its own.
 * @type {{ open: string | null, all: boolean }}
 */
const account = { open: null, all: false };

export function ledgerSection() {
  // Of many series each has one line.
  const bars = element("div", { class: model.series.length > 3 ? "bars many" : "bars" });
  const below = element("div");
  const root = element("section", { id: "ledger" }, element("h2", {}, "Where the time went"), bars, below);
  const buttons = () => [...root.querySelectorAll("button")];
  const draw = () => {
    const focused = buttons().find((button) => button === document.activeElement)?.dataset.key;
    bars.replaceChildren(...model.series.map((series) => barsOf(series)));
    const series = model.series[view.selected];
    below.replaceChildren(series ? accountOf(series) : "");
    // Keys go on from where they were.
    if (focused) buttons().find((button) => button.dataset.key === focused)?.focus({ preventScroll: true });
  };
  subscribe((keys) => {
    if (!keys.size || keys.has("selected") || keys.has("account") || keys.has("theme")) draw();
  });
  return root;
}

/**
 * The two bars of a series: its wall time, and what of it was lost.
 * @param {Series} series
 */
function barsOf(series) {
  const { ledger } = series.report;
  const all = parts(ledger, account.all);
  const lost = all.filter((part) => part.key !== "work" && part.ns > 0);
  const lostNs = lost.reduce((sum, part) => sum + part.ns, 0);
  /**
   * @param {Part} part
   * @param {number} together
   * @param {number} least
   * @param {string} bar
   */
  const segment = (part, together, least, bar) => {
    const words = `${part.name} ${percent(part.ns / ledger.wall_ns)} of wall time, ${durationFine(part.ns)}`;
    const button = element("button", { type: "button", class: "part", "data-key": `${bar} ${series.index} ${part.key}`, title: words, "aria-label": words, onclick: () => choose(part, series) },
      part.ns / together > 0.16 ? element("span", {}, part.key === "work" ? `work ${percent(part.ns / ledger.wall_ns)}` : part.name) : null);
    button.style.flex = `${Math.max(part.ns / together, 1e-6)} 1 ${least}px`;
    button.style.background = part.colour;
    button.style.color = textOn(part.colour);
    if (view.selected === series.index && account.open === part.key) button.classList.add("open");
    return button;
  };
  const label = element("button", { type: "button", class: "pick", "data-key": `series ${series.index}`, "aria-pressed": String(view.selected === series.index), onclick: () => change({ selected: series.index }) }, series.label);
  const shown = all.filter((part) => part.ns > 0);
  const long = model.series.length <= 3 || view.selected === series.index;
  return element("div", { class: "account" },
    element("div", { class: "caption" }, model.series.length > 1 ? label : element("strong", {}, series.label),
      element("span", {}, long ? ` ${durationFine(ledger.wall_ns)} of wall time: ${percent(ledger.work_ns / ledger.wall_ns)} work, ${percent(lostNs / ledger.wall_ns)} lost` : "")),
    element("div", { class: "bar" }, shown.map((part) => segment(part, ledger.wall_ns, 1, "wall"))),
    // Of many series one is shown at length.
    lostNs > 0 && long ? element("div", { class: "caption" }, `lost time, ${durationFine(lostNs)}, at full width`) : null,
    lostNs > 0 && long ? element("div", { class: "bar thin" }, lost.map((part) => segment(part, lostNs, 2, "lost"))) : null);
}

/**
 * The account of a series as a table; each line opens its evidence.
 * @param {Series} series
 */
function accountOf(series) {
  const { ledger, best_pace: best } = series.report;
  const lostNs = ledger.wall_ns - ledger.work_ns;
  const rows = parts(ledger, account.all).flatMap((part) => {
    const isOpen = account.open === part.key;
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = part.colour;
    const button = element("button", { type: "button", class: "line", "data-key": `line ${part.key}`, "aria-expanded": String(isOpen), onclick: () => choose(part, series) }, swatch, part.rest ? `${part.name} …` : part.name);
    const share = part.key === "work" || !(lostNs > 0) ? "" : percent(part.ns / lostNs);
    const row = element("tr", {}, element("td", {}, button), element("td", { class: "figure" }, durationFine(part.ns)), element("td", { class: "figure" }, percent(part.ns / ledger.wall_ns)), element("td", { class: "figure" }, share));
    return isOpen ? [row, element("tr", { class: "evidence" }, element("td", { colSpan: 4 }, findingsOf(series, part), evidenceOf(series, part)))] : [row];
  });
  rows.push(element("tr", { class: "sum" }, element("td", {}, "wall time"), element("td", { class: "figure" }, durationFine(ledger.wall_ns)), element("td", { class: "figure" }, "100.00 %"), element("td", {})));
  return element("div", {},
    element("p", { class: "note" }, `${series.label}${ledger.basis === "inferred" ? ": losses are inferred from counts, because gaps were not recorded" : ""}. Select a line to see its evidence.`),
    scroller(`Ledger of ${series.label}`, element("table", { class: "ledger" },
      element("thead", {}, element("tr", {}, ["part", "time", "of wall", "of loss"].map((head, k) => element("th", { scope: "col", class: k ? "figure" : null }, head)))),
      element("tbody", {}, rows))),
    best ? element("p", { class: "note" }, basis(best, ledger)) : null);
}

/**
 * What 100 % means, as the text has it.
 * @param {NonNullable<SeriesReport["best_pace"]>} best
 * @param {Ledger} ledger
 */
function basis(best, ledger) {
  const ofSeries = best.share >= MAIN ? "the pace of this CPU's main band" : "the pace of the fastest band that lasts";
  const origin = best.origin === "self-test" ? "the best of the self-test on this CPU" : ofSeries;
  const caution = best.undisturbed ? "" : "; no undisturbed stretch was seen, so losses are lower bounds";
  const bonus = ledger.bonus_ns / ledger.wall_ns;
  const faster = bonus > 5e-5 ? ` A faster pace at times gained ${durationFine(ledger.bonus_ns)} (${percent(bonus)}), which is in no line.` : "";
  return `100 % = one unit per ${pace(best.ns_per_unit)} ns, ${origin}${caution}.${faster}`;
}

/**
 * A button that jumps to a place of the time axis.
 * @param {number} from
 * @param {number} to
 * @param {string} [words]
 */
function showButton(from, to, words = "show") {
  return element("button", { type: "button", class: "show", onclick: () => show(from, to) }, words);
}

/**
 * Shows a stretch of time and takes the reader there.
 * @param {number} from
 * @param {number} to
 */
export function show(from, to) {
  look(from, to);
  reveal("series", "start");
}

/**
 * Links to the findings that explain a part.
 * @param {Series} series
 * @param {Part} part
 */
function findingsOf(series, part) {
  const found = places().filter(({ finding, number }) => finding.series.includes(series.index) && lineOf(finding)?.key === part.key && document.getElementById(`finding-${number}`));
  return found.length ? element("p", {}, "Findings: ", found.map(({ finding, number }) => element("a", { class: "show", href: `#finding-${number}` }, `${number} ${finding.kind}`))) : null;
}

/**
 * What a part of the ledger rests on.
 * @param {Series} series
 * @param {Part} part
 */
function evidenceOf(series, part) {
  const { report } = series;
  if (part.key === "work") {
    const rows = report.availability.map((w) => [durationRound(w.window_s * 1e9), percent(w.worst), instant(w.at_s, 1), showButton(w.at_s - 2 * w.window_s, w.at_s + 3 * w.window_s)]);
    return element("div", {}, element("p", {}, `${plural(report.units, "unit", "units")} at the best pace.`), table("Worst window of each length", ["length", "work", "start", ""], rows));
  }
  if (part.pace) {
    const rows = report.bands.map((band) => [pace(band.ns_per_unit), significant(band.count, 4), percent(band.share), whole(band.stays), durationRound(band.median_dwell_s * 1e9), band.nature]);
    const words = {
      "pace frequency": "A second work kernel slowed by the same ratio, so the clock frequency of the core fell.",
      "pace microarchitecture": "A register chain in the same run kept its pace, so the core changed its state and not its frequency.",
      "pace unsplit": "The CPU was present, but slower. This recording cannot tell a lower clock frequency from a slower core state.",
    }[part.key];
    return element("div", {}, element("p", {}, words), table("Bands: paces that recur", ["ns per unit", "count", "share", "stays", "median dwell", "nature"], rows, 0),
      element("p", {}, element("button", { type: "button", class: "show", onclick: () => { change({ value: "pace", layers: { ...view.layers, bands: true, edges: true } }); show(...model.whole); } }, "show the bands over the whole run")));
  }
  if (part.cause !== undefined) return causeEvidence(series, part.cause);
  if (part.key === "measurement") return element("p", {}, "The cost of bandscope itself: it stores a quantum at each boundary and reads counters after gaps.");
  return element("p", {}, part.ns < 0 ? "The other lines add up to this much more than the wall time." : "Time that no other line accounts for. The ledger is kept in ticks, so it adds up exactly.");
}

/**
 * What a cause of gaps did, and where the longest are.
 * @param {Series} series
 * @param {string} cause
 */
function causeEvidence(series, cause) {
  const { marks, report } = series;
  const known = report.gaps && report.gaps.causes.find((c) => c.cause === cause);
  const index = marks.names.indexOf(cause);
  const longest = [];
  for (let k = 0; k < marks.length; k++) {
    if (marks.cause[k] !== index) continue;
    if (longest.length === 5 && marks.ns[k] <= marks.ns[longest[4]]) continue;
    longest.push(k);
    longest.sort((a, b) => marks.ns[b] - marks.ns[a]);
    longest.length = Math.min(longest.length, 5);
  }
  /** @param {number} k */
  const around = (k) => Math.max(marks.ns[k] / 1e9, series.quantumS) * 12;
  const rows = longest.map((k) => [duration(marks.ns[k]), instant(marks.at[k], 1e-3), showButton(marks.at[k] - around(k), marks.at[k] + marks.ns[k] / 1e9 + around(k))]);
  const signals = report.signals.filter((signal) => signal.cause === cause);
  // The chains of a kernel worker are those of all of its number.
  const chains = report.gaps ? report.gaps.chains.filter((c) => cause === c.cause || cause.startsWith(`${c.cause}:`)) : [];
  const senders = chains.map((c) => [duration(c.ns), `${significant(c.per_second, 3)}/s`, c.sender === RUNNABLE ? `resumed, ${duration(c.waited_ns)} after it was preempted on CPU ${c.cpus}` : c.sender ? `${c.sender} on CPU ${c.cpus}, ${duration(c.waited_ns)} before` : "not known", c.function]);
  return element("div", {},
    known ? element("p", {}, `Part of ${plural(known.number, "gap", "gaps")}, ${significant(known.per_second, 3)} a second. Its longest time in one gap: ${duration(known.longest_ns)}.`) : null,
    signals.length ? element("p", {}, "Periodic: ", signals.map((s) => foldButton(s.frequency_hz, `${frequency(s.frequency_hz, s.uncertainty_hz)}, ${duration(s.ns_per_event)} each`))) : null,
    senders.length ? table("Who is behind it", ["took", "times", "why it ran", "ran"], senders, 0) : null,
    rows.length ? table("Longest gaps of which this is the main cause", ["duration", "at", ""], rows, 0) : element("p", {}, "This page does not hold a gap of which this is the main cause."));
}
