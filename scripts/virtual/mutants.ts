/** Shows that seeds notice: breaks one promise at a time, and runs seeds until one fails that holds without the break. */
import { join } from "node:path";
import { BREAKS, type Break } from "../chaos/breaks.ts";
import type { Orders } from "./command-line.ts";
import { bundleAgent } from "./program.ts";
import { type Place, runSeed } from "./seed-process.ts";

export async function runMutants(
  orders: Orders,
  words: string,
  place: Place,
  tell: (line: string) => void,
): Promise<number> {
  let unnoticed = 0;
  tell("| broken | noticed by seed | hours | by |\n| --- | --- | --- | --- |");
  for (const one of BREAKS.filter(({ what }) => what.includes(words))) {
    const noticed = await notice(orders, one, place);
    if (noticed === null) unnoticed += 1;
    tell(`| ${one.what} | ${noticed ?? "NONE | |"} |`);
  }
  return unnoticed === 0 ? 0 : 1;
}

/** By default the one seed that is known to notice it, so that this takes seconds. */
async function notice(orders: Orders, one: Break, place: Place): Promise<string | null> {
  const known = orders.areSeedsGiven ? null : one.virtual;
  const hours = known?.hours ?? orders.hours;
  const seeds = known === null ? orders.seeds : [known.seed];
  const agent = join(place.directory, `mutant-${BREAKS.indexOf(one)}.cjs`);
  await bundleAgent(".", agent, [one]);
  for (const seed of seeds) {
    const order = { ...orders, hours };
    const [failure] = (await runSeed(order, { ...place, agent }, seed, null)).failures;
    if (failure === undefined) continue;
    const [own] = (await runSeed(order, place, seed, null)).failures;
    if (own === undefined) return `${seed} | ${hours} | ${failure}`;
  }
  return null;
}
