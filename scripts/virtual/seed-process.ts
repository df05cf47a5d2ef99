/** Runs seeds in their own processes. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Orders } from "./command-line.ts";
import type { SeedOrder, SeedResult } from "./seed.ts";
import type { YearsOrder } from "./years.ts";

/** The bundles, and where trials keep their files. */
export interface Place {
  readonly directory: string;
  readonly agent: string;
  readonly plant: string;
}

/** Starting a process takes a second of CPU; in the end, what it remembers of earlier seeds would cost more. */
const SEEDS_PER_PROCESS = 20;

/** Each process has a core of its own, so helpers of the garbage collector would take another's; what lives is small. */
const ENGINE = ["--single-threaded-gc", "--max-semi-space-size=64", "--import", "tsx"];

interface SeedProcess {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  readonly lines: AsyncIterator<string>;
  left: number;
}

const idle: SeedProcess[] = [];
let trials = 0;

function startProcess(): SeedProcess {
  const script = join(import.meta.dirname, "seed.ts");
  const child = spawn(process.execPath, [...ENGINE, script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, lines, left: SEEDS_PER_PROCESS };
}

/** `files`: where the journal and the rows of the store are written; null: nowhere. */
export async function runSeed(
  { hours, happenings, isFlood }: Pick<Orders, "hours" | "happenings" | "isFlood">,
  { directory, agent, plant }: Place,
  seed: number,
  files: string | null,
): Promise<SeedResult> {
  const order: SeedOrder = {
    seed,
    hours,
    happenings,
    isFlood,
    agent,
    plant,
    directory: join(directory, `trial-${++trials}`),
    journalPath: files,
    rowsPath: files === null ? null : `${files}.rows`,
  };
  const one = idle.pop() ?? startProcess();
  one.child.stdin.write(`${JSON.stringify(order)}\n`);
  const { value, done } = await one.lines.next();
  if (done === true) throw new Error(`seed ${seed} did not end: its process did`);
  one.left -= 1;
  if (one.left > 0) idle.push(one);
  else one.child.stdin.end();
  return JSON.parse(value) as SeedResult;
}

/** Exit code. */
export function runYears(
  order: Omit<YearsOrder, "agent" | "plant" | "directory">,
  { directory, agent, plant }: Place,
): Promise<number> {
  const whole: YearsOrder = { ...order, agent, plant, directory: join(directory, "years") };
  const script = join(import.meta.dirname, "years.ts");
  const words = ["--expose-gc", ...ENGINE, script, JSON.stringify(whole)];
  const child = spawn(process.execPath, words, { stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 2));
  });
}
