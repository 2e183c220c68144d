// Names as people read them, as `escape.rs` writes them, and elements made of them. What comes from others is only ever set as text.

/** Characters that deceive are shown by their code: controls, bidirectional and invisible format characters. */
// eslint-disable-next-line no-control-regex, no-misleading-character-class -- these are what it is about
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff0-\uffff]|[\u{e0000}-\u{e0fff}]/gu;
/** @type {Record<string, string>} */
const NAMED = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** What stands for a sender where a task had left a CPU and would have gone on running. */
export const RUNNABLE = "runnable";

/** @param {unknown} text */
export function visible(text) {
  return String(text).replace(UNSAFE, (c) => {
    const code = (c.codePointAt(0) ?? 0).toString(16);
    return NAMED[c] ?? (code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`);
  });
}

/**
 * An element of the page that is always there.
 * @param {string} id
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found;
}

/**
 * Scrolls an element of the page into view, at once where the reader asked for less motion.
 * @param {string} id
 * @param {ScrollLogicalPosition} block
 */
export function reveal(id, block) {
  byId(id).scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth", block });
}

/** Gives what scrolls a stop for Tab, so that keys can scroll it. */
const overflow = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const box = target.closest(".wide");
    if (box && box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0");
    else box?.removeAttribute("tabindex");
  }
});

/**
 * A box that scrolls where its content, a table, is too wide for the page.
 * @param {string} label
 * @param {HTMLElement} content
 */
export function scroller(label, content) {
  const box = element("div", { class: "wide", role: "group", "aria-label": label }, content);
  overflow.observe(box);
  overflow.observe(content);
  return box;
}

/**
 * An element with properties, and children that are elements or text.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Properties} [properties]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (key === "class") made.className = String(value);
    else if (typeof value === "function") made.addEventListener(key.slice(2), /** @type {EventListener} */ (value));
    else if (key in made && typeof value !== "string") Object.assign(made, { [key]: value });
    // What is read out or shown beside the pointer deceives as text does.
    else made.setAttribute(key, key === "title" || key === "aria-label" ? visible(value) : String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined)
    .map((child) => (child instanceof Node ? child : visible(child))));
  return made;
}

/**
 * A table from a head and rows of texts or elements; columns from `numeric` on are figures.
 * @param {string | null} caption
 * @param {(Cell | string)[]} head
 * @param {Cell[][]} rows
 * @param {number} [numeric]
 */
export function table(caption, head, rows, numeric = 1) {
  /**
   * @param {"th" | "td"} name
   */
  const cell = (name) => (/** @type {Cell} */ content, /** @type {number} */ index) =>
    element(content === "" ? "td" : name, { class: index >= numeric ? "figure" : null, scope: name === "th" && content !== "" ? "col" : null }, content);
  return scroller(caption ?? "Table", element("table", {},
    caption ? element("caption", {}, caption) : null,
    head.some((name) => name !== "") ? element("thead", {}, element("tr", {}, head.map(cell("th")))) : null,
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map(cell("td")))))));
}

/**
 * A cause as a line of the account.
 * @param {string} cause
 */
export const causeName = (cause) => (cause.includes(":") ? cause : `gap: ${cause}`);

/**
 * Calls `work` once nothing has asked for it for `ms` milliseconds.
 * @param {() => void} work
 * @param {number} ms
 */
export function settled(work, ms) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, ms);
  };
}
