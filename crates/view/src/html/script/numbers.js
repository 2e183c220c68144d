// Numbers as people read them, as `numbers.rs` writes them: `tests/numbers.json` holds both to one table.

/** What stands where a number is missing or not finite. */
export const NONE = "–";

/**
 * @param {unknown} value
 * @returns {value is number}
 */
export const finite = (value) => typeof value === "number" && Number.isFinite(value);

/**
 * Whether what is cut off lies exactly between two numbers of which the even one is nearer to zero: Rust rounds to that, JavaScript up.
 * @param {string} kept
 * @param {string} cut
 */
const between = (kept, cut) => /[02468]$/.test(kept) && /^50*$/.test(cut);

/**
 * A number with so many decimals.
 * @param {number} value
 * @param {number} decimals
 */
function fixed(value, decimals) {
  // A double that lies between two has at most 53 decimals more: half a unit is a whole number of its last bits.
  const [before, after] = Math.abs(value).toFixed(Math.min(100, decimals + 54)).split(".");
  const kept = decimals ? `${before}.${after.slice(0, decimals)}` : before;
  return between(kept, after.slice(decimals)) ? `${value < 0 ? "-" : ""}${kept}` : value.toFixed(decimals);
}

/**
 * A number with so many digits, in exponent form.
 * @param {number} value
 * @param {number} digits
 */
function exponential(value, digits) {
  const [mantissa, exponent] = Math.abs(value).toExponential(100).split("e");
  const kept = mantissa.slice(0, digits > 1 ? digits + 1 : 1);
  const text = between(kept, mantissa.slice(digits + 1)) ? `${value < 0 ? "-" : ""}${kept}e${exponent}` : value.toExponential(digits - 1);
  return text.replace("e+", "e");
}

/**
 * @param {Maybe} value
 * @param {number} digits
 */
export function significant(value, digits) {
  if (!finite(value)) return NONE;
  if (value === 0) return "0";
  const text = exponential(value, digits);
  // Rounding may carry into another digit (9.996 to 10.00): the rounded number has the magnitude.
  const magnitude = Number(text.split("e")[1]);
  if (magnitude < -6 || magnitude > 9) return text;
  return Number(text).toFixed(Math.min(12, Math.max(0, digits - 1 - magnitude)));
}

/** @type {Scale} */
const DURATIONS = [[7.2e12, 3.6e12, "h"], [120e9, 60e9, "min"], [1e9, 1e9, "s"], [1e6, 1e6, "ms"], [1e3, 1e3, "µs"], [0, 1, "ns"]];
/** @type {Scale} */
const FREQUENCIES = [[1e9, 1e9, "GHz"], [1e6, 1e6, "MHz"], [1e4, 1e3, "kHz"], [1, 1, "Hz"], [1e-3, 1e-3, "mHz"], [0, 1e-6, "µHz"]];

/**
 * @param {Maybe} value
 * @param {number} digits
 * @param {Scale} scale
 */
function scaled(value, digits, scale) {
  if (!finite(value)) return NONE;
  if (value === 0) return scale === DURATIONS ? "0 ns" : "0 Hz";
  const size = Math.abs(value) * (1 + 0.5 * 10 ** -digits);
  const [, one, symbol] = scale.find(([from]) => size >= from) ?? scale[scale.length - 1];
  return `${significant(value / one, digits)} ${symbol}`;
}

/** @param {string} text */
export const shortened = (text) => text.replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ");
/** @param {Maybe} ns */
export const duration = (ns) => scaled(ns, 3, DURATIONS);
/** @param {number} ns */
export const durationFine = (ns) => (Math.abs(ns) < 1000 ? `${ns} ns` : scaled(ns, 4, DURATIONS));
/** @param {Maybe} ns */
export const durationRound = (ns) => shortened(scaled(ns, 3, DURATIONS));
/** @param {Maybe} hz */
export const frequencyRound = (hz) => shortened(scaled(hz, 3, FREQUENCIES));
/** @param {Maybe} ns */
export const pace = (ns) => significant(ns, 4);
/** @param {Maybe} number */
export const whole = (number) => (finite(number) ? String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",") : NONE);
/**
 * @param {number} number
 * @param {string} one
 * @param {string} many
 */
export const plural = (number, one, many) => `${whole(number)} ${number === 1 ? one : many}`;

/**
 * @param {Maybe} hz
 * @param {Maybe} uncertainty
 */
export function frequency(hz, uncertainty) {
  if (!finite(hz)) return NONE;
  if (!finite(uncertainty) || uncertainty <= 0) return `${significant(hz, 5)} Hz`;
  if (uncertainty < 5e-7) return `${fixed(hz, 6)} Hz`;
  const decimals = Math.min(6, Math.max(0, -Math.floor(Math.log10(uncertainty))));
  return `${fixed(hz, decimals)} ± ${fixed(uncertainty, decimals)} Hz`;
}

/** @param {Maybe} share */
export function percent(share) {
  if (!finite(share)) return NONE;
  const value = share * 100;
  if (value > 0 && value < 0.005) return "<0.01 %";
  if (value < 0 && value > -0.005) return ">-0.01 %";
  if (value >= 99.995 && value < 100) return ">99.99 %";
  return `${fixed(value, 2)} %`;
}

/**
 * A time since the start of the recording, to a digit more than `span` seconds need to be told apart.
 * @param {Maybe} seconds
 * @param {number} span
 */
export function instant(seconds, span) {
  if (!finite(seconds)) return NONE;
  const decimals = Math.min(9, Math.max(0, Math.ceil(3 - Math.log10(Math.max(span, 1e-9)))));
  return `${fixed(seconds, decimals)} s`;
}
