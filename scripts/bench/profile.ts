/**
 * Where the time goes for the loads that matter: node --import tsx scripts/bench/profile.ts [--full] [steady|idle|rounds|backfill|drain|reload|start] …
 * `--full` drains a million readings instead of a hundred thousand.
 * Builds an unminified bundle into a scratch directory, runs it under --cpu-prof and prints shares of the busy time.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { compiledSchemas } from "../compiled-schemas.ts";
import { NODE_FLAGS } from "./agent-process.ts";
import { readProfile, type Share } from "./cpu-profile.ts";
import { cpuMs, residentMb, sleep } from "./measure.ts";
import {
  type BenchOptions,
  DAY,
  dayPlan,
  roundSensors,
  small,
  waveform,
  withPlant,
} from "./plant.ts";
import { fullStartRows } from "./rows-start.ts";

type Load = (options: BenchOptions) => Promise<string | Measured>;

interface Measured {
  readonly text: string;
  /** What the profile shows of the end of the run, ms: without the start. */
  readonly lastMs: number;
}

/** 200 sensors that send about every minute, polled at their own cadence. */
const steady: Load = (options) =>
  withPlant(options, dayPlan(small(200, 0, 60), { clockMs: null, lagMs: 400 }), async (plant) => {
    await plant.gateway.open();
    await plant.gateway.beginCadence();
    const { program, counter } = await plant.agent({ POLL_INTERVAL_S: "60" });
    const seconds = options.isFull ? 240 : 100;
    await sleep(seconds * 1000);
    return `${counter.readings} readings in ${seconds} s, CPU ${cpuMs(program.pid).toFixed(0)} ms with the start`;
  });

/** Row 10o: nothing new, a poll each 10 s. */
const idle: Load = (options) =>
  withPlant(options, dayPlan(small(55, 144, 0)), async (plant) => {
    await plant.gateway.open();
    const { program } = await plant.agent({ POLL_INTERVAL_S: "10" });
    await sleep(30_000);
    const before = cpuMs(program.pid);
    const seconds = options.isFull ? 600 : 120;
    await sleep(seconds * 1000);
    const each = (cpuMs(program.pid) - before) / (seconds / 10);
    return {
      text: `${seconds} s idle, CPU ${each.toFixed(0)} ms each 10 s`,
      lastMs: seconds * 1000,
    };
  });

const rounds: Load = (options) =>
  withPlant(options, dayPlan(roundSensors(48, 2048)), async (plant) => {
    await plant.gateway.open();
    const { program, counter } = await plant.agent();
    await program.round(DAY);
    await counter.expect(plant.records, 720);
    const before = cpuMs(program.pid);
    for (let n = 0; n < 30; n++) {
      await plant.gateway.advance();
      const readings = counter.readings;
      await program.round(DAY);
      await counter.expect(readings + 55, counter.waveforms + 0).catch(() => {});
      await sleep(500);
    }
    return `30 rounds, CPU ${((cpuMs(program.pid) - before) / 30).toFixed(1)} ms each`;
  });

const backfill: Load = (options) =>
  withPlant(
    options,
    dayPlan(waveform(10, 48, 4096), { pastDays: 7, stepS: 1200 }),
    async (plant) => {
      await plant.gateway.open();
      const startedAt = performance.now();
      const { program, counter } = await plant.agent({
        BACKFILL_DAYS: "7",
        PUBLISH_WAVEFORMS: "alarm",
      });
      await counter.expect(plant.records, 0);
      const { pid } = program;
      const seconds = (performance.now() - startedAt) / 1000;
      return `${plant.records} records, ${(plant.bytes / 1e6).toFixed(0)} MB in ${seconds.toFixed(1)} s, CPU ${cpuMs(pid).toFixed(0)} ms, peak ${residentMb(pid).peak.toFixed(0)} MB`;
    },
  );

/** Row 6s: a week of row 6's days, read by the agent itself. */
const days: Load = (options) =>
  withPlant(options, dayPlan(roundSensors(48, 2048), { pastDays: 7 }), async (plant) => {
    await plant.gateway.open();
    const { program, counter } = await plant.agent({ BACKFILL_DAYS: "7" });
    const before = cpuMs(program.pid);
    const startedAt = performance.now();
    await counter.expect(plant.records, 8 * 720);
    const seconds = (performance.now() - startedAt) / 1000;
    const text = `${plant.records} readings in ${seconds.toFixed(1)} s, CPU ${(cpuMs(program.pid) - before).toFixed(0)} ms`;
    return { text, lastMs: seconds * 500 };
  });

