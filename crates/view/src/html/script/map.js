// The map of a fleet: a canvas that draws the lines in view, a cursor that the arrow keys move, and one node that is selected.

import { textOn, theme } from "./colours.js";
import { percent, plural } from "./numbers.js";
import { element, visible } from "./words.js";
import { cpuList, GUTTER, layout, lineAt, ordered } from "./nodes.js";
import { clip, drawLabel, extent, Sheet } from "./sheet.js";
import { hideTip, showTip } from "./tip.js";

/** Share of the window's height that the map takes. */
const TALL = 0.68;
/** Lines between two names, where rows are too thin for one each. */
const BETWEEN_NAMES = 16;
/** The widest name that has room, in widths of the median one. */
const WIDER = 1.5;
const MARK = 4;

/** What a node is, in words: `n2, loses 2.07 %, worst CPU 3 with 5.20 %, stands out by other tasks (rsync)`. @param {FleetNode} node */
export function nodeWords(node) {
  const { name, cpus, lostBy, lost, worst } = node;
  const cpu = cpus[lostBy.indexOf(worst)];
  const words = [name, `loses ${percent(lost)}`];
  if (cpus.length > 1) words.push(`worst ${cpu >= 0 ? `CPU ${cpu}` : "CPU"} with ${percent(worst)}`);
  if (node.standsOut) words.push(`stands out${onCpu(node)} by ${reason(node)}`);
  return words.join(", ");
}

/** The way that exceeds the median most, and its cause. @param {FleetNode} node */
export const reason = ({ way, by }) => (way ? (by ? `${way} (${by})` : way) : "many small ways");

/** The CPU that alone makes a node stand out. @param {FleetNode} node */
export const onCpu = ({ alone }) => (alone === null ? "" : ` on CPU ${alone}`);

/** A mark beside or on what stands out, so that its colour is not all. @param {Context} context @param {number} x @param {number} y @param {number} size */
function diamond(context, x, y, size) {
  context.beginPath();
  context.moveTo(x, y - size);
  context.lineTo(x + size, y);
  context.lineTo(x, y + size);
  context.lineTo(x - size, y);
  context.fill();
}

/** Writes a line of text, if all of it is in view. @param {Context} context @param {string} words @param {number} x @param {number} y @param {number} height */
function inView(context, words, x, y, height) {
  const [, top, , bottom] = extent(context, words, x, y);
  if (top >= 0 && bottom <= height) drawLabel(context, words, x, y);
}

export class NodeMap {
  /**
   * @param {FleetNode[]} nodes
   * @param {(share: number) => number} place Where on the ramp of colours a share stands.
   * @param {(node: FleetNode) => void} select
   */
  constructor(nodes, place, select) {
    this.nodes = nodes;
    this.place = place;
    this.select = select;
    this.sections = ordered(nodes, "name");
    /** Nodes as they stand on the map. */
    this.sorted = this.sections[0].nodes;
    this.cursor = this.sorted[0];
    /** @type {FleetNode | null} */
    this.selected = null;
    this.sheet = new Sheet(100, "");
    this.sheet.canvas.setAttribute("aria-hidden", "true");
    this.whole = element("div", {}, this.sheet.canvas);
    this.spoken = element("div", { class: "unseen" });
    this.box = element("div", { class: "map", tabindex: "0", role: "listbox", "aria-label": "Nodes" }, this.whole, this.spoken);
    /** @type {Layout} */
    this.layout = layout(this.sections, 1000, 500, 100);
    /** Line and column of each node. @type {Map<FleetNode, Pair>} */
    this.stands = new Map();
    /** @type {string[]} */
    this.colours = [];
    this.box.addEventListener("scroll", () => requestAnimationFrame(() => this.draw()));
    this.box.addEventListener("keydown", (event) => this.key(event));
    for (const name of ["focus", "blur"]) this.box.addEventListener(name, () => this.draw());
    this.box.addEventListener("pointermove", (event) => {
      const node = this.at(event);
      if (node) showTip(this.words(node, event), event.clientX, event.clientY);
      else hideTip();
    });
    this.box.addEventListener("pointerleave", hideTip);
    this.box.addEventListener("click", (event) => {
      const node = this.at(event);
      if (node) this.go(node, true);
    });
    this.say();
  }

