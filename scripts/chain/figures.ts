/** Runs of `scripts/chain/run.ts` as their own processes, and what they count. */
import { spawn } from "node:child_process";

/** What run.ts says of the readings: heading of a table, and the words before the figure. */
export const FIGURES = [
  ["readings", "served"],
  ["lost by the database itself", "database itself"],
  ["lost", " lost"],
  ["doubled", "doubled"],
  ["invented", "invented"],
  ["wrong sensor", "sensor"],
  ["wrong unit", "unit"],
  ["changed", "changed"],
  ["wrong hours", "wrong hours"],
] as const;

export interface Run {
  /** As `FIGURES`; null where it did not come to an end. */
  readonly figures: readonly (number | null)[];
  /** How often each fault was caused. */
  readonly faults: ReadonlyMap<string, number>;
  readonly isWell: boolean;
}

export function runChain(words: readonly string[]): Promise<Run> {
  const child = spawn(process.execPath, ["--import", "tsx", "scripts/chain/run.ts", ...words], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk;
  });
  return new Promise((resolve) =>
    child.once("close", (code) => {
      const counts = [...out.matchAll(/^ *(\d+) × (.*)$/gm)];
      const figure = (what: string) => {
        const found = new RegExp(`${what} (\\d+)`).exec(out)?.[1];
        return found === undefined ? null : Number(found);
      };
      resolve({
        figures: FIGURES.map(([, what]) => figure(what)),
        faults: new Map(counts.map(([, count, name = ""]) => [name, Number(count)])),
        isWell: code === 0,
      });
    }),
  );
}

/** A row of a table in Markdown. */
export const row = (cells: readonly unknown[]) => `| ${cells.join(" | ")} |\n`;
