// Nodes of a fleet's page: read as `html/fleet.rs` writes them, put in order, found, and laid out.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Numbers } from "../../src/html/script/decode.js";
import { colourScale, cpuList, found, layout, lineAt, ordered, readNodes } from "../../src/html/script/nodes.js";

const node = (name, worst, more = 0, way = "", cpus = 1) => ({
  name, worst, more, way, lost: worst, cpus: Int32Array.from({ length: cpus }, (_, k) => k), lostBy: new Float32Array(cpus).fill(worst),
});
const names = (sections) => sections.map(({ title, nodes }) => [title, nodes.map(({ name }) => name)]);

test("columns become nodes", () => {
  const held = { nodes: ["n1", "n2"], groups: [{ subject: "g" }], outliers: [[1, 6]], words: ["", "other tasks", "rsync", "boot: nohz off"], steps_of_node: 1e6, steps_of_cpu: 1e4 };
  const numbers = [
    0, 0, 1, 1000, 0, 0, 0, 1, 1, 900, 0, 0, 0, 0, 1,
    0, 1, 2, 30_000, 1, 2, 29_000, 1, 1, 29_500, 1, 3,
    // Gaps of 10 to 100 us; the longest one; the worst 10 ms, of CPU 4 in ten parts.
    1, 4, 2500, 700, 1, 7, 250_000, 1_500_000, 2, 1, 10_000, 10_100, 5, 400_000, 2_000_000, 1, 2, 600_000, 2, 100, 4, 0, 6,
    2,
    // A CPU without a number; CPUs 4 and 6.
    0, 5, 2, 10, 100, 500,
  ];
  const bytes = Uint8Array.from(numbers.flatMap((number) => {
    const low = [];
    for (; number >= 128; number = Math.floor(number / 128)) low.push((number % 128) | 128);
    return [...low, number];
  }));
  const [one, two] = readNodes(held, new Numbers(bytes));
  assert.deepEqual([one.name, one.standsOut, one.way, [...one.cpus], one.losses.get("other tasks")], ["n1", false, "", [-1], 0.0009]);
  assert.deepEqual([two.standsOut, two.way, two.by, two.more, two.differs, [...two.cpus]], [true, "other tasks", "rsync", 0.029, ["boot: nohz off"], [4, 6]]);
  assert.deepEqual([one.gaps, one.longest, one.worstOf], [[], null, []]);
  assert.deepEqual(two.gaps, [{ from: 10_000, perSecond: 2.5, share: 0.0007 }]);
  assert.deepEqual(two.longest, { cpu: 6, ns: 250_000, at: 1.5, cause: "rsync" });
  assert.deepEqual(two.worstOf, [{ seconds: 0.01, lasted: 0.0101, cpu: 4, done: 0.4, at: 2, causes: [["rsync", 0.6]], parts: [100, 100, 100, 100, 0, 0, 0, 0, 0, 0] }]);
  assert.ok(Math.abs(two.worst - 0.05) < 1e-6 && two.alone === 6 && one.alone === null && two.group === held.groups[0]);
});

test("names are in natural order", () => {
  const nodes = ["n10", "n2", "r1-n3", "n1", "N2"].map((name) => node(name, 0.1));
  assert.deepEqual(names(ordered(nodes, "name")), [["", ["n1", "n2", "N2", "n10", "r1-n3"]]]);
});

test("by loss the worst CPU is first, of equal ones by name", () => {
  const nodes = [node("n10", 0.1), node("n2", 0.1), node("n1", 0.05), node("n3", 0.4)];
  assert.deepEqual(names(ordered(nodes, "loss")), [["", ["n3", "n2", "n10", "n1"]]]);
});

test("by cause each way is a section, that of the largest excess first", () => {
  const nodes = [node("a", 0.1), node("b", 0.1, 0.01, "hypervisor"), node("c", 0.1, 0.02, "other tasks"), node("d", 0.1, 0.03, "hypervisor"), node("e", 0.1, 0.005, "")];
  assert.deepEqual(names(ordered(nodes, "cause")), [["hypervisor", ["d", "b"]], ["other tasks", ["c"]], ["many small ways", ["e"]], ["near the median", ["a"]]]);
});

test("a node is found by a part of its name, the very name first", () => {
  const nodes = ["n12", "N1", "n112"].map((name) => node(name, 0));
  assert.deepEqual(found(nodes, " n1 ").map(({ name }) => name), ["N1", "n12", "n112"]);
  assert.deepEqual([found(nodes, "x"), found(nodes, "  ")], [[], []]);
});

test("CPUs are written as lists", () => {
  assert.deepEqual([cpuList([0, 1, 2, 5, 7, 8]), cpuList([-1, 3]), cpuList([-1])], ["0-2,5,7-8", "3", ""]);
});

test("every node has one place on the map, whatever its size", () => {
  for (const [number, cpus, width, kind] of [[20, 1, 800, "tiles"], [20, 1, 300, "tiles"], [10_000, 1, 800, "squares"], [200, 16, 800, "rows"], [3, 8192, 300, "rows"], [1, 1, 300, "tiles"]]) {
    const nodes = Array.from({ length: number }, (_, k) => node(`n${k}`, 0.1, k % 3 ? 0.01 * k : 0, k % 2 ? "x" : "y", cpus));
    const laid = layout(ordered(nodes, "cause"), width, 600, 60);
    assert.equal(laid.kind, kind);
    assert.equal(laid.lines.reduce((sum, line) => sum + line.nodes.length, 0), number);
    assert.ok(laid.lines.every((line) => line.nodes.length * laid.wide <= width + 20), `${laid.wide} ${width}`);
    assert.ok(laid.label + Math.ceil(laid.columns.length / laid.perCell) * laid.cell <= Math.max(width, laid.wide));
    for (const [k, line] of laid.lines.entries()) assert.equal(lineAt(laid.lines, line.y + line.height - 1), k);
    assert.equal(laid.lines.at(-1).y + laid.lines.at(-1).height, laid.height);
  }
});

test("colours reach from nothing to the worst, and a healthy fleet looks healthy", () => {
  const sick = colourScale([node("a", 0.5), node("b", 0.004), node("c", 0.003)]);
  assert.deepEqual([sick.place(0), sick.place(0.5), sick.ticks], [0, 1, [0, 0.01, 0.05, 0.2, 0.5]]);
  assert.ok(sick.place(0.004) < 0.15, sick.place(0.004));
  const healthy = colourScale([0.003, 0.004, 0.006].map((worst, k) => node(`n${k}`, worst)));
  assert.ok(healthy.place(0.004) < 0.35 && healthy.place(0.006) < 0.5);
});