  /** @param {Order} order */
  sort(order) {
    this.sections = ordered(this.nodes, order);
    this.sorted = this.sections.flatMap((section) => section.nodes);
    this.arrange();
    this.box.scrollTop = 0;
    this.go(this.sorted[0], false);
  }

  /** Lays the nodes out for the room that there is. */
  arrange() {
    const height = Math.round(innerHeight * TALL);
    const context = this.sheet.begin();
    const widths = this.nodes.map(({ name }) => context.measureText(visible(name)).width).sort((a, b) => a - b);
    // One name that is much longer than the others is cut instead.
    const name = Math.ceil(Math.min(widths[widths.length - 1], WIDER * widths[widths.length >> 1]));
    this.layout = layout(this.sections, this.sheet.width, height, name);
    this.stands = new Map(this.layout.lines.flatMap(({ nodes }, line) => nodes.map((node, column) => [node, [line, column]])));
    this.sheet.resize(Math.min(height, this.layout.height));
    this.box.style.height = `${this.sheet.height}px`;
    this.whole.style.height = `${this.layout.height}px`;
    this.draw();
  }

  draw() {
    const { kind, lines, high } = this.layout;
    const context = this.sheet.begin();
    const top = this.box.scrollTop;
    const each = Math.ceil(BETWEEN_NAMES / high);
    this.colours = Array.from(theme.ramp, (of) => `#${[of, of >> 8, of >> 16].map((part) => (part & 255).toString(16).padStart(2, "0")).join("")}`);
    for (let k = lineAt(lines, top); k < lines.length && lines[k].y < top + this.sheet.height; k++) {
      const { title, number, nodes, y } = lines[k];
      context.fillStyle = theme.ink.ink;
      if (title) inView(context, `${visible(title)} · ${plural(number, "node", "nodes")}`, 2, y - top + 17, this.sheet.height);
      nodes.forEach((node, column) => (kind === "rows" ? this.row(context, node, column, y - top, k % each === 0) : this.tile(context, node, column, y - top)));
    }
    if (this.selected) this.outline(context, this.selected, theme.ink.ink);
    if (document.activeElement === this.box) this.outline(context, this.cursor, theme.ink.band);
  }

  /** @param {number} share */
  colour(share) {
    return this.colours[Math.round(this.place(share) * 255)];
  }

  /**
   * Name, mark, and a cell for each CPU; what was not measured is left empty.
   * @param {Context} context
   * @param {FleetNode} node
   * @param {number} column
   * @param {number} y
   * @param {boolean} named
   */
  row(context, node, column, y, named) {
    const { wide, high, label, columns, perCell, cell } = this.layout;
    const x = column * wide, space = high > 8 ? 1 : 0;
    context.fillStyle = theme.ink.ink;
    const middle = y + high / 2;
    if (node.standsOut) diamond(context, x + label - GUTTER / 2, middle, Math.min(MARK, high / 2));
    if (named) inView(context, clip(context, visible(node.name), label - GUTTER - 2), x + 1, middle + 4, this.sheet.height);
    let [at, most] = [-1, 0];
    const fill = () => {
      context.fillStyle = this.colour(most);
      if (at >= 0) context.fillRect(x + label + at * cell, y, cell - (cell > 5 ? space : 0), high - space);
    };
    for (let k = 0, c = 0; k < node.cpus.length; k++) {
      while (columns[c] < node.cpus[k]) c++;
      const next = Math.floor(c / perCell);
      if (next !== at) {
        fill();
        [at, most] = [next, 0];
      }
      most = Math.max(most, node.lostBy[k]);
    }
    fill();
  }

  /**
   * A node of one CPU.
   * @param {Context} context
   * @param {FleetNode} node
   * @param {number} column
   * @param {number} y
   */
  tile(context, node, column, y) {
    const { kind, wide, high } = this.layout;
    const x = column * wide, colour = this.colour(node.worst), space = wide > 12 ? 2 : 1;
    context.fillStyle = colour;
    context.fillRect(x, y, wide - space, high - space);
    context.fillStyle = textOn(colour);
    if (kind === "squares" && node.standsOut) diamond(context, x + (wide - space) / 2, y + (high - space) / 2, Math.min(MARK, wide / 3));
    if (kind !== "tiles") return;
    if (node.standsOut) diamond(context, x + wide - 12, y + 12, MARK);
    inView(context, clip(context, visible(node.name), wide - 30), x + 7, y + 16, this.sheet.height);
    inView(context, percent(node.worst), x + 7, y + 31, this.sheet.height);
  }