/** Readings wait in the store while the broker refuses the session; then all are sent. */
const drain: Load = (options) =>
  withPlant(
    options,
    dayPlan(small(50, options.isFull ? 20_000 : 2_000), { stepS: options.isFull ? 2.8 : 28 }),
    async (plant) => {
      await plant.broker.stop();
      const agentEnv = { PUBLISH_FORMATS: "json" };
      await plant.gateway.open();
      const { program, counter } = await plant.agentWithoutBroker(agentEnv);
      await program.round(DAY);
      while (
        (await program.metric("gateside_lane_outbox_readings", 'lane="json"')) < plant.records
      ) {
        await sleep(500);
      }
      await sleep(2000);
      const before = cpuMs(program.pid);
      await plant.broker.restart();
      const watch = await counter();
      const startedAt = performance.now();
      await watch.expect(plant.records, 0);
      watch.requireNoDoubles();
      const seconds = (watch.lastAt - startedAt) / 1000;
      return `${plant.records} readings in ${seconds.toFixed(1)} s, CPU ${(cpuMs(program.pid) - before).toFixed(0)} ms`;
    },
  );

/** Row 19, often: each of them removes one of 2,001 sensors, or adds it again. */
const reload: Load = (options) =>
  withPlant(options, dayPlan(small(2001, 1)), async ({ gateway, agent, sensors, records }) => {
    await gateway.open();
    const { program, counter } = await agent({ BUFFER_MAX_MB: "8192" });
    await counter.expect(records, 0);
    await sleep(5000);
    const before = cpuMs(program.pid);
    const reloads = options.isFull ? 100 : 20;
    for (let n = 0; n < reloads; n += 1) {
      program.reload(n % 2 === 0 ? sensors.slice(1) : sensors);
      await sleep(1000);
    }
    const text = `${reloads} reloads, a second each, CPU ${((cpuMs(program.pid) - before) / reloads).toFixed(0)} ms each`;
    return { text, lastMs: 1000 * reloads };
  });

/** Row 20, with the stop after the first reading. */
const start: Load = async (options) => {
  const { rows } = await fullStartRows({ ...options, pairs: 1 });
  return `CPU ${rows[0]?.measured.toFixed(0)} ms; ${rows[0]?.note}`;
};

const LOADS: Readonly<Record<string, Load>> = {
  steady,
  idle,
  rounds,
  backfill,
  days,
  drain,
  reload,
  start,
};

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      top: { type: "string", default: "25" },
      full: { type: "boolean", default: false },
    },
    allowPositionals: true,
  });
  for (const name of positionals.length > 0 ? positionals : ["steady", "backfill", "drain"]) {
    const load = LOADS[name];
    if (load === undefined) throw new Error(`no such load: ${name}`);
    const directory = mkdtempSync(join(tmpdir(), "gateside-profile-"));
    const program = join(directory, "program");
    const profiles = join(directory, "profiles");
    mkdirSync(program);
    await build({
      entryPoints: [join("src", "main.ts")],
      outfile: join(program, "gateside.js"),
      bundle: true,
      platform: "node",
      target: "node20",
      format: "cjs",
      define: { __BUNDLED__: "true" },
      plugins: [compiledSchemas],
      logLevel: "warning",
    });
    const native = "better_sqlite3.node";
    copyFileSync(
      join("node_modules", "better-sqlite3", "build", "Release", native),
      join(program, native),
    );
    writeFileSync(join(program, "package.json"), '{"type":"commonjs"}\n');
    const outcome = await load({
      program,
      directory,
      isQuick: true,
      isFull: values.full,
      noNodeRed: "not needed",
      pairs: 1,
      say: () => {},
      nodeFlags: [...NODE_FLAGS, "--cpu-prof", `--cpu-prof-dir=${profiles}`],
    });
    const { text, lastMs } =
      typeof outcome === "string" ? { text: outcome, lastMs: undefined } : outcome;
    const { busyMs, self, total } = readProfile(profiles, lastMs);
    console.log(`\n${name}: ${text}\nbusy ${busyMs.toFixed(0)} ms; self time:`);
    print(self.slice(0, Number(values.top)));
    console.log("with what they called:");
    print(total.slice(0, 2 * Number(values.top)));
    rmSync(directory, { recursive: true, force: true });
  }
}

function print(shares: readonly Share[]): void {
  for (const { name, percent } of shares)
    console.log(`${percent.toFixed(1).padStart(6)} %  ${name}`);
}

void main();
