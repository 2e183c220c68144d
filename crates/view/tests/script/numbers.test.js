// The page writes numbers as the program does: `src/numbers.rs` is held to the same table.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as numbers from "../../src/html/script/numbers.js";

const FUNCTIONS = {
  count: numbers.whole,
  duration: numbers.duration,
  duration_fine: numbers.durationFine,
  duration_round: numbers.durationRound,
  frequency: numbers.frequency,
  frequency_round: numbers.frequencyRound,
  pace: numbers.pace,
  percent: numbers.percent,
  plural: numbers.plural,
  significant: numbers.significant,
};

for (const [name, of, text] of JSON.parse(readFileSync(new URL("../numbers.json", import.meta.url), "utf8"))) {
  test(`${name} of ${JSON.stringify(of)}`, () => assert.equal(FUNCTIONS[name](...of), text));
}
