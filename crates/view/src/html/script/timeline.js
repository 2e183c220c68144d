// What ran on each CPU around a moment, drawn: the CPU that was away first, what interrupted something inside it, and who woke what took the time.

import { theme } from "./colours.js";
import { duration, whole } from "./numbers.js";
import { causeColour } from "./model.js";
import { RUNNABLE, causeName, visible } from "./words.js";

/** Heights in pixels: of a lane, of its name, of what ran there, and by how much that shrinks for each that it interrupted. */
const HIGH = { lane: 34, name: 14, bar: 16, inset: 3, axis: 18 };
/** Other CPUs of which each has a lane. */
const FEW = 4;
/** Shares of the width: what a letter of a name needs, a label of the axis, and what is drawn at least. */
const WIDE = { letter: 0.011, label: 0.16, least: 0.003 };

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {...(Node | string)} children
 */
function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children.map((child) => (child instanceof Node ? child : visible(child))));
  return made;
}

/** @param {number} share */
const ofWidth = (share) => `${(100 * share).toFixed(3)}%`;

/**
 * The picture; null where no kernel events were recorded.
 * @param {Moment} moment
 */
export function timeline(moment) {
  const { timeline: tracks, around_ns, length_ns, cpu } = moment;
  if (!tracks.length) return null;
  const all = length_ns + 2 * around_ns;
  const at = (/** @type {number} */ ns) => (ns + around_ns) / all;
  const own = tracks.filter((track) => track.cpu === cpu);
  // Of few CPUs those, too, on which nothing ran.
  const idle = moment.others.length > FEW ? [] : moment.others.map((other) => other.cpu).filter((other) => !tracks.some((track) => track.cpu === other));
  const empty = idle.map((other) => ({ cpu: other, spans: [], left_out: 0 }));
  const lanes = [...(own.length || cpu === null ? own : [{ cpu, spans: [], left_out: 0 }]), ...tracks.filter((track) => track.cpu !== cpu), ...empty];
  const bottom = HIGH.lane * lanes.length;
  const drawn = [svg("rect", { x: ofWidth(at(0)), width: ofWidth(length_ns / all), y: 0, height: bottom, class: "away" })];
  for (const [lane, track] of lanes.entries()) {
    const away = track.cpu === cpu ? ", measured" : "";
    const leftOut = track.left_out ? `; ${whole(track.left_out)} shorter left out` : "";
    drawn.push(svg("text", { x: 2, y: HIGH.lane * lane + 11, class: "lane" }, `CPU ${track.cpu}${away}${leftOut}`));
    drawn.push(svg("line", { x1: 0, x2: "100%", y1: HIGH.lane * lane + HIGH.name + HIGH.bar, y2: HIGH.lane * lane + HIGH.name + HIGH.bar, stroke: theme.ink.rule }));
    // Names last, as what interrupts something lies on it.
    for (const draw of [ranBlock, ranName]) {
      for (const span of track.spans) drawn.push(...draw(span, HIGH.lane * lane + HIGH.name, at(span.at_ns), span.ns / all));
    }
  }
  drawn.push(...wakings(moment, lanes, at));
  const isApart = (/** @type {number} */ ns) => [-around_ns, length_ns + around_ns].every((end) => Math.abs(ns - end) > WIDE.label * all);
  const begin = isApart(0), end = isApart(length_ns) && (!begin || length_ns > WIDE.label * all);
  for (const [ns, anchor] of /** @type {[number, string][]} */ ([[-around_ns, "start"], ...(begin ? [[0, "middle"]] : []), ...(end ? [[length_ns, "middle"]] : []), [length_ns + around_ns, "end"]])) {
    const text = ns === 0 ? "0" : `${ns < 0 ? "-" : "+"}${duration(Math.abs(ns))}`;
    drawn.push(svg("text", { x: ofWidth(at(ns)), y: bottom + 13, "text-anchor": anchor, class: "axis" }, text));
  }
  const label = `What ran from ${duration(around_ns)} before to ${duration(around_ns)} after; the words above say the same.`;
  return svg("svg", { class: "timeline", width: "100%", height: bottom + HIGH.axis, role: "img", "aria-label": label }, ...drawn);
}

/**
 * What ran from one time to another.
 * @param {Moment["timeline"][number]["spans"][number]} span
 * @param {number} top
 * @param {number} from
 * @param {number} share
 */
function ranBlock({ cause, ns, depth }, top, from, share) {
  const inset = Math.min(HIGH.inset * depth, HIGH.bar - HIGH.inset - 1);
  return [svg("rect", { x: ofWidth(from), y: top + inset, width: ofWidth(Math.max(share, WIDE.least)), height: HIGH.bar - inset, fill: causeColour(cause), stroke: theme.ink.paper },
    svg("title", {}, `${causeName(cause)}, ${duration(ns)}`))];
}

/**
 * Its name without its family, which the colour tells, where there is room: in a picture of its own, which clips it.
 * @param {Moment["timeline"][number]["spans"][number]} span
 * @param {number} top
 * @param {number} from
 * @param {number} share
 */
function ranName({ cause, depth }, top, from, share) {
  const name = cause.slice(cause.indexOf(":") + 1);
  if (depth || share < WIDE.letter * name.length) return [];
  return [svg("svg", { x: ofWidth(from), y: top, width: ofWidth(share), height: HIGH.bar, class: "ran" }, svg("text", { x: 4, y: HIGH.bar - 4 }, name))];
}

/**
 * A line from who woke or sent something to where it came: of what is behind the moment, where it came once and one CPU did it.
 * @param {Moment} moment
 * @param {{ cpu: number, spans: Moment["timeline"][number]["spans"] }[]} lanes
 * @param {(ns: number) => number} at
 */
function wakings(moment, lanes, at) {
  const drawn = [];
  for (const { cause, sender, cpus, waited_ns, number } of moment.behind) {
    const from = lanes.findIndex(({ cpu }) => String(cpu) === cpus);
    const stays = lanes[0].spans.filter((span) => span.at_ns + span.ns > 0 && span.at_ns < moment.length_ns && (span.cause === cause || span.cause.startsWith(`${cause}:`)));
    // Of several it is not known which one was woken.
    const [came] = stays;
    if (!sender || sender === RUNNABLE || from < 0 || number !== 1 || stays.length !== 1 || at(came.at_ns - waited_ns) < 0) continue;
    const y1 = HIGH.lane * from + HIGH.name + (from ? 0 : HIGH.bar), x1 = ofWidth(at(came.at_ns - waited_ns));
    drawn.push(svg("g", { class: "waking" },
      svg("title", {}, `${sender} on CPU ${cpus}, ${duration(waited_ns)} before`),
      svg("line", { x1, y1, x2: ofWidth(at(came.at_ns)), y2: HIGH.name + HIGH.bar, stroke: theme.ink.ink }),
      svg("circle", { cx: x1, cy: y1, r: 3, fill: theme.ink.ink })));
  }
  return drawn;
}
