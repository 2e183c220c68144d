// Neighbours in a bar of the ledger are told apart, by a deuteranope too: CIEDE2000 (Sharma, Wu and Dalal, Color Res. Appl. 30, 21, 2005) between all colours of
// the palette, as they are and as a deuteranope sees them (Machado, Oliveira and Fernandes, IEEE TVCG 15, 1291, 2009, severity 1.0).

import assert from "node:assert/strict";
import { test } from "node:test";
import { luminance, PALETTE, textOn } from "../../src/html/script/colours.js";

const MIN_DIFFERENCE = 15;
/** Contrast that WCAG 2 asks of graphics, and of text. */
const MIN_CONTRAST = { graphics: 3, text: 4.5 };
const PAPER = { light: "#ffffff", dark: "#14181d" };

const DEUTERANOPIA = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]];
const TO_XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]];
const D65 = [0.95047, 1, 1.08883];

const times = (matrix, [a, b, c]) => matrix.map(([x, y, z]) => x * a + y * b + z * c);
const linear = (colour) => [1, 3, 5].map((k) => luminance(`#${colour.slice(k, k + 2).repeat(3)}`));
const asDeuteranope = (rgb) => times(DEUTERANOPIA, rgb).map((channel) => Math.min(1, Math.max(0, channel)));

/** CIE L*a*b* of linear sRGB. */
function lab(rgb) {
  const [x, y, z] = times(TO_XYZ, rgb).map((value, k) => value / D65[k]).map((t) => (t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 * t + 16) / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function ciede2000([l1, a1, b1], [l2, a2, b2]) {
  const rad = Math.PI / 180;
  /** The weight of chroma in `g` and in the rotation. */
  const rise = (chroma) => Math.sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7));
  const g = 1.5 - 0.5 * rise((Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2);
  const [c1, c2] = [Math.hypot(a1 * g, b1), Math.hypot(a2 * g, b2)];
  const [h1, h2] = [[a1, b1], [a2, b2]].map(([a, b]) => (Math.atan2(b, a * g) / rad + 360) % 360);
  const far = Math.abs(h2 - h1) > 180;
  const hueStep = h2 - h1 - (far ? 360 * Math.sign(h2 - h1) : 0);
  const hueDifference = 2 * Math.sqrt(c1 * c2) * Math.sin((hueStep / 2) * rad);
  const [l, c] = [(l1 + l2) / 2, (c1 + c2) / 2];
  const h = c1 * c2 === 0 ? h1 + h2 : (h1 + h2 + (far ? (h1 + h2 < 360 ? 360 : -360) : 0)) / 2;
  const t = 1 - 0.17 * Math.cos((h - 30) * rad) + 0.24 * Math.cos(2 * h * rad) + 0.32 * Math.cos((3 * h + 6) * rad) - 0.2 * Math.cos((4 * h - 63) * rad);
  const lightness = (l2 - l1) / (1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2));
  const chroma = (c2 - c1) / (1 + 0.045 * c), hue = hueDifference / (1 + 0.015 * c * t);
  const rotation = -2 * rise(c) * Math.sin(60 * rad * Math.exp(-(((h - 275) / 25) ** 2)));
  return Math.sqrt(lightness ** 2 + chroma ** 2 + hue ** 2 + rotation * chroma * hue);
}

/** Pairs of the paper's table 1. */
for (const [one, other, difference] of [
  [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425],
  [[50, 2.5, 0], [50, 0, -2.5], 4.3065],
  [[50, -0.001, 2.49], [50, 0.0011, -2.49], 4.7461],
  [[60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644],
  [[2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514], 0.9082],
]) {
  test(`CIEDE2000 of ${one} and ${other}`, () => assert.equal(ciede2000(one, other).toFixed(4), difference.toFixed(4)));
}

for (const [name, { parts, hues, others }] of Object.entries(PALETTE)) {
  const colours = [...Object.values(parts), ...hues, ...others];
  test(`the ${name} palette`, () => {
    const pairs = colours.flatMap((one, k) => colours.slice(k + 1).map((other) => [one, other]));
    for (const [sight, seen] of [["all", (rgb) => rgb], ["deuteranopia", asDeuteranope]]) {
      const [least, nearest] = pairs.map((pair) => [ciede2000(...pair.map((colour) => lab(seen(linear(colour))))), pair]).sort((a, b) => a[0] - b[0])[0];
      console.log(`${name}, ${sight}: ${pairs.length} pairs, CIEDE2000 at least ${least.toFixed(1)} (${nearest.join(" ")})`);
      assert.ok(least >= MIN_DIFFERENCE);
    }
    const contrast = (one, other) => (Math.max(luminance(one), luminance(other)) + 0.05) / (Math.min(luminance(one), luminance(other)) + 0.05);
    for (const colour of colours) {
      assert.ok(contrast(colour, textOn(colour)) >= MIN_CONTRAST.text, colour);
      // Work is the ground on which losses stand out.
      if (colour !== parts.work) assert.ok(contrast(colour, PAPER[name]) >= MIN_CONTRAST.graphics, colour);
    }
  });
}
