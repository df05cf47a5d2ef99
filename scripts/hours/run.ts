/**
 * `npm run hours`: runs the tests that touch the time at every hour of a Monday, and at the borders of days, weeks, months, years and
 * daylight saving, with the machine in several zones. Needs libfaketime. Prints a row for each moment.
 */
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { fakeTimeLibrary } from "../../test/support/fake-time.ts";
import { SeededRandom } from "../chaos/random.ts";
import { MOMENTS, type Moment } from "./moments.ts";
import { timedTests } from "./timed-tests.ts";

const HELP = `npm run hours -- [options] [tests]: runs the tests that touch the time at many moments, under libfaketime.

  --sample N     N of the moments, each with an eighth of the tests
  --share N      each moment with one Nth of the tests (default 1, all)
  --seed N       which moments and tests those are; printed, and random without it
  --moment TEXT  only the moments whose name, time or zone contains TEXT
  tests          only the tests whose path below test/ contains one of these

Prints a row for each moment, followed by what failed. Exit code 0: nothing failed; 1: something did; 2: cannot run.
`;
const SHARE_OF_SAMPLE = 8;
const ROOT = resolve(import.meta.dirname, "../..");

interface Outcome {
  readonly tests: number;
  readonly failed: number;
  /** What failed, and why. */
  readonly report: string;
}

/** In an order that the seed decides. */
function shuffled<T>(list: readonly T[], random: SeededRandom): T[] {
  return list
    .map((item) => ({ item, rank: random.next() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

/** Runs the tests with the clock set so that it shows the moment now. */
async function runAt(moment: Moment, tests: readonly string[], library: string): Promise<Outcome> {
  const offsetS = Math.round((Date.parse(moment.at) - Date.now()) / 1000);
  const child = spawn(process.execPath, ["scripts/test/run.mjs", ...tests], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      LD_PRELOAD: library,
      FAKETIME: `${offsetS < 0 ? "" : "+"}${offsetS}`,
      // Timers and deadlines need the real one.
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      // Otherwise Chromium waits for nothing and keeps the cores busy.
      FAKETIME_FORCE_MONOTONIC_FIX: "0",
      TZ: moment.zone,
    },
  });
  let [output, summary] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk: Buffer) => {
    summary += chunk;
  });
  const code = await new Promise<number | null>((done) => child.on("close", done));
  const count = (what: string) => Number(new RegExp(`^# ${what} (\\d+)$`, "m").exec(output)?.[1]);
  const hasFailed = /^# \d+ failed$/m.exec(summary);
  // Whatever passed when it was run again has not failed.
  const failed = code === 0 ? 0 : Math.max(1, count("fail") + count("cancelled") || 0);
  return {
    tests: count("tests") || 0,
    failed,
    report: summary.slice(hasFailed?.index ?? Infinity),
  };
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      sample: { type: "string" },
      share: { type: "string" },
      seed: { type: "string" },
      moment: { type: "string", default: "" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const library = fakeTimeLibrary();
  if (library === null) {
    console.error("skipped - needs libfaketime");
    return process.env["GATESIDE_TESTS_MISSING"] ? 0 : 2;
  }
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1e6));
  const random = new SeededRandom(seed);
  const { sample } = values;
  const named = MOMENTS.filter((moment) => Object.values(moment).join(" ").includes(values.moment));
  const moments = sample === undefined ? named : shuffled(named, random).slice(0, Number(sample));
  const share = Number(values.share ?? (sample === undefined ? 1 : SHARE_OF_SAMPLE));
  const all = timedTests(ROOT).filter(
    (test) => positionals.length === 0 || positionals.some((part) => test.includes(part)),
  );
  const dealt = shuffled(all, random);
  console.log(
    `Seed ${seed}: ${moments.length} moments, each with ${Math.ceil(all.length / share)} of ${all.length} test files\n`,
  );
  console.log(
    "| moment | begins at (UTC) | TZ | tests | failed |\n| --- | --- | --- | --- | --- |",
  );
  let failures = 0;
  for (const [n, moment] of moments.entries()) {
    const tests = dealt.filter((_, i) => (i + n) % share === 0);
    const { tests: count, failed, report } = await runAt(moment, tests, library);
    failures += failed;
    const at = moment.at.replace("T", " ").replace(/:00Z$/, "");
    console.log(`| ${[moment.name, at, moment.zone, count, failed].join(" | ")} |`);
    if (report !== "") console.log(report);
  }
  return failures === 0 ? 0 : 1;
}

process.exitCode = await main();
