/**
 * npm run model -- --of store|poll|link|sparkplug --minutes N --seed S: random sequences for longer than the tests have
 * (test/support/store-model, poll-model, link-model; test/features/sparkplug/model.ts). With `--runs N` a slow machine does what a
 * fast one does.
 */
import { parseArgs } from "node:util";
import fc from "fast-check";
import { runNodeSequence } from "../../test/features/sparkplug/model.ts";
import { nodeSequences } from "../../test/features/sparkplug/model-steps.ts";
import { openBench } from "../../test/support/link-model/bench.ts";
import { runLinkSequence } from "../../test/support/link-model/run-sequence.ts";
import { linkSequences } from "../../test/support/link-model/steps.ts";
import { runPollSequence } from "../../test/support/poll-model/run-sequence.ts";
import { pollSequences } from "../../test/support/poll-model/steps.ts";
import { runSequence } from "../../test/support/store-model/run-sequence.ts";
import { sequences } from "../../test/support/store-model/steps.ts";

const { values } = parseArgs({
  options: {
    of: { type: "string", default: "store" },
    minutes: { type: "string" },
    runs: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    path: { type: "string", default: "" },
    help: { type: "boolean", default: false },
  },
});

let count = 0;
/** Returns whether nothing was found. */
async function search<T>(arbitrary: fc.Arbitrary<T>, run: (sequence: T) => Promise<void>) {
  const minutes = values.minutes ?? (values.runs === undefined ? "10" : null);
  const counted = (sequence: T) => {
    count += 1;
    return run(sequence);
  };
  const result = await fc.check(fc.asyncProperty(arbitrary, counted), {
    numRuns: Number(values.runs ?? Number.MAX_SAFE_INTEGER),
    ...(minutes === null ? {} : { interruptAfterTimeLimit: Number(minutes) * 60_000 }),
    seed: Number(values.seed),
    path: values.path,
  });
  const found =
    result.counterexample === null
      ? "nothing found"
      : `${fc.defaultReportMessage(result)}\n${result.errorInstance}`;
  process.stdout.write(`${count} sequences (with those that shorten a failure): ${found}\n`);
  return result.counterexample === null;
}

const MODELS: Readonly<Record<string, () => Promise<boolean>>> = {
  store: () => search(sequences, runSequence),
  poll: () => search(pollSequences, runPollSequence),
  async link() {
    const bench = await openBench();
    const isSound = await search(linkSequences, (sequence) => runLinkSequence(bench, sequence));
    await bench.close();
    return isSound;
  },
  sparkplug: () => search(nodeSequences, runNodeSequence),
};

const USAGE = `npm run model -- [--of ${Object.keys(MODELS).join("|")}] [--minutes N | --runs N] [--seed S] [--path PATH] [--help]
`;

if (values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const model = MODELS[values.of];
if (model === undefined) throw new Error(`--of is one of ${Object.keys(MODELS).join(", ")}`);
process.stdout.write(`seed ${values.seed}\n`);
process.exit((await model()) ? 0 : 1);
