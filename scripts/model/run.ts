/**
 * npm run model -- --minutes N --seed S: the random test of the store for longer (test/support/store-model). With
 * `--runs N` a slow machine does what a fast one does.
 */
import { parseArgs } from "node:util";
import fc from "fast-check";
import { runSequence } from "../../test/support/store-model/run-sequence.ts";
import { type Sequence, sequences } from "../../test/support/store-model/steps.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string" },
    runs: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    path: { type: "string", default: "" },
  },
});
const seed = Number(values.seed);
const minutes = values.minutes ?? (values.runs === undefined ? "10" : null);
let count = 0;
const counted = (sequence: Sequence) => {
  count += 1;
  return runSequence(sequence);
};
process.stdout.write(`seed ${seed}\n`);
const result = await fc.check(fc.asyncProperty(sequences, counted), {
  numRuns: Number(values.runs ?? Number.MAX_SAFE_INTEGER),
  ...(minutes === null ? {} : { interruptAfterTimeLimit: Number(minutes) * 60_000 }),
  seed,
  path: values.path,
});
const found =
  result.counterexample === null
    ? "nothing found"
    : `${fc.defaultReportMessage(result)}\n${result.errorInstance}`;
process.stdout.write(`${count} sequences (with those that shorten a failure): ${found}\n`);
process.exit(result.counterexample === null ? 0 : 1);
