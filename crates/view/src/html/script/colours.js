// Colours, those of `palette.rs` but for a hue that text stands on, for light and dark: viridis for density, its lightness turned round in the dark; Okabe and Ito's hues for causes.
// The colour-blind tell both apart, and every colour has its name beside it as text.

/** Ten anchors of viridis, darkest first (Smith and van der Walt, CC0). */
const VIRIDIS = [0x440154, 0x482878, 0x3e4a89, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779, 0x6dcd59, 0xb4de2c, 0xfde725];
/** Where on viridis one quantum stands and the fullest cell: always clear against the paper, by theme. */
const ENDS = { light: [0.74, 0], dark: [0.36, 1] };

/** Names stand on them in the bars, so each is dark enough for white text, or light enough for dark (4.5 to 1): vermillion is a shade darker than theirs. */
const HUES = {
  light: ["#0072b2", "#c25400", "#007a5a", "#a6467a", "#8f6a00", "#3d6fd0", "#7a5230", "#5c6b7a"],
  dark: ["#56b4e9", "#ff8f45", "#2bd4a4", "#e79bc5", "#f0c54a", "#9db4ff", "#d0a37c", "#aab7c4"],
};

const INKS = {
  light: { paper: "#ffffff", ink: "#1a1a1a", grey: "#595959", frame: "#9a9a9a", rule: "#e9e9e9", absent: "#f1f1f1", bar: "#6f8fa9", band: "#b34e00", edge: "#a6467a", select: "rgba(0,114,178,.18)" },
  dark: { paper: "#14181d", ink: "#eceff2", grey: "#a9b3bd", frame: "#5d6974", rule: "#262d35", absent: "#1c2229", bar: "#6b8aa3", band: "#ff9d5c", edge: "#e79bc5", select: "rgba(86,180,233,.25)" },
};

/** @type {{ name: "light" | "dark", ink: typeof INKS.light, hues: string[], ramp: Uint32Array }} */
export const theme = { name: "light", ink: INKS.light, hues: HUES.light, ramp: new Uint32Array(256) };

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
  theme.ink = INKS[theme.name];
  theme.hues = HUES[theme.name];
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
