// What a flight recorder caught, longest first: when, what it was, who is behind it, what the other CPUs did.

import { duration, plural, whole } from "./numbers.js";
import { RUNNABLE, element, table } from "./words.js";
import { model } from "./model.js";
import { show } from "./ledger.js";
import { timeline } from "./timeline.js";
import { subscribe } from "./view.js";

/** Moments that are shown at once. */
const SOME = 20;
/** Parts that are named of one. */
const PARTS = 3;
/** Of a gap, a part below this share is not worth a word. */
const LEAST_PART = 0.02;
/** What takes this share of a gap or a stretch is all of it, in a line. */
const WHOLE = 0.98;
/** Gaps that took so many times what they took of a stretch began before it. */
const WORTH_TELLING = 1.05;
/** What is shown around a moment, in its lengths, and at least, in seconds. */
const AROUND = 3;
const LEAST_S = 2e-3;

/**
 * What is done to a cause that somebody is behind, by its kind, as the report says it (format.rs).
 * @type {Record<string, string>}
 */
const DONE = { task: "woken", softirq: "raised", timer: "set" };

/**
 * What a task that resumed began besides.
 * @param {Moment["behind"][number]} chain
 */
const andRan = (chain) => (chain.function ? `, and ran ${chain.function}` : "");

/** Whether the recording holds moments, and nothing of the time between. */
export const keepsMoments = () => Boolean(model.report.recording?.settings?.catch?.conditions.length);

/**
 * The largest parts, and what the others took together, as `text/moments.rs` says it.
 * @param {{ cause: string, ns: number }[]} parts
 * @param {number} whole_ns
 */
function named(parts, whole_ns) {
  const least = LEAST_PART * whole_ns;
  const large = parts.slice(0, PARTS).filter(({ ns }) => ns >= least);
  if (!large.length) return parts.length ? parts[0].cause : "";
  const told = large.map(({ cause, ns }) => `${cause} ${duration(ns)}`);
  const rest = parts.filter((part) => !large.includes(part)).reduce((sum, { ns }) => sum + ns, 0);
  return [...told, ...(rest > 0 && rest >= least ? [`others ${duration(rest)}`] : [])].join(", ");
}

/**
 * Who did what, and who is behind it.
 * @param {Moment["behind"][number]} chain
 */
function madeBy(chain) {
  if (chain.sender === RUNNABLE) return `${chain.cause} resumed${andRan(chain)}`;
  const ran = chain.function ? ` ran ${chain.function}` : "";
  const done = DONE[chain.cause.slice(0, chain.cause.indexOf(":"))] ?? "sent";
  const inside = chain.set_by ? "" : within(chain);
  // The name of a bare task was not recorded.
  const sender = chain.sender === "task" ? "a task" : chain.sender;
  return `${chain.cause}${ran}${sender ? `, ${done} by ${sender}${inside}` : ""}`;
}

/** @param {Moment["behind"][number]} chain */
const within = (chain) => (chain.sender_function ? ` in ${chain.sender_function}` : "");

/**
 * Who set the timer that did it.
 * @param {Moment["behind"][number]} chain
 */
const setter = (chain) => (chain.set_by ? `; ${chain.set_by} set that timer${within(chain)}` : "");

/** @param {Moment["behind"][number]} chain */
function behind(chain) {
  if (chain.sender === RUNNABLE) {
    const times = chain.number > 1 ? `, ${whole(chain.number)} times` : "";
    return `${chain.cause} resumed, ${duration(chain.waited_ns)} after it was preempted on CPU ${chain.cpus}${andRan(chain)}${times}`;
  }
  const began = chain.cause.startsWith("task:") ? "it ran here" : "it came";
  const waited = chain.sender ? ` on CPU ${chain.cpus}, ${duration(chain.waited_ns)} before ${began}` : "";
  const times = chain.number > 1 ? `, ${whole(chain.number)} times` : "";
  return `${madeBy(chain)}${waited}${times}${setter(chain)}`;
}

