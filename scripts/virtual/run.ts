/** npm run virtual: see HELP in command-line.ts. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleCommit, firstDifference } from "./against.ts";
import { HELP, type Orders, readCommandLine } from "./command-line.ts";
import { runMutants } from "./mutants.ts";
import { bundleAgent, bundlePlant } from "./program.ts";
import type { SeedResult } from "./seed.ts";
import { type Place, runSeed, runYears } from "./seed-process.ts";

const tell = (line: string) => void process.stdout.write(`${line}\n`);
const FAILURES_MAX = 10;

async function main(): Promise<number> {
  const orders = readCommandLine(process.argv.slice(2));
  if (orders === null) {
    process.stdout.write(HELP);
    return 0;
  }
  // In memory where possible: every commit is a sync.
  const directory = mkdtempSync(
    join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "gateside-virtual-"),
  );
  try {
    const place = {
      directory,
      agent: join(directory, "agent.cjs"),
      plant: join(directory, "plant.cjs"),
    };
    await bundleAgent(".", place.agent);
    await bundlePlant(place.plant);
    if (orders.years !== null) return await runMonths(orders.years, place);
    if (orders.mutants !== null) return await runMutants(orders, orders.mutants, place, tell);
    const other = orders.against === null ? null : await bundleCommit(orders.against, directory);
    return await runSeeds(orders, place, other);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** With a store that was kept, the same days once with it and once with a new one. */
async function runMonths(
  { from, ...order }: NonNullable<Orders["years"]>,
  place: Place,
): Promise<number> {
  if (from === null) return await runYears({ ...order, from }, place);
  let code = 0;
  for (const isUsed of [true, false]) {
    tell(isUsed ? `with ${from}` : "with a new store");
    code = Math.max(code, await runYears({ ...order, from: { store: from, isUsed } }, place));
  }
  return code;
}

/** `other`: the agent of another commit. */
async function runSeeds(orders: Orders, place: Place, other: string | null): Promise<number> {
  const startedAt = Date.now();
  const waiting = [...orders.seeds];
  if (orders.journalDir !== null) mkdirSync(orders.journalDir, { recursive: true });
  const totals = { seeds: 0, failed: 0, hours: 0, readings: 0, cpuS: 0 };
  tell(
    "| seed | happened | starts | readings | events | repeats | given up | virtual h | CPU s | journal |",
  );
  tell(`|${" --- |".repeat(10)}`);
  const work = async () => {
    for (;;) {
      const seed = waiting.shift();
      if (seed === undefined || Date.now() - startedAt > orders.atMostMs) return;
      const files = orders.journalDir ?? (other === null ? null : place.directory);
      const journal = files === null ? null : join(files, `seed-${seed}`);
      const result = await runSeed(orders, place, seed, journal);
      const failures = [...result.failures];
      if (orders.isTwice) {
        const again = await runSeed(orders, place, seed, null);
        if (again.digest !== result.digest) failures.push("the same seed gave another journal");
      }
      if (other !== null && journal !== null) {
        await runSeed(orders, { ...place, agent: other }, seed, `${journal}.other`);
        const difference = firstDifference(journal, `${journal}.other`, result.happened > 0);
        if (difference !== null) failures.push(`${orders.against} differs: ${difference}`);
      }
      tellResult(orders, { ...result, failures });
      totals.seeds += 1;
      totals.failed += failures.length > 0 ? 1 : 0;
      totals.hours += result.virtualHours;
      totals.readings += result.received;
      totals.cpuS += result.cpuS;
    }
  };
  await Promise.all(Array.from({ length: orders.jobs }, work));
  tell(
    `${totals.seeds} seeds, ${totals.failed} failed; ${totals.hours.toFixed(0)} virtual hours, ${totals.readings} readings, ${totals.cpuS.toFixed(0)} s of CPU`,
  );
  return totals.failed === 0 ? 0 : 1;
}

function tellResult(orders: Orders, result: SeedResult): void {
  const {
    seed,
    happened,
    starts,
    received,
    events,
    repeats,
    dropped,
    virtualHours,
    cpuS,
    digest,
    failures,
    tail,
  } = result;
  const cells = [
    seed,
    happened,
    starts,
    received,
    events,
    repeats,
    dropped,
    virtualHours.toFixed(1),
    cpuS.toFixed(1),
    digest,
  ];
  tell(`| ${cells.join(" | ")} |`);
  if (failures.length === 0) return;
  tell(`seed ${seed} failed; to repeat it: npm run virtual -- --seeds ${seed}${orders.repeat}`);
  for (const failure of failures.slice(0, FAILURES_MAX)) tell(`  ${failure}`);
  if (failures.length > FAILURES_MAX) tell(`  … ${failures.length - FAILURES_MAX} more`);
  tell("  the last of its journal:");
  for (const line of tail) tell(`    ${line}`);
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  },
);
