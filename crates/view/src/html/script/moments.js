// What a flight recorder caught, longest first: when, what it was, who is behind it, what the other CPUs did.

import { duration, plural, whole } from "./numbers.js";
import { element, table } from "./words.js";
import { model } from "./model.js";
import { show } from "./ledger.js";
import { timeline } from "./timeline.js";
import { subscribe } from "./view.js";

/** Moments that are shown at once. */
const SOME = 20;
/** Parts that are named of one. */
const PARTS = 3;
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

/** Whether the recording holds moments, and nothing of the time between. */
export const keepsMoments = () => Boolean(model.report.recording?.settings?.catch?.conditions.length);

/** @param {{ cause: string, ns: number }[]} parts */
const named = (parts) => parts.slice(0, PARTS).map(({ cause, ns }) => `${cause} ${duration(ns)}`).join(", ");

/**
 * Who did what, and who is behind it.
 * @param {Moment["behind"][number]} chain
 */
function madeBy(chain) {
  const ran = chain.function ? ` ran ${chain.function}` : "";
  const done = DONE[chain.cause.slice(0, chain.cause.indexOf(":"))] ?? "sent";
  const inside = chain.set_by ? "" : within(chain);
  return `${chain.cause}${ran}${chain.sender ? `, ${done} by ${chain.sender}${inside}` : ""}`;
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
  const began = chain.cause.startsWith("task:") ? "it ran" : "it came";
  const waited = chain.sender ? ` on CPU ${chain.cpus}, ${duration(chain.waited_ns)} before ${began}` : "";
  const times = chain.number > 1 ? `, ${whole(chain.number)} times` : "";
  return `${madeBy(chain)}${waited}${times}${setter(chain)}`;
}

/** @param {Moment} moment */
function oneMoment(moment) {
  const { at_s, unix_s, length_ns, gaps_ns, cpu, usual } = moment;
  const around = Math.max((AROUND * length_ns) / 1e9, LEAST_S);
  const jump = () => show(at_s - around, at_s + length_ns / 1e9 + around);
  const time = unix_s === null ? "" : ` (${new Date(unix_s * 1000).toISOString().slice(11, 23)} UTC)`;
  const where = cpu === null ? "" : `CPU ${cpu}, `;
  const others = moment.others.filter(({ ran }) => ran.length).map((other) => `CPU ${other.cpu}: ${named(other.ran)}`);
  const lines = [named(moment.causes), ...moment.behind.slice(0, PARTS).map(behind)];
  for (const { cause, cpu: on, ns, seen_in, others: all } of moment.unusual.slice(0, PARTS)) {
    lines.push(`unusual: ${cause} on CPU ${on} ${duration(ns)}, in ${seen_in ? whole(seen_in) : "none"} of ${whole(all)} others`);
  }
  const notes = others.length ? [`meanwhile ${others.join("; ")}`] : [];
  for (const event of moment.events.slice(0, PARTS)) {
    notes.push(`${event.at_ns < 0 ? "-" : "+"}${duration(Math.abs(event.at_ns))} CPU ${event.cpu}: ${event.text}`);
  }
  if (gaps_ns >= WORTH_TELLING * moment.ns) notes.push(`the gaps that reach into it took ${duration(gaps_ns)} together`);
  if (usual && usual.number > 1) notes.push(`half of the ${whole(usual.number)} gaps of ${moment.causes[0].cause} that were kept took ${duration(usual.median_ns)} or less`);
  return element("article", { class: "moment" },
    element("h3", {}, `${duration(moment.ns)}: ${where}${at_s.toFixed(6)} s${time} `, element("button", { type: "button", class: "show", onclick: jump }, "show me")),
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

/** Who made the moments, as `text/moments.rs` says: first who took most. */
function makersTable() {
  /** @type {Map<string, { number: number, longest: number, all: number }>} */
  const makers = new Map();
  for (const moment of model.report.moments) {
    const name = maker(moment);
    const known = makers.get(name) ?? { number: 0, longest: 0, all: 0 };
    makers.set(name, { number: known.number + 1, longest: Math.max(known.longest, moment.ns), all: known.all + moment.ns });
  }
  const rows = [...makers].sort(([, a], [, b]) => b.all - a.all).slice(0, SOME);
  return table(null, ["who made them", "of those listed", "the longest"], rows.map(([name, { number, longest }]) => [name, whole(number), duration(longest)]));
}

export function momentsSection() {
  const { moments } = model.report;
  if (!moments.length) return element("div", { hidden: true });
  const holder = element("div", {});
  const more = element("button", { type: "button", onclick: () => fill(moments.length) }, `show all ${whole(moments.length)}`);
  let shown = SOME;
  /** @param {number} most */
  const fill = (most) => {
    shown = most;
    holder.replaceChildren(...moments.slice(0, most).map(oneMoment));
    more.hidden = moments.length <= most;
  };
  fill(SOME);
  subscribe((keys) => {
    if (keys.has("theme")) fill(shown);
  });
  return element("section", { id: "moments" }, element("h2", {}, "Caught"), element("p", { class: "note" }, `${plural(moments.length, "moment", "moments")}, the longest first. The time between was not kept. A dashed box is the moment. A line goes from who woke something to where it came. Where nothing is drawn, a CPU was idle or measuring.`), makersTable(), holder, more);
}
