/** Seeds in their own process, one after another: each line of its input is an order, each line of its output a result. */

import { createInterface } from "node:readline";
import { drawFlood, drawSeed } from "./draw.ts";
import type { HappeningName } from "./happenings.ts";
import { Program } from "./program.ts";
import { type Outcome, runTrial } from "./trial.ts";

export interface SeedOrder {
  readonly seed: number;
  readonly hours: number;
  readonly happenings: readonly HappeningName[];
  readonly isFlood: boolean;
  /** Bundles. */
  readonly agent: string;
  readonly plant: string;
  /** Does not exist yet. */
  readonly directory: string;
  readonly journalPath: string | null;
  readonly rowsPath: string | null;
}

export interface SeedResult extends Outcome {
  readonly cpuS: number;
}

const programs = new Map<string, Program>();

/** Compiled once; a path never gets another program. */
function programAt(path: string): Program {
  const program = programs.get(path) ?? new Program(path);
  programs.set(path, program);
  return program;
}

async function run(order: SeedOrder): Promise<SeedResult> {
  const { seed, hours, happenings, isFlood } = order;
  const before = process.cpuUsage();
  const drawn = isFlood ? drawFlood(seed, hours) : drawSeed(seed, hours, new Set(happenings));
  const both = { agent: programAt(order.agent), plant: programAt(order.plant) };
  const outcome = await runTrial({ ...order, ...both, drawn });
  return { ...outcome, cpuS: process.cpuUsage(before).user / 1e6 };
}

async function main(): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    const result = await run(JSON.parse(line) as SeedOrder);
    process.stdout.write(`${JSON.stringify(result)}\n`);
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`, () =>
      process.exit(2),
    );
  },
);
