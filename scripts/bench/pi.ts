/**
 * What a Raspberry Pi executes: instructions of the arm64 package under emulation, which do not depend on this machine. No time on a Pi is
 * measured; a core of a Pi 4 runs at 1.5 GHz, and what it takes is given for one instruction a cycle.
 *
 *   npm run package -- arm64 && node --import tsx scripts/bench/pi.ts [--only steady,catch-up,start,trend] [--minutes 5] [--sensors 55,500]
 *
 * Needs gcc, qemu-user, libc6-arm64-cross and libstdc++6-arm64-cross.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { startMosquitto } from "../../test/support/mosquitto.ts";
import { NODE_FLAGS } from "./agent-process.ts";
import { sleep, writtenBytes } from "./measure.ts";

const PER_SECOND = 1.5e9;
const LIBRARIES = "/usr/aarch64-linux-gnu";
const SETTLE_S = 150;
const YEAR_S = 365 * 86_400;

interface Program {
  readonly command: readonly string[];
  /** Instructions so far. */
  count(): number;
}

interface Running {
  readonly address: string;
  readonly pid: number;
  readonly program: Program;
  stop(): Promise<void>;
}

/** The unpacked package and the counter. */
function prepare(directory: string): (name: string) => Program {
  const packages = resolve("dist/packages");
  const deb = readdirSync(packages).find((name) => name.endsWith("_arm64.deb"));
  if (deb === undefined) throw new Error("no package for arm64: npm run package -- arm64");
  execFileSync("dpkg-deb", ["-x", join(packages, deb), join(directory, "arm64")]);
  const lib = join(directory, "arm64/usr/lib/gateside");
  const plugin = join(directory, "instructions.so");
  execFileSync("gcc", [
    "-O2",
    "-shared",
    "-fPIC",
    "-o",
    plugin,
    resolve("scripts/bench/instructions.c"),
  ]);
  return (name) => {
    const counts = join(directory, `${name}.counts`);
    const emulated = ["-L", LIBRARIES, "-E", `LD_LIBRARY_PATH=${LIBRARIES}/lib`];
    const counted = ["-plugin", `${plugin},counts=${counts}`];
    return {
      command: [
        "qemu-aarch64",
        ...emulated,
        ...counted,
        join(lib, "node"),
        ...NODE_FLAGS,
        join(lib, "launch.js"),
      ],
      count: () => {
        const bytes = readFileSync(counts);
        const numbers = new BigUint64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);
        return Number(numbers.reduce((sum, one) => sum + one, 0n));
      },
    };
  };
}

/** The first match in what a program says. */
function said(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((done, failed) => {
    child.once("exit", (code) => failed(new Error(`ended with ${code}`)));
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      const found = pattern.exec(line)?.[1];
      if (found !== undefined) done(found);
    });
  });
}

