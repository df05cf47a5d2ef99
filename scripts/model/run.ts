/** npm run model -- --minutes N --seed S: the random test of the store for longer (test/support/store-model). */
import { parseArgs } from "node:util";
import fc from "fast-check";
import { runSequence } from "../../test/support/store-model/run-sequence.ts";
import { type Sequence, sequences } from "../../test/support/store-model/steps.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    path: { type: "string", default: "" },
  },
});
const seed = Number(values.seed);
let count = 0;
const counted = (sequence: Sequence) => {
  count += 1;
  return runSequence(sequence);
};
process.stdout.write(`seed ${seed}\n`);
const result = await fc.check(fc.asyncProperty(sequences, counted), {
  numRuns: Number.MAX_SAFE_INTEGER,
  interruptAfterTimeLimit: Number(values.minutes) * 60_000,
  seed,
  path: values.path,
});
const found =
  result.counterexample === null
    ? "nothing found"
    : `${fc.defaultReportMessage(result)}\n${result.errorInstance}`;
process.stdout.write(`${count} sequences (with those that shorten a failure): ${found}\n`);
process.exit(result.counterexample === null ? 0 : 1);
