import { join } from "node:path";
import { parseArgs } from "node:util";

export const HELP = `npm run chaos -- [options]: exposes an agent to what can go wrong at a site, then compares what arrived.

  --seed N | --seeds A-B   which campaigns (default 1-3); a seed always has the same plan
  --seconds S | --minutes M | --hours H
                           duration of the faults (default 30 s), without the wait for pending readings
  --formats LIST           PUBLISH_FORMATS of the agent: json (default), or json,sparkplug
  --uplinks                four uplinks, each with a broker or a connection of its own: main (json), one with a filter and
                           topic templates, one with Sparkplug, one that is added and removed; site and uplinks files change
  --dark DAYS              with --uplinks: one of them is disconnected for this many days of plant time
  --at-once N              campaigns side by side (default 1): they wait more than they compute
  --ci                     a short set of 12 s each, two at once: a seed with json, one with --uplinks, two with json and Sparkplug
  --verbose                prints each event as it happens, and the gap records
  --keep                   keeps the directory of each campaign, with the store
  --program FILE           the bundle to test (default dist/gateside.js)
  --help

Prints a table row for each seed, followed by its problems. Exit code 0: nothing was lost, invented, duplicated or otherwise
wrong; 1: something was; 2: the campaign could not run. Requires mosquitto. Full disks require permission to mount a tmpfs;
wrong clocks of the box require libfaketime.
`;

export interface Round {
  readonly seed: number;
  readonly formats: readonly string[];
  readonly uplinks: boolean;
  readonly darkDays: number;
  readonly lengthMs: number;
}
export interface Orders {
  readonly rounds: readonly Round[];
  /** Campaigns side by side. */
  readonly atOnce: number;
  readonly program: string;
  readonly verbose: boolean;
  readonly keep: boolean;
}

const MINUTE_MS = 60_000;
const DEFAULT_MS = 30_000;
const CI_MS = 12_000;
/** Short campaigns with every possible event. */
const CI_SEEDS = [
  [30, "json", false],
  [4, "json", true],
  [93, "json,sparkplug", false],
  [20, "json,sparkplug", false],
] as const;
const FORMATS = ["json", "plain", "sparkplug"];

/** Null if help was requested. Throws with a readable message. */
export function readCommandLine(words: readonly string[]): Orders | null {
  const { values } = parseArgs({
    args: [...words],
    options: {
      seed: { type: "string" },
      seeds: { type: "string" },
      seconds: { type: "string" },
      minutes: { type: "string" },
      hours: { type: "string" },
      formats: { type: "string", default: "json" },
      program: { type: "string", default: join("dist", "gateside.js") },
      verbose: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      ci: { type: "boolean", default: false },
      uplinks: { type: "boolean", default: false },
      dark: { type: "string", default: "0" },
      "at-once": { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const { program, verbose, keep, uplinks } = values;
  const darkDays = Number(values.dark);
  if (!(darkDays >= 0) || (darkDays > 0 && !uplinks))
    throw new Error("--dark requires a number of days, and --uplinks");
  const atOnce = Number(values["at-once"] ?? (values.ci ? 2 : 1));
  if (!(Number.isInteger(atOnce) && atOnce >= 1))
    throw new Error(`--at-once requires a number from 1 on, not ${values["at-once"]}`);
  const formats = formatsOf(values.formats);
  const lengthMs = lengthOf(values);
  const rounds = values.ci
    ? CI_SEEDS.map(([seed, names, several]) => ({
        seed,
        formats: formatsOf(names),
        lengthMs: CI_MS,
        uplinks: several,
        darkDays: 0,
      }))
    : seedsOf(values.seed ?? values.seeds ?? "1-3").map((seed) => ({
        seed,
        formats,
        lengthMs,
        uplinks,
        darkDays,
      }));
  return { rounds, atOnce, program, verbose, keep };
}

function seedsOf(text: string): number[] {
  const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  const [from, to] = [Number(first), Number(last)];
  if (!(from <= to)) throw new Error(`--seeds requires N or A-B, not ${text}`);
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

/** The recorder reads json, so it is always among them. */
function formatsOf(text: string): string[] {
  const formats = text.split(",");
  if (!formats.every((name) => FORMATS.includes(name)) || !formats.includes("json")) {
    throw new Error(`--formats requires json and any of ${FORMATS.join(", ")}, not ${text}`);
  }
  return formats;
}

function lengthOf(given: { seconds?: string; minutes?: string; hours?: string }): number {
  const units = { seconds: 1000, minutes: MINUTE_MS, hours: 60 * MINUTE_MS } as const;
  for (const unit of ["seconds", "minutes", "hours"] as const) {
    const text = given[unit];
    if (text === undefined) continue;
    const lengthMs = Number(text) * units[unit];
    if (!(lengthMs > 0)) throw new Error(`--${unit} requires a positive number, not ${text}`);
    return lengthMs;
  }
  return DEFAULT_MS;
}
