// The nodes of a fleet's page: read from the columns of `html/fleet.rs`, put in order, found by name, and laid out as lines of a map.

/**
 * Nodes by place in the document, which has them by name.
 * @param {HeldFleet} held
 * @param {Numbers} numbers
 * @returns {FleetNode[]}
 */
export function readNodes(held, numbers) {
  const { steps_of_node: steps, words } = held;
  const word = () => words[numbers.next()];
  const share = () => numbers.next() / steps;
  // 0 is a CPU without a number.
  const numbered = (/** @type {number} */ cpu) => (cpu < 0 ? null : cpu);
  const cpuNumber = () => numbered(numbers.next() - 1);
  const seconds = () => numbers.next() / 1e6;
  /**
   * @template T
   * @param {() => T} next
   */
  const several = (next) => Array.from({ length: numbers.next() }, next);
  // In the order in which the columns were written.
  const nodes = held.nodes.map((name, place) => ({
    name, place, group: held.groups[numbers.next()], standsOut: numbers.next() === 1, measured: numbers.next(), lost: share(),
    way: word(), by: word(), more: share(),
    losses: new Map(several(() => [word(), share()])),
    differs: several(word),
    gaps: several(() => ({ from: 10 ** numbers.next(), perSecond: numbers.next() / 1000, share: share() })),
    longest: several(() => ({ cpu: cpuNumber(), ns: numbers.next(), at: seconds(), cause: word() })).at(0) ?? null,
    worstOf: several(() => ({
      seconds: seconds(), lasted: seconds(), cpu: cpuNumber(), done: share(), at: seconds(),
      causes: several(() => /** @type {[string, number]} */ ([word(), share()])),
      parts: several(() => ({ done: numbers.next(), times: numbers.next() })).flatMap(({ done, times }) => Array(times).fill(done)),
    })),
    cpus: new Int32Array(numbers.next()), lostBy: new Float32Array(0), worst: 0, alone: /** @type {number | null} */ (null),
  }));
  for (const { cpus } of nodes) {
    let number = -1;
    for (let k = 0; k < cpus.length; k++) cpus[k] = number += numbers.next();
  }
  for (const node of nodes) {
    node.lostBy = Float32Array.from(node.cpus, () => numbers.next() / held.steps_of_cpu);
    node.worst = node.lostBy.reduce((a, b) => Math.max(a, b), 0);
  }
  for (const [place, cpu] of held.outliers) nodes[place].alone = cpu;
  return nodes;
}

/** Orders of the map: `n2` is before `n10`. @type {Record<Order, string>} */
export const ORDERS = { name: "name", loss: "loss of the worst CPU", cause: "cause" };
const { compare } = new Intl.Collator("en", { numeric: true });

/**
 * Nodes in an order, in sections: by cause one for each way of losing time, that with the largest excess first, and last those of no great excess.
 * @param {FleetNode[]} nodes
 * @param {Order} order
 * @returns {Section[]}
 */
export function ordered(nodes, order) {
  const sorted = [...nodes].sort((a, b) => compare(a.name, b.name));
  if (order === "loss") sorted.sort((a, b) => b.worst - a.worst || b.lost - a.lost);
  if (order !== "cause") return [{ title: "", nodes: sorted }];
  sorted.sort((a, b) => b.more - a.more);
  /** @type {Map<string, FleetNode[]>} */
  const sections = new Map();
  for (const node of sorted) {
    const title = node.more ? node.way || "many small ways" : "near the median";
    const section = sections.get(title);
    if (section) section.push(node);
    else sections.set(title, [node]);
  }
  return [...sections].map(([title, members]) => ({ title, nodes: members }));
}

/**
 * Nodes of a name that holds `text`; first those whose name it is.
 * @param {FleetNode[]} sorted
 * @param {string} text
 */
export function found(sorted, text) {
  const wanted = text.trim().toLowerCase();
  const named = wanted ? sorted.filter(({ name }) => name.toLowerCase().includes(wanted)) : [];
  return named.sort((a, b) => Number(b.name.toLowerCase() === wanted) - Number(a.name.toLowerCase() === wanted));
}

/** CPUs as lists are written: `0-3,8`. A CPU without a number is none. @param {ArrayLike<number>} cpus */
export function cpuList(cpus) {
  /** @type {Pair[]} */
  const ranges = [];
  for (const cpu of Array.from(cpus).filter((number) => number >= 0)) {
    const last = ranges.at(-1);
    if (last && cpu === last[1] + 1) last[1] = cpu;
    else ranges.push([cpu, cpu]);
  }
  return ranges.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(",");
}

