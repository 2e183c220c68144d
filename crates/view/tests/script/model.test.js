// The page reads what `src/html/data.rs` writes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";

// What the modules ask of a browser as they load.
globalThis.ResizeObserver = class {};
globalThis.document = { addEventListener() {} };
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
const { load, model } = await import("../../src/html/script/model.js");

/** A number as `codec.rs` writes it. */
function leb128(number) {
  const bytes = [];
  for (let rest = BigInt(number); bytes.length === 0 || rest > 0n; rest >>= 7n) bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
  return bytes;
}

const signed = (number) => leb128(number < 0 ? -2n * BigInt(number) - 1n : 2n * BigInt(number));

/** The series that the page makes of the columns of one stretch of quanta. */
async function read(about, columns, reported = {}) {
  const series = {
    ticks_per_ns: 1, quantum_ticks: 1000, stretches: 1, with_gaps: 0, with_measurement: 0, marks: 0, causes: [], edges: 0,
    spectrum: 0, step_hz: 1, windows: 0, density: [0, 0, 0, 0], cells: 0, bins: 0, label: "", complete: true, all_marks: true, ...about,
  };
  const report = { series: [{ ledger: { gaps_ns: {} }, ...reported }] };
  const textContent = JSON.stringify({ report, measured: [], changes: null, series: [series] });
  const block = { textContent: deflateSync(Uint8Array.from(columns)).toString("base64") };
  globalThis.document = { getElementById: () => ({ textContent }), querySelectorAll: () => [block] };
  await load();
  return model.series[0];
}

test("a quantum longer than a difference holds keeps its length", async () => {
  const quantum_ticks = 1000;
  const lengths = [1000, 1.5 * 2 ** 52, 0, 999];
  const differences = lengths.flatMap((ticks) => (ticks > 0 && ticks < 2 ** 52 ? signed(ticks - quantum_ticks) : [...signed(-quantum_ticks), ...leb128(ticks)]));
  // One stretch; lengths; counts.
  const columns = [0, lengths.length, ...differences, ...lengths.flatMap(() => signed(0))];
  const { lengthNs } = await read({ quantum_ticks, quanta: lengths.length }, columns);
  assert.deepEqual([...lengthNs], lengths);
});

test("what gaps left too little of, and what hides an absence, has no pace", async () => {
  // One stretch; lengths; a gap of 751 ticks in the third quantum; counts of 10, 40 and 3.
  const columns = [0, 3, ...[1000, 4001, 1000].flatMap((ticks) => signed(ticks - 1000)), 2, ...leb128(751), 1, ...signed(10), ...signed(0), ...signed(0)];
  const paces = async (gaps_known) => [...(await read({ quanta: 3, with_gaps: 1 }, columns, { gaps_known })).pace];
  assert.deepEqual(await paces(false), [100, NaN, NaN]);
  assert.deepEqual(await paces(true), [100, Math.fround(4001 / 40), NaN]);
});
