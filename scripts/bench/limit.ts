/**
 * One box at its limit: 2,000 sensors of all kinds, a poll every 60 s, three uplinks, for an hour; what it costs, what gives first, and
 * whether the agent says so.
 *
 *   npm run build && node --import tsx scripts/bench/limit.ts [--sensors 2000] [--minutes 60] [--cores 0.25 --memory 256] [--node FILE]
 *
 * `--cores` and `--memory` (MB) put the agent into a control group, which needs root and cgroup v1. Freshness counts from the time of
 * the record; the simulator shows a record when it is due.
 */
import { type ChildProcess, spawn } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { freePort, startMosquitto } from "../../test/support/mosquitto.ts";
import { NODE_FLAGS } from "./agent-process.ts";
import { cpuMs, percentile, residentMb, sleep, writtenBytes } from "./measure.ts";
import { MessageCounter } from "./message-counter.ts";

const UPLINKS = ["main", "plant", "cloud"];
const WINDOW_S = 60;
/** The agent is up to date once a minute's readings are this fresh, s, (95 %). */
const FRESH_S = 60;
const CGROUPS = "/sys/fs/cgroup";

interface Group {
  enter(pid: number): void;
  /** Share of the periods in which it ran out of CPU so far, and the peak of its memory, MB. */
  report(): { readonly throttled: number; readonly peakMb: number };
  close(): void;
}

function createGroup(cores: number, memoryMb: number): Group {
  const name = `gateside-limit-${process.pid}`;
  const cpu = join(CGROUPS, "cpu", name);
  const memory = join(CGROUPS, "memory", name);
  for (const directory of [cpu, memory]) mkdirSync(directory);
  writeFileSync(join(cpu, "cpu.cfs_period_us"), "100000");
  // Other programs of a busy machine do not count as a lack of CPU time.
  writeFileSync(join(cpu, "cpu.shares"), "8192");
  writeFileSync(join(cpu, "cpu.cfs_quota_us"), String(Math.round(cores * 100_000)));
  writeFileSync(join(memory, "memory.limit_in_bytes"), String(memoryMb << 20));
  return {
    enter(pid) {
      for (const directory of [cpu, memory])
        writeFileSync(join(directory, "cgroup.procs"), String(pid));
    },
    report() {
      const stat = readFileSync(join(cpu, "cpu.stat"), "utf8");
      const of = (key: string) => Number(new RegExp(`^${key} (\\d+)`, "m").exec(stat)?.[1]);
      const peak = readFileSync(join(memory, "memory.max_usage_in_bytes"), "utf8");
      return { throttled: of("nr_throttled") / of("nr_periods"), peakMb: Number(peak) / 2 ** 20 };
    },
    close() {
      for (const directory of [cpu, memory]) rmdirSync(directory);
    },
  };
}

/** Lines of the child's output that contain the address of a running program. */
async function addressIn(child: ChildProcess, find: (line: string) => string | null) {
  return new Promise<string>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`ended with ${code}`)));
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      const found = find(line);
      if (found !== null) resolve(found);
    });
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      sensors: { type: "string", default: "2000" },
      minutes: { type: "string", default: "60" },
      cores: { type: "string" },
      memory: { type: "string", default: "256" },
      node: { type: "string", default: process.execPath },
    },
  });
  const directory = mkdtempSync(join(tmpdir(), "gateside-limit-"));
  const endings: (() => unknown)[] = [() => rmSync(directory, { recursive: true, force: true })];
  try {
    await run(values, directory, (end) => void endings.push(end));
  } finally {
    for (const end of endings.reverse()) await end();
  }
}

interface Flags {
  readonly sensors: string;
  readonly minutes: string;
  readonly cores?: string | undefined;
  readonly memory: string;
  readonly node: string;
}

