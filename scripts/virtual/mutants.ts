/** Shows that seeds notice: breaks one promise at a time, and runs seeds until one fails. */
import { join } from "node:path";
import { BREAKS } from "../chaos/breaks.ts";
import type { Orders } from "./command-line.ts";
import { bundleAgent } from "./program.ts";
import { type Place, runSeed } from "./seed-process.ts";

/** Sparkplug messages are not broken in virtual time: only some seeds have a host. */
const CANDIDATES = BREAKS.filter(({ formats }) => formats === "json");

export async function runMutants(
  orders: Orders,
  words: string,
  place: Place,
  tell: (line: string) => void,
): Promise<number> {
  let unnoticed = 0;
  for (const one of CANDIDATES.filter(({ what }) => what.includes(words))) {
    const agent = join(place.directory, "mutant.cjs");
    await bundleAgent(".", agent, [one]);
    let noticed: string | null = null;
    for (const seed of orders.seeds) {
      const { failures } = await runSeed(orders, { ...place, agent }, seed, null);
      const failure = failures[0] ?? null;
      if (failure === null) continue;
      noticed = `noticed by seed ${seed}: ${one.what}: ${failure}`;
      break;
    }
    if (noticed === null) unnoticed += 1;
    tell(noticed ?? `NOT NOTICED: ${one.what}`);
  }
  return unnoticed === 0 ? 0 : 1;
}
