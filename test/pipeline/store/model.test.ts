/** Random sequences on a real store, beside a plain model of what it owes. A longer run: `npm run model`. */
import { test } from "node:test";
import fc from "fast-check";
import { EXAMPLES } from "../../support/store-model/examples.ts";
import { runSequence } from "../../support/store-model/run-sequence.ts";
import { sequences } from "../../support/store-model/steps.ts";

/** By the wall clock. CI runs it for longer, by the seed of its tree. */
const SECONDS = Number(process.env.MODEL_SECONDS ?? 10);
const { MODEL_SEED } = process.env;

for (const [name, sequence] of EXAMPLES)
  test(`store – nothing is lost, doubled or stuck: ${name}`, () => runSequence(sequence));

test("store – what random sequences leave is what a plain model says", async () => {
  await fc.assert(fc.asyncProperty(sequences, runSequence), {
    numRuns: 1_000_000,
    interruptAfterTimeLimit: SECONDS * 1000,
    ...(MODEL_SEED === undefined ? {} : { seed: Number(MODEL_SEED) }),
  });
});