/** The scale reaches at least to 2 %, and to five times what is usual: a healthy fleet is to look healthy. */
const LEAST_MOST = { share: 0.02, usual: 5 };
/** What is less is hardly seen: colours are logarithmic above it. In shares, and in times what is usual. */
const FAINT = { share: 1e-3, usual: 2 };
const ROUND = [0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];
/** Share of the scale between two names on it. */
const APART = 0.17;

/**
 * Where on the ramp of colours a share stands, from 0 to 1; and shares to be named.
 * @param {FleetNode[]} nodes
 */
export function colourScale(nodes) {
  const sorted = nodes.map(({ worst }) => worst).sort((a, b) => a - b);
  const usual = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const most = Math.min(1, Math.max(LEAST_MOST.share, LEAST_MOST.usual * usual, sorted.at(-1) ?? 0));
  const faint = Math.max(FAINT.share, FAINT.usual * usual);
  /** @param {number} share */
  const place = (share) => Math.min(1, Math.log1p(share / faint) / Math.log1p(most / faint));
  const ticks = [0];
  for (const tick of ROUND) if (place(tick) - place(ticks[ticks.length - 1]) >= APART && place(tick) <= 1 - APART) ticks.push(tick);
  return { place, ticks: [...ticks, most] };
}

/** CSS pixels. Rows are read one by one up to `MANY_LINES` of them, else as a texture; tiles have words, squares have not. */
const ROW = 17, THIN_ROW = 5, MANY_LINES = 120, TITLE = 26;
const CELL = { least: 2, most: 16 }, TILE = { least: 72, height: 40, nodes: 240 }, SQUARE = { least: 8, most: 28 };
/** Between the names of a row and its cells: the mark of a node that stands out. */
export const GUTTER = 14;
/** Between nodes on one line. */
const BETWEEN = 18;

/**
 * Where nodes stand on a map of this width: a row of CPUs each, several on a line where there is room; of one CPU each, a tile or a square.
 * @param {Section[]} sections
 * @param {number} width
 * @param {number} height What a screen shows, which a map of squares is to fit into.
 * @param {number} name Width of the longest name.
 * @returns {Layout}
 */
export function layout(sections, width, height, name) {
  const nodes = sections.flatMap((section) => section.nodes);
  const single = nodes.every(({ cpus }) => cpus.length <= 1);
  const columns = single ? [] : [...new Set(nodes.flatMap(({ cpus }) => [...cpus]))].sort((a, b) => a - b);
  const label = Math.min(name + 4, Math.floor(width * 0.3)) + GUTTER;
  const perCell = Math.max(1, Math.ceil(columns.length / Math.floor((width - label) / CELL.least)));
  const cells = Math.ceil(columns.length / perCell);
  const cell = Math.min(CELL.most, Math.max(CELL.least, Math.floor((width - label) / Math.max(1, cells))));
  const kind = !single ? "rows" : nodes.length <= TILE.nodes ? "tiles" : "squares";
  let [wide, high] = [label + cells * cell + BETWEEN, ROW];
  if (kind === "tiles") [wide, high] = [Math.min(width, Math.max(TILE.least, Math.min(180, name + 30))), TILE.height];
  if (kind === "squares") {
    wide = SQUARE.most;
    while (wide > SQUARE.least && Math.ceil(nodes.length / Math.floor(width / wide)) * wide > height) wide--;
    high = wide;
  }
  const across = Math.max(1, Math.floor((width + (kind === "rows" ? BETWEEN : 0)) / wide));
  // Tiles share what is left over.
  if (kind === "tiles") wide = Math.floor(width / across);
  if (kind === "rows" && nodes.length / across > MANY_LINES) high = THIN_ROW;
  /** @type {MapLine[]} */
  const lines = [];
  // The name of the first thin row is higher than the row.
  let y = high === THIN_ROW ? THIN_ROW : 0;
  for (const section of sections) {
    if (section.title) {
      lines.push({ y, height: TITLE, title: section.title, number: section.nodes.length, nodes: [] });
      y += TITLE;
    }
    for (let from = 0; from < section.nodes.length; from += across) {
      lines.push({ y, height: high, title: "", number: 0, nodes: section.nodes.slice(from, from + across) });
      y += high;
    }
  }
  return { kind, lines, height: y, wide, high, across, label, columns, perCell, cell };
}

/**
 * Index of the last line that begins at or above a height.
 * @param {MapLine[]} lines
 * @param {number} y
 */
export function lineAt(lines, y) {
  let [low, high] = [0, lines.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (lines[middle].y <= y) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}
