// One node of a fleet at length: where its time goes, when least of it was worked, how long its gaps are, and how it is set up.

import { duration, durationRound, instant, percent, plural, significant } from "./numbers.js";
import { element, table } from "./words.js";
import { onCpu, reason } from "./map.js";
import { cpuList } from "./nodes.js";

/** CPUs of a node that are listed. */
const MOST_CPUS = 8;
/** A way that takes less, here and of the median node, has no line. */
const LEAST_SHARE = 5e-5;

/**
 * A node at length.
 * @param {FleetNode} node
 */
export function nodeSection(node) {
  const { group, cpus, lostBy } = node;
  const ways = [...new Set([...group.losses.map(([way]) => way), ...node.losses.keys()])];
  const usual = new Map(group.losses);
  const rows = ways.map((way) => ({ way, here: node.losses.get(way) ?? 0, there: usual.get(way) ?? 0 })).filter(({ here, there }) => Math.max(here, there) >= LEAST_SHARE);
  rows.sort((a, b) => b.here - a.here);
  /** @type {(name: string, here: number, there: number) => Cell[]} */
  const row = (name, here, there) => [name, percent(here), percent(there), points(here - there)];
  const worst = [...cpus].map((cpu, k) => ({ cpu, lost: lostBy[k] })).sort((a, b) => b.lost - a.lost).slice(0, MOST_CPUS);
  const numbered = cpuList(cpus);
  const median = node.alone === null ? "the median node" : "the worst CPU of the median node";
  const most = `${reason(node)}: ${points(node.more)} points more than ${median}.`;
  const judged = node.standsOut ? `${onCpu(node)} by ${most}` : !group.judged ? "Not judged: too few nodes of its kind." : node.more ? `Does not stand out. Most of it is ${most}` : "Does not stand out: nothing exceeds the median much.";
  return [
    element("h2", {}, node.name),
    element("p", { class: "note" }, `${plural(node.measured, "CPU", "CPUs")}${numbered ? `: ${numbered}` : ""} · in a group of ${group.subject}`),
    element("p", {}, node.standsOut ? element("strong", {}, "◆ Stands out") : null, judged),
    table(cpus.length > 1 ? "Where its time goes, the mean of its CPUs" : "Where its time goes", ["", "loses", "median", "points more"], [row("in all", node.lost, group.lost), ...rows.map(({ way, here, there }) => row(way, here, there))]),
    cpus.length > 1 ? table(cpus.length > MOST_CPUS ? `The ${MOST_CPUS} CPUs that lose most` : "Its CPUs", ["CPU", "loses"], worst.map(({ cpu, lost }) => [cpu < 0 ? "not known" : String(cpu), percent(lost)])) : null,
    ...worstMoments(node),
    lengthsTable(node),
    element("h3", {}, "Set up otherwise than the others"),
    node.differs.length ? element("ul", {}, node.differs.map((one) => element("li", {}, one))) : element("p", { class: "note" }, "Nothing unusual was found."),
  ];
}

/** Percent of the time, of which a difference may be next to none. @param {number} share */
const points = (share) => (Math.abs(share) < LEAST_SHARE ? "0.00" : percent(share).replace(" %", ""));

/** @param {number | null} cpu */
const ofCpu = (cpu) => (cpu === null ? "" : `, CPU ${cpu}`);

/**
 * The stretches in which least work was done, the shortest first: each in words, and drawn from its begin to its end.
 * @param {FleetNode} node
 */
function worstMoments({ worstOf, longest }) {
  if (!worstOf.length && !longest) return [];
  const gap = longest ? [element("p", {}, `Longest gap: ${duration(longest.ns)} by ${longest.cause}, at ${instant(longest.at, 1)}${ofCpu(longest.cpu)}.`)] : [];
  return [
    element("h3", {}, "When least work was done"), ...gap,
    ...worstOf.map(({ seconds, lasted, cpu, done, at, causes, parts }) => {
      const length = durationRound(seconds * 1e9), longer = lasted > 1.5 * seconds ? ` (${durationRound(lasted * 1e9)}, as one gap is so long)` : "";
      const took = causes.map(([cause, share]) => `${cause} took ${duration(share * lasted * 1e9)}`).join(", ");
      return element("div", { class: "worst" },
        element("p", {}, element("strong", {}, length), `${longer} from ${instant(at, seconds)}${ofCpu(cpu)}: ${percent(done)} of the work was done`),
        parts.length ? strip(parts, `${length}, drawn: work that was done in each of ${parts.length} parts`) : null,
        took ? element("p", { class: "note" }, `${took}.`) : null);
    }),
  ];
}

/**
 * A row of bars, as high as the work that was done in each part.
 * @param {number[]} parts Percent.
 * @param {string} label
 */
function strip(parts, label) {
  return element("div", { class: "strip", role: "img", "aria-label": label }, parts.map((done) => {
    const bar = element("i");
    bar.style.height = `${done}%`;
    return bar;
  }));
}

/**
 * Gaps by their length, beside the median node's.
 * @param {FleetNode} node
 */
function lengthsTable({ gaps, group }) {
  const here = new Map(gaps.map((one) => [one.from, one])), there = new Map(group.gaps.map((one) => [one.from_ns, one]));
  const lengths = [...new Set([...here.keys(), ...there.keys()])].sort((a, b) => a - b);
  if (!lengths.length) return null;
  const rate = (/** @type {number | undefined} */ perSecond) => significant(perSecond ?? 0, 3);
  const rows = lengths.map((from) => [`${durationRound(from)} to ${durationRound(10 * from)}`, rate(here.get(from)?.perSecond), rate(there.get(from)?.per_s), percent(here.get(from)?.share ?? 0)]);
  return table("Gaps by length", ["", "a second", "median", "time"], rows);
}