async function run(
  flags: Flags,
  directory: string,
  after: (end: () => unknown) => void,
): Promise<void> {
  const program = join(directory, "program");
  cpSync(resolve("dist"), program, { recursive: true });
  const brokers = await Promise.all(
    UPLINKS.map(() =>
      startMosquitto({
        receiveMaximum: 1000,
        config: ["max_queued_messages 0", "max_inflight_messages 1000"],
      }),
    ),
  );
  for (const broker of brokers) after(() => broker.close());
  const counters = await Promise.all(
    brokers.map((broker) => MessageCounter.open(broker.url, "gateside")),
  );
  for (const counter of counters) after(() => counter.close());
  /** Of the live readings of `main` since the last look, s. */
  let ages: number[] = [];
  const main = counters[0] as MessageCounter;
  main.onReading = (topic, payload, at) => {
    if (topic.endsWith("/history")) return;
    const { time } = JSON.parse(payload.toString()) as { time: string };
    ages.push((at - Date.parse(time)) / 1000);
  };

  const registers = await freePort();
  const zone = zoneAfterMidnight();
  const served = ["--sensors", flags.sensors, "--state-registers", String(registers)];
  const words = ["simulate", "--port", "0", "--zone", zone, ...served];
  const simulator = spawn(process.execPath, [join(program, "gateside.js"), ...words], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  after(() => simulator.kill());
  const gateway = await addressIn(
    simulator,
    (line) => /gateway at (http:\S+)\/SensorService/.exec(line)?.[1] ?? null,
  );
  const siteFile = join(directory, "site.json");
  const { site, kinds } = withNodeStates(
    await (await fetch(`${gateway}/sim/site`)).json(),
    registers,
  );
  writeFileSync(siteFile, JSON.stringify(site));
  const uplinksFile = join(directory, "uplinks.json");
  const more = UPLINKS.slice(1).map((name, n) => ({ name, url: brokers[n + 1]?.url }));
  writeFileSync(uplinksFile, JSON.stringify({ uplinks: more }));

  const group = flags.cores ? createGroup(Number(flags.cores), Number(flags.memory)) : null;
  const agent = spawn(flags.node, [...NODE_FLAGS, join(program, "launch.js"), "run"], {
    cwd: directory,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      PATH: process.env["PATH"] ?? "",
      MALLOC_ARENA_MAX: "1",
      GATEWAY_URL: gateway,
      GATEWAY_TIMEZONE: zone,
      MQTT_URL: brokers[0]?.url,
      UPLINKS_FILE: uplinksFile,
      SITE_FILE: siteFile,
      DATA_DIR: join(directory, "data"),
      HTTP_PORT: "0",
      POLL_INTERVAL_S: "60",
      BACKFILL_DAYS: "0",
    },
  });
  const pid = agent.pid ?? 0;
  group?.enter(pid);
  const ended = new Promise((resolve) => agent.once("exit", resolve));
  after(() => group?.close());
  after(async () => {
    agent.kill("SIGTERM");
    await ended;
  });
  /** Warnings and errors by text. */
  const said = new Map<string, number>();
  const address = await addressIn(agent, (line) => {
    const entry = JSON.parse(line) as { msg: string; level: number; address?: string };
    if (entry.level >= 40) said.set(entry.msg, (said.get(entry.msg) ?? 0) + 1);
    return entry.address ?? null;
  });

  const limits = group === null ? "no limit" : `${flags.cores} cores, ${flags.memory} MB`;
  console.log(`${flags.sensors} sensors, ${kinds} kinds, ${UPLINKS.length} uplinks, ${limits}\n`);
  console.log(
    "| minute | readings | CPU, % | resident, MB | written, kB/s | age p50 | p95 | p99, s | loop p99, s | waiting |",
  );
  console.log("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
  let before = { cpu: cpuMs(pid), bytes: writtenBytes(pid), ids: 0 };
  let caughtUp: number | null = null;
  const steady = { ages: [] as number[], cpu: [] as number[], loop: [] as number[] };
  for (let minute = 1; minute <= Number(flags.minutes); minute++) {
    await sleep(WINDOW_S * 1000);
    const now = { cpu: cpuMs(pid), bytes: writtenBytes(pid), ids: main.readings };
    const cpu = (now.cpu - before.cpu) / 10 / WINDOW_S;
    const { loop, waiting } = await metricsOf(address);
    const cells = [
      minute,
      now.ids - before.ids,
      cpu.toFixed(0),
      residentMb(pid).now.toFixed(0),
      ((now.bytes - before.bytes) / 1000 / WINDOW_S).toFixed(0),
      ...[50, 95, 99].map((share) => percentile(ages, share).toFixed(1)),
      loop.toFixed(2),
      waiting,
    ];
    console.log(`| ${cells.join(" | ")} |`);
    if (caughtUp === null && percentile(ages, 95) < FRESH_S) caughtUp = minute;
    else if (caughtUp !== null) {
      for (const age of ages) steady.ages.push(age);
      steady.cpu.push(cpu);
      steady.loop.push(loop);
    }
    before = now;
    ages = [];
  }
  const shares = [50, 95, 99].map((share) => percentile(steady.ages, share).toFixed(1)).join(", ");
  console.log(`
caught up in minute ${caughtUp ?? "-"}; afterwards:
CPU ${percentile(steady.cpu, 50).toFixed(1)} % of a core at the median, ${percentile(steady.cpu, 95).toFixed(1)} at p95
age of live readings p50, p95, p99: ${shares} s
event-loop delay p99 of a minute: median ${percentile(steady.loop, 50).toFixed(2)}, worst ${Math.max(...steady.loop).toFixed(2)} s
resident ${residentMb(pid).now.toFixed(0)} MB, peak ${residentMb(pid).peak.toFixed(0)} MB`);
  if (group !== null) {
    const { throttled, peakMb } = group.report();
    console.log(
      `throttled ${(100 * throttled).toFixed(0)} % of the periods; peak of the group ${peakMb.toFixed(0)} MB`,
    );
  }
  // What is on its way to one subscriber may have reached another.
  await sleep(5000);
  for (const [n, { readings, doubles }] of counters.entries())
    console.log(`${UPLINKS[n]}: ${readings} readings, ${doubles} doubles`);
  console.log(said.size === 0 ? "nothing was logged above info" : "logged above info:");
  for (const [text, times] of said) console.log(`  ${times} x ${text}`);
}

/** A zone whose day has just begun, so that the first day is a short one. */
function zoneAfterMidnight(): string {
  const hours = (24 - new Date().getUTCHours()) % 24;
  // The signs of these names are reversed: Etc/GMT-6 is six hours ahead of UTC.
  return hours <= 12 ? `Etc/GMT-${hours}` : `Etc/GMT+${24 - hours}`;
}

/** The plant with a battery register for one sensor in fifty: the eighth kind. */
function withNodeStates(site: unknown, port: number): { site: unknown; kinds: number } {
  const plant = site as { sensors: { kinds: readonly string[]; stateReads?: unknown }[] };
  plant.sensors.forEach((sensor, index) => {
    if (index % 50 !== 0) return;
    sensor.stateReads = [
      {
        via: "modbus",
        url: `tcp://127.0.0.1:${port}`,
        registers: [
          { address: 10 * index, type: "uint16", scale: 0.001, value: "supply", unit: "V" },
        ],
      },
    ];
  });
  const kinds = new Set(plant.sensors.flatMap((sensor) => sensor.kinds));
  return { site: plant, kinds: kinds.size + 1 };
}

async function metricsOf(address: string): Promise<{ loop: number; waiting: number }> {
  const text = await (await fetch(`${address}/metrics`)).text();
  const of = (pattern: RegExp) => Number(pattern.exec(text)?.[1]);
  return {
    loop: of(/^gateside_event_loop_delay_seconds\{quantile="p99".*\} (\S+)/m),
    waiting: of(/^gateside_outbox_readings(?:\{.*\})? (\S+)/m),
  };
}

await main();
