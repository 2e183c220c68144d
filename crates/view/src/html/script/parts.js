// The lines of a ledger, their names and colours, and which of them a finding explains.

import { theme } from "./colours.js";
import { causeName } from "./words.js";
import { causeColour, model } from "./model.js";
import { causeOf } from "./places.js";

/** Causes of gaps with a line of their own at first; of more the rest is one line, until the reader opens it. */
const MOST_CAUSES = 10;
/** @type {Record<keyof Ledger["pace_ns"], string>} */
const PACES = { frequency: "slower pace, lower frequency", microarchitecture: "slower pace, core state", unsplit: "slower pace, cause not known" };
const PACE_KEYS = /** @type {(keyof Ledger["pace_ns"])[]} */ (Object.keys(PACES));

/**
 * The parts of a ledger in the order in which they add up.
 * @param {Ledger} ledger
 * @param {boolean} all Whether each cause has its own part.
 * @returns {Part[]}
 */
export function parts(ledger, all) {
  const { parts: colours } = theme;
  return [
    { key: "work", name: "work", ns: ledger.work_ns, colour: colours.work },
    ...PACE_KEYS.map((pace) => ({ key: `pace ${pace}`, name: PACES[pace], ns: ledger.pace_ns[pace], colour: colours[pace], pace })),
    ...gaps(ledger, all),
    { key: "measurement", name: "measurement itself", ns: ledger.measurement_ns, colour: colours.measurement },
    // Shown even where it is nothing: that it is nothing is what a reader wants to know.
    { key: "unexplained", name: "unexplained", ns: ledger.unexplained_ns, colour: colours.unexplained },
  ].filter((part) => part.ns !== 0 || ["work", "unexplained"].includes(part.key));
}

/**
 * The largest causes, and the rest as one part; all of them where the rest is one or was opened.
 * @param {Ledger} ledger
 * @param {boolean} all
 */
function gaps(ledger, all) {
  const causes = Object.entries(ledger.gaps_ns).sort((a, b) => b[1] - a[1]);
  const own = all || causes.length <= MOST_CAUSES + 1 ? causes.length : MOST_CAUSES;
  let others = 0;
  /** @type {Part[]} */
  const found = causes.slice(0, own).map(([cause, ns]) => {
    const colour = causeColour(cause, others);
    if (theme.others.includes(colour)) others++;
    return { key: `gap ${cause}`, name: causeName(cause), ns, colour, cause };
  });
  const rest = causes.slice(own);
  if (rest.length) found.push({ key: "gaps", name: `gaps: ${rest.length} other causes`, ns: rest.reduce((sum, [, ns]) => sum + ns, 0), colour: theme.others[others % theme.others.length], rest: true });
  return found;
}

/**
 * What a finding explains: the gaps of its cause, a slower pace, or no line: it is an artefact of measuring.
 * @type {Record<Finding["kind"], "gaps" | "pace" | null>}
 */
const EXPLAINS = {
  alias: "gaps", "periodic-interference": "gaps", "stolen-time": "gaps", "synchronous-gaps": "gaps", throttled: "gaps", "time-away": "gaps",
  "alternating-bands": "pace", "bistable-pace": "pace", "core-coupling": "pace", "frequency-steps": "pace", "interrupt-helps": "pace", "interrupted-loop": "pace",
  "moving-edges": "pace", placement: "pace", "smt-neighbour": "pace", "sub-loop-mixture": "pace", "warm-up": "pace",
  "clock-drift": null, "edge-pairs": null, migration: null, "multimodal-runs": null, quantisation: null, "sampling-artefact": null,
};

/**
 * The line of the ledger that a finding explains; null where it explains none, or the line is empty.
 * @param {Finding} finding
 * @returns {Line | null}
 */
export function lineOf(finding) {
  const ledgers = finding.series.map((index) => model.series[index]?.report.ledger).filter(Boolean);
  const what = EXPLAINS[finding.kind];
  const cause = causeOf(finding);
  /** @param {(ledger: Ledger) => number} ns */
  const sum = (ns) => ledgers.reduce((total, ledger) => total + ns(ledger), 0);
  if (what === "gaps" && cause && sum(({ gaps_ns }) => gaps_ns[cause] ?? 0)) return { key: `gap ${cause}`, name: causeName(cause), ns: (ledger) => ledger.gaps_ns[cause] ?? 0, colour: () => causeColour(cause) };
  if (what !== "pace") return null;
  const [pace] = [...PACE_KEYS].sort((a, b) => sum(({ pace_ns }) => pace_ns[b]) - sum(({ pace_ns }) => pace_ns[a]));
  return sum(({ pace_ns }) => pace_ns[pace]) ? { key: `pace ${pace}`, name: PACES[pace], ns: (ledger) => ledger.pace_ns[pace], colour: () => theme.parts[pace] } : null;
}

/**
 * Findings by the line that they explain, the costliest line of all series first; last those that explain none.
 * @param {Placed[]} placed
 */
export function grouped(placed) {
  const ledgers = model.series.map(({ report }) => report.ledger);
  const wall = ledgers.reduce((total, ledger) => total + ledger.wall_ns, 0);
  /** @type {Map<string, { line: Line | null, share: number, placed: Placed[] }>} */
  const groups = new Map();
  for (const one of placed) {
    const line = lineOf(one.finding);
    const key = line?.key ?? "";
    const share = line ? ledgers.reduce((total, ledger) => total + line.ns(ledger), 0) / wall : -1;
    const group = groups.get(key) ?? { line, share, placed: [] };
    group.placed.push(one);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.share - a.share);
}
