/** Random sequences on a real store, beside a plain model of what it owes. A longer run: `npm run model`. */
import { test } from "node:test";
import fc from "fast-check";
import { EXAMPLES } from "../../support/store-model/examples.ts";
import { runSequence } from "../../support/store-model/run-sequence.ts";
import { sequences } from "../../support/store-model/steps.ts";

/** A number and not a time: a fast machine finds no more than a slow one. */
const RUNS = 80;
const SEED = 20_261_122;

for (const [name, sequence] of EXAMPLES)
  test(`store – nothing is lost, doubled or stuck: ${name}`, () => runSequence(sequence));

test("store – what random sequences leave is what a plain model says", async () => {
  await fc.assert(fc.asyncProperty(sequences, runSequence), { numRuns: RUNS, seed: SEED });
});
