// The lines of a ledger, their names and colours.

import { theme } from "./colours.js";
import { causeName } from "./words.js";
import { causeColour } from "./model.js";

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
