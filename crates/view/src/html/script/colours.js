// Colours for light and dark: viridis for density as in `palette.rs`, its lightness turned round in the dark; one palette for the ledger and its causes.
// The colour-blind tell both apart, and every colour has its name beside it as text.

/** Ten anchors of viridis, darkest first (Smith and van der Walt, CC0). */
const VIRIDIS = [0x440154, 0x482878, 0x3e4a89, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779, 0x6dcd59, 0xb4de2c, 0xfde725];
/** Where on viridis one quantum stands and the fullest cell: always clear against the paper, by theme. */
const ENDS = { light: [0.74, 0], dark: [0.36, 1] };

/**
 * Any two may be neighbours in a bar, so any two differ by 15 in CIEDE2000, for a deuteranope too, and each by 3 to 1 from the paper (`tests/script/colours.test.js`).
 * `others` alternate where causes beyond the hues stand in a list.
 */
export const PALETTE = {
  light: {
    parts: { work: "#cfdcd6", frequency: "#b14c00", microarchitecture: "#511f85", unsplit: "#6e0a4e", measurement: "#7c7971", unexplained: "#0f1113" },
    hues: ["#006ec7", "#e67530", "#006043", "#ff5688", "#5d4500", "#179edb", "#371c0a"],
    others: ["#626c7f", "#8896a3"],
  },
  dark: {
    parts: { work: "#2f4a40", frequency: "#d29b83", microarchitecture: "#d9a8ff", unsplit: "#a9405a", measurement: "#938f8b", unexplained: "#ffffff" },
    hues: ["#069cfe", "#d86f18", "#b4ffbc", "#b17caf", "#efc245", "#296bcd", "#8c6007"],
    others: ["#646f76", "#b7bfc7"],
  },
};

const INKS = {
  light: { paper: "#ffffff", ink: "#1a1a1a", grey: "#595959", frame: "#9a9a9a", rule: "#e9e9e9", absent: "#f1f1f1", bar: "#6f8fa9", band: "#b34e00", edge: "#a6467a", select: "rgba(0,114,178,.18)" },
  dark: { paper: "#14181d", ink: "#eceff2", grey: "#a9b3bd", frame: "#5d6974", rule: "#262d35", absent: "#1c2229", bar: "#6b8aa3", band: "#ff9d5c", edge: "#e79bc5", select: "rgba(86,180,233,.25)" },
};

/** @type {{ name: "light" | "dark", ink: typeof INKS.light, ramp: Uint32Array } & typeof PALETTE.light} */
export const theme = { name: "light", ink: INKS.light, ...PALETTE.light, ramp: new Uint32Array(256) };

/** @param {number} place */
export function viridis(place) {
  const at = Math.min(1, Math.max(0, place)) * (VIRIDIS.length - 1);
  const below = Math.min(Math.floor(at), VIRIDIS.length - 2);
  /** @param {number} shift */
  const mix = (shift) => {
    const [a, b] = [(VIRIDIS[below] >> shift) & 255, (VIRIDIS[below + 1] >> shift) & 255];
    return Math.round(a + (b - a) * (at - below));
  };
  return [mix(16), mix(8), mix(0)];
}

/**
 * Takes the theme that the reader chose, or else that of the system.
 * @param {string} chosen
 */
export function applyTheme(chosen) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  theme.name = chosen === "light" || chosen === "dark" ? chosen : dark ? "dark" : "light";
  Object.assign(theme, PALETTE[theme.name], { ink: INKS[theme.name] });
  const [one, full] = ENDS[theme.name];
  for (let k = 0; k < 256; k++) {
    const [red, green, blue] = viridis(one + (full - one) * (k / 255));
    theme.ramp[k] = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  }
  document.documentElement.dataset.theme = theme.name;
}

/**
 * The colour of a cell: a logarithmic scale from one quantum to the fullest cell. Where that has a few only, one is not much fainter.
 * @param {number} count
 * @param {number} logMost
 */
export function density(count, logMost) {
  const few = 2 / (1 + logMost);
  return theme.ramp[Math.min(255, Math.round(((Math.log(count) + few) / (logMost + few)) * 255))];
}

/** The ramp as a CSS gradient, for the legend. */
export function rampStyle() {
  const [one, full] = ENDS[theme.name];
  const stops = Array.from({ length: 9 }, (_, k) => `rgb(${viridis(one + (full - one) * (k / 8)).join(" ")})`);
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/**
 * Light that a colour gives back, by WCAG 2.
 * @param {string} colour
 */
export function luminance(colour) {
  const [red, green, blue] = [1, 3, 5].map((k) => {
    const channel = parseInt(colour.slice(k, k + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/**
 * Black or white: the one with more contrast on a colour has at least 4.5 to 1.
 * @param {string} colour
 */
export const textOn = (colour) => (luminance(colour) > 0.179 ? "#000000" : "#ffffff");
