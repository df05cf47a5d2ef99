/** npm run virtual: see HELP in command-line.ts. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HELP, type Orders, readCommandLine } from "./command-line.ts";
import { bundleAgent, bundlePlant } from "./program.ts";
import type { SeedOrder, SeedResult } from "./seed.ts";

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
    return await runSeeds(orders, place);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

interface Place {
  readonly directory: string;
  readonly agent: string;
  readonly plant: string;
}

async function runSeeds(orders: Orders, place: Place): Promise<number> {
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
      const result = await runSeed(orders, place, seed);
      const failures = [...result.failures];
      if (orders.isTwice) {
        const again = await runSeed(orders, place, seed);
        if (again.digest !== result.digest) failures.push("the same seed gave another journal");
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
    givenUp,
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
    givenUp,
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

let trials = 0;

/** In a process of its own. */
function runSeed(orders: Orders, place: Place, seed: number): Promise<SeedResult> {
  const { hours, happenings, journalDir } = orders;
  const order: SeedOrder = {
    seed,
    hours,
    happenings,
    agent: place.agent,
    plant: place.plant,
    directory: join(place.directory, `trial-${++trials}`),
    journalPath: journalDir === null ? null : join(journalDir, `seed-${seed}`),
  };
  const script = join(import.meta.dirname, "seed.ts");
  const child = spawn(process.execPath, ["--import", "tsx", script, JSON.stringify(order)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(JSON.parse(text) as SeedResult);
      else reject(new Error(`seed ${seed} did not end: code ${code}`));
    });
  });
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  },
);
