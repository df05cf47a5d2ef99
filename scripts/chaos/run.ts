/**
 * npm run chaos: does to an agent whatever a site can do, and counts afterwards.
 *
 *   npm run chaos -- [--seed N | --seeds A-B] [--minutes M] [--formats json,sparkplug] [--program FILE] [--verbose] [--keep] [--ci]
 *
 * Exit code 0 when every seed ended with nothing lost, invented or doubled.
 */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { skipWithoutMosquitto } from "../../test/support/mosquitto.ts";
import { type CampaignResult, runCampaign, type Workplace } from "./campaign.ts";
import type { EventName } from "./events.ts";

const COLUMNS: readonly (readonly [EventName, string])[] = [
  ["agent killed", "kill -9"],
  ["agent stopped", "stop"],
  ["broker killed", "broker killed"],
  ["broker frozen", "broker frozen"],
  ["link silent", "link silent"],
  ["link reset", "link reset"],
  ["gateway fault", "gateway faults"],
  ["odd records", "odd records"],
  ["gateway clock set", "gateway clock"],
  ["disk full", "disk full"],
  ["box clock set", "box clock"],
];
const DISK_MB = 40;
const CI_SEEDS = [1, 2] as const;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: "string" },
      seeds: { type: "string", default: "1-3" },
      minutes: { type: "string", default: "0.5" },
      formats: { type: "string", default: "json" },
      program: { type: "string", default: join("dist", "gateside.js") },
      verbose: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      ci: { type: "boolean", default: false },
    },
  });
  if (skipWithoutMosquitto) {
    process.stdout.write(`skipped: ${skipWithoutMosquitto}\n`);
    return 0;
  }
  if (!existsSync(values.program))
    throw new Error(`${values.program} is not built (npm run build)`);
  const seeds = values.ci ? CI_SEEDS : seedsOf(values.seed ?? values.seeds);
  const lengthMs = (values.ci ? 0.35 : Number(values.minutes)) * 60_000;
  const directory = mkdtempSync(join(tmpdir(), "gateside-chaos-program-"));
  try {
    const place = workplace(values.program, directory);
    tell(
      `disk full: ${place.smallDisk ? "yes" : "cannot mount here"} · box clock: ${place.fakeTimeLibrary ?? "no libfaketime"}`,
    );
    tell(headLine());
    let isWell = true;
    for (const seed of seeds) {
      const log = values.verbose ? tell : () => {};
      const result = await runCampaign(place, {
        seed,
        lengthMs,
        formats: values.formats.split(","),
        keep: values.keep,
        log,
      });
      isWell = report(result) && isWell;
    }
    return isWell ? 0 : 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function seedsOf(text: string): number[] {
  const [first = Number.NaN, last = first] = text.split("-").map(Number);
  if (!Number.isInteger(first) || !Number.isInteger(last) || last < first) {
    throw new Error(`--seeds wants N or A-B, not ${text}`);
  }
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

/** A copy of the bundle, so that a build in the meantime changes nothing. */
function workplace(program: string, directory: string): Workplace {
  for (const name of readdirSync(dirname(program), { withFileTypes: true })) {
    if (name.isFile()) copyFileSync(join(dirname(program), name.name), join(directory, name.name));
  }
  return {
    program: resolve(directory, "gateside.js"),
    smallDisk: smallDisk(directory),
    fakeTimeLibrary: fakeTimeLibrary(),
  };
}

function smallDisk(directory: string): Workplace["smallDisk"] {
  const disk = {
    mount(path: string) {
      mkdirSync(path, { recursive: true });
      const options = ["-t", "tmpfs", "-o", `size=${DISK_MB}m`, "tmpfs", path];
      execFileSync("mount", options, { stdio: "ignore" });
    },
    unmount(path: string) {
      execFileSync("umount", ["-l", path], { stdio: "ignore" });
    },
  };
  const trial = join(directory, "disk");
  try {
    disk.mount(trial);
    disk.unmount(trial);
    rmdirSync(trial);
    return disk;
  } catch {
    // Not root, or a container without the right: the campaign goes on without full disks.
    return null;
  }
}

function fakeTimeLibrary(): string | null {
  const places = ["x86_64-linux-gnu", "aarch64-linux-gnu"].map((name) =>
    join("/usr/lib", name, "faketime", "libfaketime.so.1"),
  );
  return places.find((path) => existsSync(path)) ?? null;
}

function headLine(): string {
  const names = COLUMNS.map(([, title]) => title).join(" | ");
  const head = `| seed | ${names} | shown | received | repeats | given up | taken back | lost | invented | doubled | other faults | s |`;
  return `${head}\n|${" --- |".repeat(COLUMNS.length + 11)}`;
}

function report(result: CampaignResult): boolean {
  const { lost, invented, doubled, faults } = result;
  const counts = COLUMNS.map(([name]) => result.events.get(name) ?? 0).join(" | ");
  const { shown, received, repeats, givenUp, goneMissing } = result;
  tell(
    `| ${result.seed} | ${counts} | ${shown} | ${received} | ${repeats} | ${givenUp} | ${goneMissing} | ${lost.length} | ${invented.length} | ${doubled.length} | ${faults.length} | ${result.seconds} |`,
  );
  for (const [what, list] of Object.entries({ lost, invented, doubled, faults })) {
    for (const item of list.slice(0, 5)) tell(`  ${what}: ${item}`);
    if (list.length > 5) tell(`  ${what}: … ${list.length - 5} more`);
  }
  return lost.length + invented.length + doubled.length + faults.length === 0;
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 2;
  },
);
