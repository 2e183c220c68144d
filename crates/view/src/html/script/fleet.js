// Puts the page of a fleet together: the map of all nodes, the one that is selected at length, and the tables.

import { applyTheme, rampStyle } from "./colours.js";
import { bytesOf, Numbers } from "./decode.js";
import { plural } from "./numbers.js";
import { byId, element, reveal, settled, table, visible } from "./words.js";
import { NodeMap, nodeWords } from "./map.js";
import { nodeSection } from "./node.js";
import { colourScale, cpuList, found, ordered, ORDERS, readNodes } from "./nodes.js";
import { themeSwitch } from "./themes.js";
import { tip } from "./tip.js";

/** CSS pixels at the edge of the window: of a section that has no more in it, nothing is seen. */
const OUT_OF_SIGHT = 120;
/** What colours and the mark mean. @param {ReturnType<typeof colourScale>} scale @param {NodeMap} map */
function legend({ place, ticks }, map) {
  const ramp = element("span", { class: "ramp" });
  const names = ticks.map((tick) => {
    const name = element("span", {}, tick ? `${Number((tick * 100).toPrecision(2))} %` : "0");
    name.style.left = `${place(tick) * 100}%`;
    return name;
  });
  const words = element("span", { class: "note" });
  const redraw = () => {
    ramp.style.background = rampStyle();
    const { kind, perCell, columns } = map.layout;
    const cell = kind === "rows" ? `A row is a node, from left to right CPUs ${cpuList(columns)}. A cell is ${perCell > 1 ? `the worst of ${perCell} CPUs` : "a CPU"}, and empty where it was not measured.` : `A ${kind === "tiles" ? "tile" : "square"} is a node, of which one CPU was measured.`;
    words.textContent = `◆ stands out. ${cell} Arrow keys move, Enter selects.`;
  };
  return { shown: element("p", { class: "legend" }, element("span", { class: "note" }, "A CPU loses"), element("span", { class: "scale", "aria-hidden": "true" }, ramp, names), words), redraw };
}

/**
 * The field that finds nodes by name: the first at once, the next one with each Enter.
 * @param {NodeMap} map
 */
function finder(map) {
  let next = 0;
  const said = element("span", { class: "note", id: "said", role: "status", "aria-live": "polite" });
  const field = element("input", { type: "search", id: "find", placeholder: "find a node", "aria-label": "Find a node by name", autocomplete: "off", spellcheck: "false" });
  /** @param {boolean} selects */
  const look = (selects) => {
    const matches = found(map.sorted, field.value);
    const node = matches[next % matches.length];
    said.textContent = field.value.trim() ? `${plural(matches.length, "node", "nodes")} of that name${matches.length > 1 ? `, this is ${(next % matches.length) + 1}: Enter shows it, and then the next` : ""}` : "";
    if (node) map.go(node, selects);
  };
  const typed = settled(() => { if (next === 0) look(false); }, 120);
  field.addEventListener("input", () => { next = 0; typed(); });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    look(true);
    next++;
  });
  return [field, said];
}

async function start() {
  applyTheme("system");
  const held = /** @type {HeldFleet} */ (JSON.parse(byId("document").textContent));
  const block = document.querySelector("script.columns");
  const nodes = readNodes(held, new Numbers(await bytesOf(block?.textContent ?? "")));
  if (block) block.textContent = "";
  const scale = colourScale(nodes);
  const detail = element("section", { id: "node", "aria-label": "The selected node" });
  // Of what is shown then a screen reader says one sentence.
  const said = element("p", { class: "unseen", role: "status" });
  const map = new NodeMap(nodes, scale.place, (node) => {
    detail.replaceChildren(...nodeSection(node).filter((one) => one !== null));
    if (!document.documentElement.dataset.ready) return;
    said.textContent = `Shown: ${visible(nodeWords(node))}`;
    const { top, bottom } = detail.getBoundingClientRect();
    if (top > innerHeight - OUT_OF_SIGHT || bottom < OUT_OF_SIGHT) reveal("node", "nearest");
  });
  const { shown, redraw: redrawLegend } = legend(scale, map);
  /** @param {Order} order */
  const sort = (order) => {
    for (const button of orders) button.setAttribute("aria-pressed", String(button.dataset.order === order));
    map.sort(order);
  };
  const orders = /** @type {[Order, string][]} */ (Object.entries(ORDERS)).map(([order, words]) =>
    element("button", { type: "button", class: "toggle", "data-order": order, "aria-pressed": String(order === "name"), onclick: () => sort(order) }, words));
  const tables = held.sections.map(({ heading, heads, rows }, section) => element("section", {}, element("h2", {}, heading), table(null, [...heads], rows.map((row, k) => {
    const node = section === 0 && held.outliers.length === rows.length ? nodes[held.outliers[k][0]] : null;
    return node ? [element("button", { type: "button", class: "line", onclick: () => map.go(node, true) }, row[0]), ...row.slice(1)] : row;
  }), heads.length)));
  const redraw = () => { redrawLegend(); map.draw(); };
  byId("top").append(themeSwitch(redraw, redraw));
  byId("body").append(
    ...held.paragraphs.map((words) => element("p", { class: "note" }, words)),
    element("div", { class: "controls", role: "toolbar", "aria-label": "Order of the map" }, element("div", { class: "group", role: "group", "aria-label": "Sorted by" }, element("span", { class: "note" }, "sorted by"), ...orders), ...finder(map)),
    shown,
    element("div", { class: "fleet" }, map.box, detail), said, ...tables);
  document.body.append(tip);
  const arrange = () => { map.arrange(); redrawLegend(); };
  new ResizeObserver(settled(arrange, 50)).observe(map.box);
  const [worst] = ordered(nodes, "loss")[0].nodes;
  // The map begins at its top, wherever that node is.
  map.selected = held.outliers.length ? nodes[held.outliers[0][0]] : worst;
  map.select(map.selected);
  arrange();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

// For tests, and for whoever opens the console.
window.bandscope = { nodeWords };

start().catch((error) => {
  byId("verdict").textContent = `The page cannot be drawn: ${error.message}`;
  throw error;
});
