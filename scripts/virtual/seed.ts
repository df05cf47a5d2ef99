/** One seed in a process of its own, so that nothing of it reaches the next. Started by run.ts; the result is one JSON line. */

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

async function main(order: SeedOrder): Promise<SeedResult> {
  const { seed, hours, happenings, isFlood } = order;
  const drawn = isFlood ? drawFlood(seed, hours) : drawSeed(seed, hours, new Set(happenings));
  const programs = { agent: new Program(order.agent), plant: new Program(order.plant) };
  const outcome = await runTrial({ ...order, ...programs, drawn });
  return { ...outcome, cpuS: process.cpuUsage().user / 1e6 };
}

main(JSON.parse(process.argv[2] ?? "") as SeedOrder).then(
  (result) => {
    process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`, () =>
      process.exit(2),
    );
  },
);