  /**
   * @param {Context} context
   * @param {FleetNode} node
   * @param {string} colour
   */
  outline(context, node, colour) {
    const [line, column] = this.stands.get(node) ?? [0, 0];
    const { kind, lines, wide, high, label, columns, perCell, cell } = this.layout;
    const x = column * wide + (kind === "rows" ? label : 0), y = lines[line].y - this.box.scrollTop;
    const across = kind === "rows" ? Math.ceil(columns.length / perCell) * cell : wide - 2;
    // Paper around it, as a cell may have its colour.
    for (const [ink, wider] of /** @type {[string, number][]} */ ([[theme.ink.paper, 4], [colour, 2]])) {
      context.strokeStyle = ink;
      context.lineWidth = wider;
      context.strokeRect(x - 1, y - 1, across + 1, high + 1);
    }
  }

  /**
   * The node under the pointer.
   * @param {MouseEvent} event
   */
  at(event) {
    const box = this.sheet.canvas.getBoundingClientRect();
    const { lines, wide } = this.layout;
    const line = lines[lineAt(lines, event.clientY - box.top + this.box.scrollTop)];
    return line.nodes[Math.floor((event.clientX - box.left) / wide)];
  }

  /**
   * A node in words, and the CPU of it that is under the pointer.
   * @param {FleetNode} node
   * @param {MouseEvent} event
   */
  words(node, event) {
    const { kind, wide, label, columns, perCell, cell } = this.layout;
    const x = (event.clientX - this.sheet.canvas.getBoundingClientRect().left) % wide - label;
    const under = kind === "rows" ? columns.slice(Math.floor(x / cell) * perCell, (Math.floor(x / cell) + 1) * perCell) : [...node.cpus];
    const known = under.flatMap((cpu) => (node.cpus.includes(cpu) ? [node.lostBy[node.cpus.indexOf(cpu)]] : []));
    const lines = [nodeWords(node)];
    if (x >= 0 && under.length) lines.push(`${under[0] < 0 ? "a CPU" : `CPU ${cpuList(under)}`}: ${known.length ? percent(Math.max(...known)) : "not measured"}${known.length > 1 ? ", the worst of them" : ""}`);
    return lines;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { across } = this.layout;
    const page = across * Math.max(1, Math.floor(this.sheet.height / this.layout.high) - 1);
    /** @type {Record<string, number>} */
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") this.go(this.cursor, true);
    else if (step) this.go(this.sorted[Math.min(this.sorted.length - 1, Math.max(0, this.sorted.indexOf(this.cursor) + step))], false);
    else return;
    event.preventDefault();
  }

  /**
   * Moves the cursor to a node, and selects it if that was asked for.
   * @param {FleetNode} node
   * @param {boolean} selects
   */
  go(node, selects) {
    this.cursor = node;
    if (selects) this.selected = node;
    const { y, height } = this.layout.lines[(this.stands.get(node) ?? [0])[0]];
    const top = Math.max(Math.min(this.box.scrollTop, y - 2), y + height + 2 - this.sheet.height);
    if (top !== this.box.scrollTop) this.box.scrollTop = top;
    this.draw();
    this.say();
    if (selects) this.select(node);
  }

  /** Gives a screen reader the node under the cursor: an option of its own, which it reads once it is the active one. */
  say() {
    const place = this.sorted.indexOf(this.cursor);
    const option = element("div", { role: "option", id: `node-${this.cursor.place}`, "aria-selected": String(this.cursor === this.selected), "aria-posinset": String(place + 1), "aria-setsize": String(this.sorted.length) }, nodeWords(this.cursor));
    this.spoken.replaceChildren(option);
    this.box.setAttribute("aria-activedescendant", option.id);
  }
}
