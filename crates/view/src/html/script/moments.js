// What a flight recorder caught, longest first: when, what it was, who is behind it, what the other CPUs did.

import { duration, plural, whole } from "./numbers.js";
import { element, table } from "./words.js";
import { model } from "./model.js";
import { show } from "./ledger.js";

/** Moments that are shown at once. */
const SOME = 20;
/** Parts that are named of one. */
const PARTS = 3;
/** What is shown around a moment, in its lengths, and at least, in seconds. */
const AROUND = 3;
const LEAST_S = 2e-3;

/** Whether the recording holds moments, and nothing of the time between. */
export const keepsMoments = () => Boolean(model.report.recording?.settings?.catch?.conditions.length);

/** @param {{ cause: string, ns: number }[]} parts */
const named = (parts) => parts.slice(0, PARTS).map(({ cause, ns }) => `${cause} ${duration(ns)}`).join(", ");

/** @param {Moment["behind"][number]} chain */
function behind(chain) {
  const ran = chain.function ? ` ran ${chain.function}` : "";
  const [sent, began] = chain.cause.startsWith("task:") ? ["woken", "it ran"] : ["sent", "it came"];
  const by = chain.sender ? `, ${sent} by ${chain.sender} on CPU ${chain.cpus}, ${duration(chain.waited_ns)} before ${began}` : "";
  const times = chain.number > 1 ? `, ${whole(chain.number)} times` : "";
  return `${chain.cause}${ran}${by}${times}`;
}

/** @param {Moment} moment */
function row(moment) {
  const { at_s, unix_s, length_ns } = moment;
  const around = Math.max((AROUND * length_ns) / 1e9, LEAST_S);
  const time = unix_s === null ? "" : ` (${new Date(unix_s * 1000).toISOString().slice(11, 23)} UTC)`;
  const others = moment.others.filter(({ ran }) => ran.length).map(({ cpu, ran }) => `CPU ${cpu}: ${named(ran)}`);
  const lines = [
    element("div", {}, named(moment.causes)),
    ...moment.behind.slice(0, PARTS).map((chain) => element("div", {}, behind(chain))),
    others.length ? element("div", { class: "note" }, `meanwhile ${others.join("; ")}`) : null,
  ];
  for (const { cpu, at_ns, text } of moment.events.slice(0, PARTS)) {
    lines.push(element("div", { class: "note" }, `${at_ns < 0 ? "-" : "+"}${duration(Math.abs(at_ns))} CPU ${cpu}: ${text}`));
  }
  const jump = () => show(at_s - around, at_s + length_ns / 1e9 + around);
  return [
    duration(moment.ns),
    `${at_s.toFixed(6)} s${time}`,
    moment.cpu === null ? "" : whole(moment.cpu),
    element("div", {}, ...lines.filter((line) => line !== null)),
    element("button", { type: "button", class: "show", onclick: jump }, "show me"),
  ];
}

export function momentsSection() {
  const { moments } = model.report;
  if (!moments.length) return element("div", { hidden: true });
  const holder = element("div", {});
  const more = element("button", { type: "button", onclick: () => fill(moments.length) }, `show all ${whole(moments.length)}`);
  /** @param {number} most */
  const fill = (most) => {
    holder.replaceChildren(table(null, ["gaps took", "when", "CPU", "what it was, and who is behind it", ""], moments.slice(0, most).map(row), 5));
    more.hidden = moments.length <= most;
  };
  fill(SOME);
  return element("section", { id: "moments" }, element("h2", {}, "Caught"), element("p", { class: "note" }, `${plural(moments.length, "moment", "moments")}, the longest first. The time between was not kept.`), holder, more);
}
