// What was booked to disturbers against what their logs say really happened, as the text has it.

import { duration, durationFine, finite, NONE, percent, plural, whole } from "./numbers.js";
import { element, table } from "./words.js";
import { model } from "./model.js";

const MATCHED = {
  thread: "told apart by the id of its thread",
  name: "told apart by name alone, as no event has its thread's id",
  time: "told apart by time alone, as there are no kernel events",
};

/** @param {Maybe} value */
const ratio = (value) => (finite(value) ? value.toFixed(4) : NONE);
/** @param {Maybe} value */
const share = (value) => (finite(value) ? percent(value) : NONE);

/**
 * The costliest of some causes.
 * @param {string} lead
 * @param {[string, number][]} causes
 */
function costliest(lead, causes) {
  if (!causes.length) return null;
  const named = causes.slice(0, 4).map(([cause, ns]) => `${cause} ${duration(ns)}`);
  if (causes.length > named.length) named.push(plural(causes.length - named.length, "other cause", "other causes"));
  return element("p", {}, `${lead}: ${named.join(", ")}`);
}

export function truthSection() {
  const held = model.report.truth.flatMap((truth) => truth.series.map((one) => ({ truth, one })));
  if (!held.length) return element("div", { hidden: true });
  /** @param {number | null} ns */
  const time = (ns) => (ns === null ? NONE : durationFine(ns));
  const logs = held.map(({ truth, one }) => {
    const rows = [
      ["within the logged spans", time(one.booked_within_ns), time(one.disturbed_ns), ratio(one.within_over_disturbed)],
      ["disturbed quanta", whole(one.quanta.recognised), whole(one.quanta.disturbed), ratio(one.quanta.recall)],
    ];
    if (one.stay_ns !== null) rows.unshift([`task:${truth.task}, against its CPU time`, time(one.stay_ns), time(one.cpu_ns), ratio(one.stay_over_cpu)]);
    const others = Object.entries(one.others_within_ns).sort((a, b) => b[1] - a[1]);
    return element("div", {},
      table(`${truth.log}: ${plural(one.disturbances, "disturbance", "disturbances")} (${truth.kind}), ${MATCHED[one.matched_by] ?? one.matched_by}; ${model.series[one.series].label}`, ["", "booked", "true", "ratio"], rows),
      costliest("Others within the spans", others));
  });
  // What lies outside is the same of all logs of a series.
  const seen = new Map(held.map(({ one }) => [one.series, one.together]));
  const outside = [...seen].map(([series, together]) => {
    const parts = [`In ${model.series[series].label}, ${share(together.precision)} of ${plural(together.quanta_with_gaps, "quantum with a gap", "quanta with gaps")} are in ${plural(together.logs, "log", "logs")}.`];
    if (together.precision_with_events !== null) parts.push(`${share(together.precision_with_events)} are in a log or in the kernel's events.`);
    if (together.gaps_named) parts.push(`Of ${plural(together.gaps_named, "gap", "gaps")} booked to a disturber, ${share(together.precision_of_names)} are in a log.`);
    return element("div", {}, element("p", {}, parts.join(" ")), costliest("Gaps outside the logs", together.gaps_outside.map((gap) => [gap.cause, gap.ns])));
  });
  return element("section", { id: "truth" }, element("h2", {}, "Booked against true"), logs, outside);
}
