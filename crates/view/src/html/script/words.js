// Numbers and names as people read them, as `numbers.rs` and `escape.rs` write them, and elements made of them. What comes from others is
// only ever set as text.

/** Characters that deceive are shown by their code: controls, bidirectional and invisible format characters. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff0-\uffff]|[\u{e0000}-\u{e0fff}]/gu;
const NAMED = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function visible(text) {
  return String(text).replace(UNSAFE, (c) => {
    const code = c.codePointAt(0).toString(16);
    return NAMED[c] ?? (code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`);
  });
}

/** An element with properties, and children that are elements or text. */
function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined)
    .map((child) => (child instanceof Node ? child : visible(child))));
  return made;
}

/** A table from a head and rows of texts or elements; columns from `numeric` on are figures. */
function table(caption, head, rows, numeric = 1) {
  const cell = (name, side) => (content, index) =>
    element(name, { class: index >= numeric && side ? "figure" : null, scope: name === "th" ? "col" : null }, content);
  return element("div", { class: "wide" },
    element("table", {},
      caption ? element("caption", {}, caption) : null,
      element("thead", {}, element("tr", {}, head.map(cell("th", true)))),
      element("tbody", {}, rows.map((row) => element("tr", {}, row.map(cell("td", true)))))));
}

const NONE = "–";
const finite = (value) => typeof value === "number" && Number.isFinite(value);

function significant(value, digits) {
  if (!finite(value)) return NONE;
  if (value === 0) return "0";
  const rounded = Number(value.toExponential(digits - 1));
  const magnitude = Math.floor(Math.log10(Math.abs(rounded)) + 1e-12);
  if (magnitude < -6 || magnitude > 9) return value.toExponential(digits - 1).replace("e+", "e");
  return rounded.toFixed(Math.min(12, Math.max(0, digits - 1 - magnitude)));
}

/** From which value on, what is one, its symbol. */
const DURATIONS = [[7.2e12, 3.6e12, "h"], [120e9, 60e9, "min"], [1e9, 1e9, "s"], [1e6, 1e6, "ms"], [1e3, 1e3, "µs"], [0, 1, "ns"]];
const FREQUENCIES = [[1e9, 1e9, "GHz"], [1e6, 1e6, "MHz"], [1e4, 1e3, "kHz"], [1, 1, "Hz"], [1e-3, 1e-3, "mHz"], [0, 1e-6, "µHz"]];

function scaled(value, digits, scale) {
  if (!finite(value)) return NONE;
  if (value === 0) return scale === DURATIONS ? "0 ns" : "0 Hz";
  const size = Math.abs(value) * (1 + 0.5 * 10 ** -digits);
  const [, one, symbol] = scale.find(([from]) => size >= from);
  return `${significant(value / one, digits)} ${symbol}`;
}

const shortened = (text) => text.replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ");
const duration = (ns) => scaled(ns, 3, DURATIONS);
const durationFine = (ns) => (Math.abs(ns) < 1000 ? `${ns} ns` : scaled(ns, 4, DURATIONS));
const durationRound = (ns) => shortened(scaled(ns, 3, DURATIONS));
const frequencyRound = (hz) => shortened(scaled(hz, 3, FREQUENCIES));
const pace = (ns) => significant(ns, 4);
const whole = (number) => (finite(number) ? String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",") : NONE);
const plural = (number, one, many) => `${whole(number)} ${number === 1 ? one : many}`;

function frequency(hz, uncertainty) {
  if (!finite(hz)) return NONE;
  if (!finite(uncertainty) || uncertainty <= 0) return `${significant(hz, 5)} Hz`;
  if (uncertainty < 5e-7) return `${hz.toFixed(6)} Hz`;
  const decimals = Math.min(6, Math.max(0, -Math.floor(Math.log10(uncertainty))));
  return `${hz.toFixed(decimals)} ± ${uncertainty.toFixed(decimals)} Hz`;
}

function percent(share) {
  if (!finite(share)) return NONE;
  const value = share * 100;
  if (value > 0 && value < 0.005) return "<0.01 %";
  if (value < 0 && value > -0.005) return ">-0.01 %";
  if (value >= 99.995 && value < 100) return ">99.99 %";
  return `${value.toFixed(2)} %`;
}

/** A time since the start of the recording, to a digit more than `span` seconds need to be told apart. */
function instant(seconds, span) {
  if (!finite(seconds)) return NONE;
  const decimals = Math.min(9, Math.max(0, Math.ceil(3 - Math.log10(Math.max(span, 1e-9)))));
  return `${seconds.toFixed(decimals)} s`;
}

/** A cause as a line of the account. */
const causeName = (cause) => (cause.includes(":") ? cause : `gap: ${cause}`);

/** Calls `work` once nothing has asked for it for `ms` milliseconds. */
function settled(work, ms) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, ms);
  };
}
