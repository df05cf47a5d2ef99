/** Random lives of a poller, beside a plain model of what it owes. A longer run: `npm run model -- --of poll`. */
import { test } from "node:test";
import fc from "fast-check";
import { EXAMPLES } from "../../support/poll-model/examples.ts";
import { runPollSequence } from "../../support/poll-model/run-sequence.ts";
import { pollSequences } from "../../support/poll-model/steps.ts";

/** A number and not a time: a fast machine finds no more than a slow one. */
const RUNS = 10;
const SEED = 20_261_129;

for (const [name, sequence] of EXAMPLES)
  test(`poller – nothing waits for ever: ${name}`, () => runPollSequence(sequence));

test("poller – whatever clocks, days and sensors do, each present day is read in time, no record is left, and every job ends", async () => {
  await fc.assert(fc.asyncProperty(pollSequences, runPollSequence), { numRuns: RUNS, seed: SEED });
});
