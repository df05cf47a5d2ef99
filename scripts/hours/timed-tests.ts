import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What reads the clock of the machine: directly, by a program or broker that the test starts, or in the machine's zone. */
const READS_THE_CLOCK =
  /Date\.now\(|new Date\(\)|systemClock|startSimulator|support\/(?:plant|turning-plant|failing-bearing|fake-site|collecting|postgres)\.ts|openAgent|\bzone\b|time-zone|TimeZone/;
/** Spawns compilers and containers, which have nothing of ours to do with the hour. */
const NOT_OURS = /^(?:package|systemd|walls)\//;

/** The tests whose result could depend on the hour, relative to test/. */
export function timedTests(root: string): string[] {
  const directory = join(root, "test");
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts") && !NOT_OURS.test(name))
    .filter((name) => READS_THE_CLOCK.test(readFileSync(join(directory, name), "utf8")))
    .sort();
}