/** @param {Moment} moment */
function oneMoment(moment) {
  const { at_s, unix_s, length_ns, gaps_ns, cpu } = moment;
  const around = Math.max((AROUND * length_ns) / 1e9, LEAST_S);
  const jump = () => show(at_s - around, at_s + length_ns / 1e9 + around);
  const time = unix_s === null ? "" : ` (${new Date(unix_s * 1000).toISOString().slice(11, 23)} UTC)`;
  const where = cpu === null ? "" : `CPU ${cpu}, `;
  const of = moment.ns < WHOLE * length_ns && duration(moment.ns) !== duration(length_ns) ? `, of ${duration(length_ns)}` : "";
  const others = moment.others.filter(({ ran }) => ran.length).map((other) => `CPU ${other.cpu}: ${named(other.ran, length_ns)}`);
  const lines = [named(moment.causes, moment.ns), ...moment.behind.slice(0, PARTS).map(behind)];
  for (const { cause, cpu: on, ns, seen_in, others: all } of moment.unusual.slice(0, PARTS)) {
    lines.push(`unusual: ${cause} on CPU ${on} ${duration(ns)}, in ${seen_in ? whole(seen_in) : "none"} of the ${whole(all)} others of ${moment.causes[0].cause}`);
  }
  const notes = others.length ? [`meanwhile ${others.join("; ")}`] : [];
  for (const event of moment.events.slice(0, PARTS)) {
    notes.push(`${event.at_ns < 0 ? "-" : "+"}${duration(Math.abs(event.at_ns))} CPU ${event.cpu}: ${event.text}`);
  }
  if (gaps_ns >= WORTH_TELLING * moment.ns) notes.push(`the gaps that reach into it took ${duration(gaps_ns)} together`);
  return element("article", { class: "moment" },
    element("h3", {}, `${duration(moment.ns)}: ${where}${at_s.toFixed(6)} s${time}${of} `, element("button", { type: "button", class: "show", onclick: jump }, "show me")),
    ...lines.map((line) => element("div", {}, line)),
    ...notes.map((line) => element("div", { class: "note" }, line)),
    timeline(moment));
}

/** @param {Moment} moment */
function maker({ causes, behind: chains }) {
  const [main] = causes;
  const chain = chains.find(({ cause }) => main && (main.cause === cause || main.cause.startsWith(`${cause}:`)));
  return chain ? madeBy(chain) + setter(chain) : main ? main.cause : "";
}

/**
 * Who made the moments, as `text/moments.rs` says: first who took most.
 * @returns {[string, { number: number, longest: number, all: number }][]}
 */
function makersOfAll() {
  /** @type {Map<string, { number: number, longest: number, all: number }>} */
  const makers = new Map();
  for (const moment of model.report.moments) {
    const name = maker(moment);
    const known = makers.get(name) ?? { number: 0, longest: 0, all: 0 };
    makers.set(name, { number: known.number + 1, longest: Math.max(known.longest, moment.ns), all: known.all + moment.ns });
  }
  return [...makers].sort(([, a], [, b]) => b.all - a.all);
}

/**
 * How many of all are shown, with a button for the rest where some are left out.
 * @param {string} words
 * @param {() => void} showAll
 * @param {number} shown
 * @param {number} number
 */
function howMany(words, showAll, shown, number) {
  const rest = element("button", { type: "button", class: "show", onclick: showAll }, `show all ${whole(number)}`);
  return element("p", { class: "note" }, `${shown < number ? `${whole(shown)} of ` : ""}${words}. `, shown < number ? rest : null);
}

export function momentsSection() {
  const { moments } = model.report;
  if (!moments.length) return element("div", { hidden: true });
  const makers = makersOfAll();
  const [makersHolder, holder] = [element("div", {}), element("div", {})];
  /** Whose moments are shown; `null` is all. @type {string | null} */
  let chosen = null;
  let shown = SOME;
  /** @param {number} most */
  const fillMoments = (most) => {
    const mine = moments.filter((moment) => chosen === null || maker(moment) === chosen);
    const some = mine.slice(0, most);
    const whose = chosen === null ? "" : ` made by ${chosen}`;
    holder.replaceChildren(howMany(`${plural(mine.length, "moment", "moments")}${whose}, the longest first`, () => fillMoments(mine.length), some.length, mine.length),
      ...some.map(oneMoment));
    shown = most;
  };
  /** @param {number} most */
  const fillMakers = (most) => {
    const rows = makers.slice(0, most).map(([name, { number, longest }]) => {
      const label = element("button", { type: "button", class: "pick", "aria-pressed": String(chosen === name), onclick: () => choose(name) }, name);
      return [label, whole(number), duration(longest)];
    });
    makersHolder.replaceChildren(table(null, ["who made them", "of those listed", "the longest"], rows),
      howMany(`${plural(makers.length, "maker", "makers")}. Choose one to see what it made`, () => fillMakers(makers.length), rows.length, makers.length));
  };
  /** @param {string} name */
  const choose = (name) => {
    chosen = chosen === name ? null : name;
    makersHolder.querySelectorAll(".pick").forEach((label, place) => label.setAttribute("aria-pressed", String(makers[place][0] === chosen)));
    fillMoments(SOME);
  };
  fillMakers(SOME);
  fillMoments(SOME);
  subscribe((keys) => {
    if (keys.has("theme")) fillMoments(shown);
  });
  return element("section", { id: "moments" }, element("h2", {}, "Caught"),
    element("p", { class: "note" }, "The time between was not kept. A dashed box is the moment. A line goes from who woke something to where it came. Where nothing is drawn, a CPU was idle or measuring."),
    makersHolder, holder);
}
