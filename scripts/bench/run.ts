/**
 * `npm run bench`: every target of the project as a row, both sides of each ratio in one run, medians of pairs.
 *
 *   npm run bench -- [--only 1,5,12] [--pairs 3] [--quick] [--full] [--program DIR]
 *
 * Chapters that mostly wait, because sensors report at a fixed cadence, run at the same time after all others.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, tmpdir, totalmem } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { NODE_FLAGS } from "./agent-process.ts";
import { dayReaderRows } from "./day-reader.ts";
import { drainRows } from "./drain.ts";
import { installNodeRed } from "./node-red.ts";
import type { BenchOptions, Outcome, Row } from "./plant.ts";
import { answerRows } from "./rows-answers.ts";
import { bigRows } from "./rows-big.ts";
import { firstViewRows, fullIdleRows, reloadRows } from "./rows-felt.ts";
import { backfillRows, cadenceRows, idleRows } from "./rows-live.ts";
import { machineRows } from "./rows-machines.ts";
import { ownPaceRows } from "./rows-own-pace.ts";
import { roundRows, steadyRows } from "./rows-rounds.ts";
import { scaleRows } from "./rows-scale.ts";
import { firstStartRows, largeSiteRows } from "./rows-sites.ts";
import { fullStartRows } from "./rows-start.ts";
import { storeWriteRows, writeRows } from "./rows-writes.ts";
import { hourCostRows, yearsRows } from "./rows-years.ts";
import { storeRows } from "./store.ts";
import { vibrationRows } from "./vibration.ts";

interface Chapter {
  readonly targets: readonly string[];
  readonly title: string;
  readonly needsNodeRed?: boolean;
  /** Waits for sensors most of the time: a core is nearly idle. */
  readonly isWaiting?: boolean;
  readonly isFullOnly?: boolean;
  measure(options: BenchOptions): Promise<Outcome>;
}

const CHAPTERS: readonly Chapter[] = [
  { targets: ["2", "8"], title: "recognising a day, reading samples", measure: dayReaderRows },
  { targets: ["9"], title: "the values of a vibration record", measure: vibrationRows },
  { targets: ["4"], title: "draining the outbox", measure: drainRows },
  {
    targets: ["w"],
    title: "the store beside a bare writer",
    isFullOnly: true,
    measure: storeRows,
  },
  {
    targets: ["1", "5", "6", "7", "10"],
    title: "the whole agent beside Node-RED",
    needsNodeRed: true,
    measure: roundRows,
  },
  {
    targets: ["6s"],
    title: "days one after the other beside Node-RED",
    needsNodeRed: true,
    measure: steadyRows,
  },
  { targets: ["1o", "10o", "1s", "10s"], title: "the agent at its own pace", measure: ownPaceRows },
  { targets: ["5c"], title: "sensors at their own times, store alone", measure: storeWriteRows },
  { targets: ["5h"], title: "the cost of hourly values", measure: hourCostRows },
  { targets: ["15"], title: "ten years of hours, a year of spectra", measure: yearsRows },
  { targets: ["16", "17"], title: "answers of the query service", measure: answerRows },
  { targets: ["19"], title: "a reload that adds one of 2,001 sensors", measure: reloadRows },
  { targets: ["20"], title: "a start of 2,000 sensors with a full buffer", measure: fullStartRows },
  { targets: ["21"], title: "first view of the dashboard", measure: firstViewRows },
  { targets: ["3", "7b"], title: "big rounds", measure: bigRows },
  { targets: ["24"], title: "the conditions of machines", measure: machineRows },
  { targets: ["12b"], title: "a week of waveforms", measure: backfillRows },
  { targets: ["13"], title: "scale", measure: scaleRows },
  { targets: ["13c"], title: "first start, 2,000 sensors", measure: firstStartRows },
  { targets: ["13d"], title: "2,000 sensors with their history", measure: largeSiteRows },
  {
    targets: ["11", "12"],
    title: "sensors of fixed cadence",
    isWaiting: true,
    measure: cadenceRows,
  },
  { targets: ["14"], title: "idle", isWaiting: true, measure: idleRows },
  { targets: ["23"], title: "idle with everything on", isWaiting: true, measure: fullIdleRows },
  {
    targets: ["5d"],
    title: "sensors at their own times",
    isWaiting: true,
    isFullOnly: true,
    measure: writeRows,
  },
];

function machine(): string {
  const model = cpus()[0]?.model ?? "?";
  const load = loadavg()
    .map((value) => value.toFixed(1))
    .join(" ");
  let mosquitto = "?";
  try {
    execFileSync("/usr/sbin/mosquitto", ["-h"], { encoding: "utf8" });
  } catch (error) {
    const { stdout } = error as { stdout?: string };
    mosquitto = /version (\S+)/.exec(stdout ?? "")?.[1] ?? "?";
  }
  return `${cpus().length} x ${model}, ${(totalmem() / 1e9).toFixed(0)} GB, Linux ${release()}, Node ${process.version}, mosquitto ${mosquitto}; load at the start ${load}`;
}

