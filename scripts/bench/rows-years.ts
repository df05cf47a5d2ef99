/** What is kept for years: the cost of hourly values per reading, the trend of ten years, the waterfall of one. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { median } from "./measure.ts";
import type { BenchOptions, Outcome, Row } from "./plant.ts";

/** What another script of the bench prints. */
export async function printed(script: string, ...words: readonly string[]): Promise<string> {
  const path = join("scripts", "bench", script);
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--import",
    "tsx",
    path,
    ...words,
  ]);
  return stdout.trim().replaceAll("\n", "; ");
}

export function numbersOf(text: string, what: RegExp): number[] {
  const found = what.exec(text);
  if (found === null) throw new Error(`unexpected output: ${text}`);
  return found.slice(1).map(Number);
}

const WRITES = /, ([\d.]+) kB a reading.*CPU ([\d.]+) ms a reading/;

/** Row 5h: the same load with and without hourly values, in turns. */
export async function hourCostRows({ isQuick, pairs }: BenchOptions): Promise<Outcome> {
  const minutes = ["--minutes", String(isQuick ? 60 : 240)];
  const runs: { readonly bytes: number; readonly cpu: number; readonly text: string }[] = [];
  const measure = async (...words: readonly string[]) => {
    const text = await printed("store-writes.ts", ...minutes, ...words);
    const [bytes = 0, cpu = 0] = numbersOf(text, WRITES);
    runs.push({ bytes, cpu, text });
    return { bytes, cpu };
  };
  const ratios: { readonly bytes: number; readonly cpu: number }[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    // The first of two has the colder machine.
    const isWithFirst = pair % 2 === 0;
    const first = await measure(...(isWithFirst ? [] : ["--without-hours"]));
    const second = await measure(...(isWithFirst ? ["--without-hours"] : []));
    const [own, bare] = isWithFirst ? [first, second] : [second, first];
    ratios.push({ bytes: own.bytes / bare.bytes, cpu: own.cpu / bare.cpu });
  }
  const rowOf = (what: string, of: "bytes" | "cpu", limit: number): Row => ({
    target: "5h",
    what: `hourly values: ${what} a reading with them / without, store alone`,
    measured: median(ratios.map((ratio) => ratio[of])),
    limit,
    sense: "<=",
    note: `${pairs} pairs in turns: ${ratios.map((ratio) => ratio[of].toFixed(3)).join(", ")}`,
  });
  return {
    rows: [rowOf("CPU", "cpu", 1.05), rowOf("bytes written", "bytes", 1.03)],
    raw: { runs },
  };
}

/** Row 15. */
export async function yearsRows(): Promise<Outcome> {
  const [trend, fall] = [await printed("trend.ts"), await printed("waterfall.ts")];
  const [hours = 0] = numbersOf(trend, /by hours.*best ([\d.]+) of 100 ms/);
  const [first = 0] = numbersOf(fall, /first ([\d.]+) of 500 ms/);
  const row = (what: string, measured: number, limit: number, note: string): Row => ({
    target: "15",
    what,
    measured,
    limit,
    sense: "<=",
    note,
  });
  return {
    rows: [
      row("CPU of the trend of one value over ten years, by hours (ms)", hours * 100, 100, trend),
      row("CPU of the waterfall of a year, one a week (ms)", first * 500, 500, fall),
    ],
    raw: { trend, fall },
  };
}
