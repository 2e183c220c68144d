// What every picture is drawn on: a canvas, its outline, its labels.

import { theme } from "./colours.js";
import { element } from "./words.js";

const FONT = "12px system-ui, sans-serif";
/** CSS pixels above and below the line that text stands on. */
const ASCENT = 10;
const DESCENT = 3;
/** CSS pixels below a picture for the names of its time axis. */
export const AXIS = 20;

/** A canvas that is as sharp as the screen. */
export class Sheet {
  /**
   * @param {number} height
   * @param {string} label
   */
  constructor(height, label) {
    this.height = height;
    /** CSS pixels, known once it is drawn. */
    this.width = 0;
    /** Where the picture stands in it, once it is drawn. @type {Frame | null} */
    this.frame = null;
    this.canvas = element("canvas", { role: "img", "aria-label": label });
    this.resize(height);
  }

  /** @param {number} height */
  resize(height) {
    this.height = height;
    this.canvas.style.height = `${height}px`;
  }

  /** A clean context in CSS pixels. */
  begin() {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.floor(this.canvas.clientWidth));
    const [w, h] = [Math.round(width * ratio), Math.round(this.height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
    const context = this.canvas.getContext("2d");
    if (!context) throw new Error("this browser cannot draw on a canvas");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, this.height);
    context.font = FONT;
    context.textAlign = "left";
    taken.set(context, [[0, -1, 0, this.height], [width, -1, width, this.height]]);
    this.width = width;
    return context;
  }
}

/** What labels and markers take of each canvas; its sides as well. @type {WeakMap<Context, Box[]>} */
const taken = new WeakMap();

/**
 * Takes boxes for labels or markers, if all of them are free.
 * @param {Context} context
 * @param {...Box} boxes
 */
export function take(context, ...boxes) {
  const known = taken.get(context) ?? [];
  const free = boxes.every(([left, top, right, bottom]) => known.every(([a, b, c, d]) => right <= a || c <= left || bottom <= b || d <= top));
  if (free) known.push(...boxes);
  return free;
}

/**
 * Writes text, unless it would stand on another label, on a marker, or beyond the canvas.
 * @param {Context} context
 * @param {string} words
 * @param {number} x
 * @param {number} y
 */
export function drawLabel(context, words, x, y) {
  if (take(context, extent(context, words, x, y))) context.fillText(words, x, y);
}

/**
 * The box of a line of text, with the space that it wants at either end.
 * @param {Context} context
 * @param {string} words
 * @param {number} x
 * @param {number} y
 * @returns {Box}
 */
export function extent(context, words, x, y) {
  const { width } = context.measureText(words);
  const left = x - (context.textAlign === "right" ? width : context.textAlign === "center" ? width / 2 : 0);
  return [left - 1, y - ASCENT, left + width + 1, y + DESCENT];
}

/**
 * @param {Context} context
 * @param {number} x0
 * @param {number} y0
 * @param {number} x1
 * @param {number} y1
 */
export function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

/**
 * @param {Context} context
 * @param {Frame} frame
 */
export function outline(context, frame) {
  context.strokeStyle = theme.ink.frame;
  context.lineWidth = 1;
  context.strokeRect(frame.x + 0.5, frame.y + 0.5, frame.width - 1, frame.height - 1);
}

/**
 * Text cut to a width.
 * @param {Context} context
 * @param {string} words
 * @param {number} width
 */
export function clip(context, words, width) {
  if (context.measureText(words).width <= width) return words;
  let cut = words;
  while (cut.length > 1 && context.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
  return `${cut}…`;
}