/** Included in the packages: it returns memory to the kernel that only the start needed. Without it row 14 is 30 MB higher. */
function addNativeModule(program: string): void {
  const headers = join(dirname(process.execPath), "..", "include", "node");
  const output = join(program, "sdnotify.node");
  const words = ["-O2", "-shared", "-fPIC", `-I${headers}`, join("native", "sdnotify.c")];
  try {
    execFileSync("cc", [...words, "-s", "-o", output], { stdio: "pipe" });
  } catch {
    console.log("native/sdnotify.c cannot be compiled here: memory is measured without it");
  }
}

/** As the package does during installation. */
function addCodeCache(program: string): void {
  const launcher = join(program, "launch.js");
  if (!existsSync(launcher)) return;
  execFileSync(process.execPath, [...NODE_FLAGS, launcher, "--write-cache"], { stdio: "ignore" });
}

const isMet = ({ measured, limit, sense }: Row) =>
  sense === "<=" ? measured <= limit : measured >= limit;

function line(row: Row): string {
  const { target, what, measured, limit, sense, digits = 2, unit = "", note = "" } = row;
  const tail = unit === "" ? "" : ` ${unit}`;
  const judged = Number.isNaN(measured) ? "not measured" : isMet(row) ? "met" : "not met";
  // These show what something costs; they have no target.
  const verdict = ["w", "1s", "10s"].includes(target) ? "no target" : judged;
  return `| ${[target, what, `${sense} ${limit}${tail}`, `${measured.toFixed(digits)}${tail}`, verdict, note].join(" | ")} |`;
}

const USAGE = `Usage: npm run bench -- [--only ROWS] [--pairs N] [--quick] [--full] [--program DIR]

  --only ROWS    some rows of docs/benchmarks.md, comma-separated
  --pairs N      how often a row that compares two programs runs each of them
  --quick        smaller loads, two pairs
  --full         larger loads, and the rows that take long
  --program DIR  the built program to measure (default dist)
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      pairs: { type: "string" },
      quick: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      program: { type: "string", default: "dist" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  if (!existsSync(join(values.program, "gateside.js"))) {
    throw new Error(`${values.program}/gateside.js is not built: npm run build`);
  }
  const wanted = values.only?.split(",");
  const chapters = CHAPTERS.filter(({ targets, isFullOnly = false }) =>
    wanted === undefined
      ? values.full || !isFullOnly
      : targets.some((target) => wanted.includes(target)),
  );
  const noNodeRed = chapters.some(({ needsNodeRed }) => needsNodeRed)
    ? await installNodeRed()
    : null;
  if (noNodeRed !== null) console.log(`skipped: rows beside Node-RED, for ${noNodeRed}`);
  const directory = mkdtempSync(join(tmpdir(), "gateside-bench-"));
  // A copy, so that a concurrent build changes nothing.
  const program = join(directory, "program");
  cpSync(resolve(values.program), program, { recursive: true });
  addNativeModule(program);
  addCodeCache(program);
  const options: BenchOptions = {
    program,
    directory,
    isQuick: values.quick,
    isFull: values.full,
    noNodeRed,
    pairs: Number(values.pairs ?? (values.quick ? 2 : 3)),
    say: (text) => process.stderr.write(`  ${text}\n`),
  };
  const head = machine();
  console.log(`${head}\n`);
  console.log("| row | figure | target | measured | verdict | details |");
  console.log("| --- | --- | --- | --- | --- | --- |");
  const outcomes: Record<string, unknown> = {};
  const startedAt = new Date();
  try {
    const measure = async (chapter: Chapter) => {
      const beganAt = performance.now();
      process.stderr.write(`${chapter.title}\n`);
      try {
        const { rows, raw } = await chapter.measure(options);
        for (const row of rows) console.log(line(row));
        const seconds = Math.round((performance.now() - beganAt) / 1000);
        outcomes[chapter.title] = { rows, raw, load: loadavg(), seconds };
        process.stderr.write(`${chapter.title}: ${seconds} s\n`);
      } catch (error) {
        // A wrong count is a bug of the program under test: no figure is shown for it.
        console.log(
          `| ${chapter.targets.join(", ")} | ${chapter.title} | | | failed | ${String(error).split("\n")[0]} |`,
        );
        process.exitCode = 1;
      }
    };
    for (const chapter of chapters) if (chapter.isWaiting !== true) await measure(chapter);
    await Promise.all(chapters.filter(({ isWaiting }) => isWaiting === true).map(measure));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  mkdirSync("bench-results", { recursive: true });
  const file = join("bench-results", `${startedAt.toISOString().replace(/[:.]/g, "-")}.json`);
  writeFileSync(file, `${JSON.stringify({ machine: head, options: values, outcomes }, null, 1)}\n`);
  const minutes = (Date.now() - startedAt.getTime()) / 60_000;
  console.log(`\n${minutes.toFixed(1)} minutes; raw figures: ${file}`);
}

void main();