async function simulated(directory: string, sensors: number, after: (end: () => void) => void) {
  const siteFile = join(directory, `site-${sensors}.json`);
  const words = ["simulate", "--port", "0", "--zone", "UTC", "--sensors", String(sensors)];
  const child = spawn(
    process.execPath,
    [resolve("dist/launch.js"), ...words, "--site-out", siteFile],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  after(() => child.kill());
  return { url: await said(child, /gateway at (http:\S+)\/SensorService/), siteFile };
}

async function started(
  program: Program,
  dataDir: string,
  env: Readonly<Record<string, string>>,
): Promise<Running> {
  mkdirSync(dataDir, { recursive: true });
  const [command = "", ...words] = program.command;
  const child = spawn(command, [...words, "run"], {
    cwd: dataDir,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      PATH: process.env["PATH"] ?? "",
      MALLOC_ARENA_MAX: "1",
      GATEWAY_TIMEZONE: "UTC",
      DATA_DIR: dataDir,
      HTTP_PORT: "0",
      ...env,
    },
  });
  const ended = new Promise((done) => child.once("exit", done));
  const address = await said(child, /"address":"(http[^"]+)"/);
  return {
    address,
    pid: child.pid ?? 0,
    program,
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

const NATIVE: Program = {
  command: [process.execPath, ...NODE_FLAGS, resolve("dist/launch.js")],
  count: () => Number.NaN,
};

/** The sum over its labels. */
async function metric(address: string, name: string): Promise<number> {
  const text = await (await fetch(`${address}/metrics`)).text();
  const lines = text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)`, "gm"));
  return [...lines].reduce((sum, [, value]) => sum + Number(value), 0);
}
const waiting = (address: string) => metric(address, "gateside_outbox_readings");
const stored = (address: string) => metric(address, "gateside_readings_total");

/** Until nothing waits, and no more comes than new records of so many sensors, one a minute each. */
async function caughtUp(
  { address }: Running,
  say: (text: string) => void,
  sensors = 55,
): Promise<number> {
  for (let before = -1; ; ) {
    await sleep(20_000);
    const [now, left] = [await stored(address), await waiting(address)];
    say(`${now} readings, ${left} waiting`);
    if (left === 0 && now - before < sensors && now > 0) return now;
    before = now;
  }
}

function row(what: string, instructions: number, periodS?: number): void {
  const billions = (instructions / 1e9).toFixed(2);
  const takes =
    periodS === undefined
      ? `${(instructions / PER_SECOND).toFixed(1)} s of a core`
      : `${((100 * instructions) / PER_SECOND / periodS).toFixed(2)} % of a core`;
  console.log(`| ${what} | ${billions} | ${takes} |`);
}

async function main(directory: string, after: (end: () => unknown) => void): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "start,steady,catch-up,trend" },
      minutes: { type: "string", default: "5" },
      sensors: { type: "string", default: "55,500" },
    },
  });
  const only = new Set(values.only.split(","));
  const minutes = Number(values.minutes);
  const say = (text: string) => console.error(`# ${text}`);
  const emulated = prepare(directory);
  const broker = await startMosquitto({ config: ["max_queued_messages 0"] });
  after(() => broker.close());
  const envOf = ({ url, siteFile }: { url: string; siteFile: string }, more = {}) => ({
    GATEWAY_URL: url,
    SITE_FILE: siteFile,
    MQTT_URL: broker.url,
    BACKFILL_DAYS: "0",
    ...more,
  });
  console.log("| work | instructions, 10^9 | Pi 4, one a cycle |\n| --- | --- | --- |");
  const plant = await simulated(directory, 55, after);

  if (only.has("steady"))
    for (const sensors of values.sensors.split(",").map(Number)) {
      const own = sensors === 55 ? plant : await simulated(directory, sensors, after);
      const data = join(directory, `steady-${sensors}`);
      // The day so far is read before, by the program of this machine.
      const native = await started(NATIVE, data, envOf(own));
      await caughtUp(native, say, sensors);
      // What the day before leaves to be written is none of the minutes that follow.
      await sleep(SETTLE_S * 1000);
      const bytes = writtenBytes(native.pid);
      await sleep(minutes * 60_000);
      const gigabytes = ((writtenBytes(native.pid) - bytes) * YEAR_S) / (minutes * 60) / 1e9;
      await native.stop();
      const agent = await started(emulated(`steady-${sensors}`), data, envOf(own));
      row(`start with ${sensors} sensors and a day, until it listens`, agent.program.count());
      await sleep(SETTLE_S * 1000);
      const [before, readings] = [agent.program.count(), await stored(agent.address)];
      await sleep(minutes * 60_000);
      const more = (await stored(agent.address)) - readings;
      row(
        `${sensors} sensors read each 60 s, a minute of ${(more / minutes).toFixed(0)} readings`,
        (agent.program.count() - before) / minutes,
        60,
      );
      console.log(`| ${sensors} sensors: written in a year | ${gigabytes.toFixed(0)} GB | |`);
      await agent.stop();
    }

  if (only.has("catch-up")) {
    const few = await simulated(directory, 7, after);
    const week = envOf(few, { BACKFILL_DAYS: "6" });
    const native = await started(NATIVE, join(directory, "catch-up-native"), week);
    const most = await caughtUp(native, say);
    await native.stop();
    const agent = await started(emulated("catch-up"), join(directory, "catch-up"), week);
    const before = agent.program.count();
    // Under emulation a first read may take longer than the pause that says that nothing more comes.
    while ((await stored(agent.address)) < most) await sleep(5000);
    const readings = await caughtUp(agent, say);
    row(
      `a week of 7 sensors (${readings} readings), read, stored and sent`,
      agent.program.count() - before,
    );
    await agent.stop();
  }

  if (only.has("trend")) {
    const few = await simulated(directory, 7, after);
    const data = join(directory, "month");
    const native = await started(NATIVE, data, envOf(few, { BACKFILL_DAYS: "30" }));
    await caughtUp(native, say);
    await native.stop();
    const agent = await started(emulated("month"), data, envOf(few));
    row("start with a month of 7 sensors, until it listens", agent.program.count());
    await sleep(SETTLE_S * 1000);
    const { sensors } = (await (await fetch(`${agent.address}/api/v1/sensors`)).json()) as {
      sensors: { code: string; kinds: string[] }[];
    };
    const sensor = sensors.find(({ kinds }) => kinds.includes("accel"))?.code;
    const until = Date.now();
    const from = new Date(until - 30 * 86_400_000).toISOString();
    const path = `/api/v1/trend?sensor=${sensor}&kind=accel&values=channel1_vel_rms&from=${from}&to=${new Date(until).toISOString()}`;
    for (const time of ["first", "second"]) {
      const before = agent.program.count();
      const answer = await fetch(agent.address + path);
      const text = await answer.text();
      if (!answer.ok) throw new Error(text);
      row(
        `a month's trend of one value, ${time} time (${text.length} bytes)`,
        agent.program.count() - before,
      );
    }
    await agent.stop();
  }
}

const directory = mkdtempSync(join(tmpdir(), "gateside-pi-"));
const endings: (() => unknown)[] = [() => rmSync(directory, { recursive: true, force: true })];
try {
  await main(directory, (end) => void endings.push(end));
} finally {
  for (const end of endings.reverse()) await end();
}
process.exit(0);
