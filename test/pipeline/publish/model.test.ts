/** Random sequences of readings, cuts and restarts with a real broker. A longer run: `npm run model -- --of link`. */
import { test } from "node:test";
import fc from "fast-check";
import { openBench } from "../../support/link-model/bench.ts";
import { runLinkSequence } from "../../support/link-model/run-sequence.ts";
import { FILLED_IN_FLIGHT, linkSequences } from "../../support/link-model/steps.ts";
import { skipWithoutMosquitto as skip } from "../../support/mosquitto.ts";

const RUNS = 25;
const SEED = 20_261_122;

test("publisher – whatever is cut, held and restarted, every reading arrives and no live topic goes back", {
  skip,
}, async (t) => {
  const bench = await openBench();
  t.after(() => bench.close());
  await fc.assert(
    fc.asyncProperty(linkSequences, (sequence) => runLinkSequence(bench, sequence)),
    { numRuns: RUNS, seed: SEED, examples: [[FILLED_IN_FLIGHT]] },
  );
});
