/** Random sequences of readings, cuts and hosts that come and go. A longer run: `npm run model -- --of sparkplug`. */
import { test } from "node:test";
import fc from "fast-check";
import { skipWithoutMosquitto as skip } from "../../support/mosquitto.ts";
import { runNodeSequence } from "./model.ts";
import { nodeSequences } from "./model-steps.ts";

const RUNS = 6;
const SEED = 20_261_122;

test("sparkplug – whatever is cut and whoever is away, the host understands every message and gets every reading", {
  skip,
}, async () => {
  await fc.assert(fc.asyncProperty(nodeSequences, runNodeSequence), {
    numRuns: RUNS,
    seed: SEED,
  });
});
