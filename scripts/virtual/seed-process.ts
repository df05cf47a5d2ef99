/** Runs one seed in a process of its own. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import type { Orders } from "./command-line.ts";
import type { SeedOrder, SeedResult } from "./seed.ts";
import type { YearsOrder } from "./years.ts";

/** The bundles, and where trials keep their files. */
export interface Place {
  readonly directory: string;
  readonly agent: string;
  readonly plant: string;
}

let trials = 0;

/** `files`: where the journal and the rows of the store are written; null: nowhere. */
export function runSeed(
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

/** Exit code. */
export function runYears(
  years: number,
  sensors: number,
  { directory, agent, plant }: Place,
): Promise<number> {
  const order: YearsOrder = { years, sensors, agent, plant, directory: join(directory, "years") };
  const script = join(import.meta.dirname, "years.ts");
  const words = ["--expose-gc", "--import", "tsx", script, JSON.stringify(order)];
  const child = spawn(process.execPath, words, { stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 2));
  });
}
