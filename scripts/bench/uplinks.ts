/**
 * What further uplinks cost, in pairs measured next to each other. Look at the ratios: they hold on a busy machine too.
 *
 *   npm run build && node --import tsx scripts/bench/uplinks.ts [--pairs N] [--only drain,delay,memory]
 *
 * drain:  CPU to store and send a backlog to two uplinks compared with one, per message.
 * delay:  from a stored reading to a subscriber of a healthy uplink, with and without a dead one next to it, in turn.
 * memory: idle agents with one, two, four and eight uplinks, running at the same time: resident memory and heap.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { fixedSite } from "../../src/core/site-source.ts";
import { MAIN_UPLINK } from "../../src/core/uplink.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { MqttLink } from "../../src/pipeline/link/mqtt-link.ts";
import { createJsonEncoder } from "../../src/pipeline/publish/formats/json.ts";
import { Publisher } from "../../src/pipeline/publish/publisher.ts";
import type { Store } from "../../src/pipeline/store/store.ts";
import { startSimulator } from "../../src/simulator/server.ts";
import { freePort, type Mosquitto, startMosquitto } from "../../test/support/mosquitto.ts";
import {
  append,
  readingOf,
  START_MS,
  tempStore,
  uplinkOf,
} from "../../test/support/temp-database.ts";
import { NODE_FLAGS } from "./agent-process.ts";
import { median, percentile, sleep, until } from "./measure.ts";
import { MessageCounter } from "./message-counter.ts";

const WINDOW = 100;
const SENSORS = 50;
const DRAIN_COUNT = 10_000;
/** Backlog of a dead uplink. */
const BACKLOG = 10_000;
const DELAY_COUNT = 1000;
const DELAY_PAUSE_MS = 4;
/** Numbers of uplinks, `main` among them. */
const COUNTS = [1, 2, 4, 8];
const SETTLE_MS = 20_000;
const SAMPLES = 5;
const SAMPLE_MS = 2_000;
/** Run in the agent: heap after a garbage collection. */
const COLLECT = `process.on("SIGUSR2", () => {
  for (let n = 0; n < 4; n++) globalThis.gc();
  require("node:fs").writeFileSync(process.env.MEMORY_FILE, JSON.stringify(process.memoryUsage()));
});`;

const say = (line: string) => void process.stdout.write(`${line}\n`);

/** Undone in reverse order. */
async function within<T>(work: (after: (undo: () => unknown) => void) => Promise<T>): Promise<T> {
  const undos: (() => unknown)[] = [];
  try {
    return await work((undo) => void undos.push(undo));
  } finally {
    for (const undo of undos.reverse()) await undo();
  }
}

const rpm = (sensor: number, timeMs: number) =>
  readingOf(String(1000 + sensor), timeMs, {
    values: { rpm: 9 },
    units: { rpm: "rpm" },
    attributes: {},
  });

async function fill(store: Store, count: number, from: number): Promise<void> {
  const each = Array.from({ length: count / SENSORS }, (_, i) => i);
  for (let sensor = 0; sensor < SENSORS; sensor++) {
    await append(
      store,
      each.map((i) => rpm(sensor, from + i * 1000)),
    );
  }
  await store.readings.flush();
}

/** A session and its publisher over the outbox of one uplink. */
function openUplink(store: Store, uplink: string, url: string) {
  const link = new MqttLink(
    { clock: systemClock, logger: silentLogger },
    { name: "mqtt", urls: [url], version: 4, clientId: `bench-${uplink}`, inflight: WINDOW },
  );
  const naming = { prefix: uplink, site: "bench", source: fixedSite({ site: "s", sensors: [] }) };
  const publisher = new Publisher(
    {
      link,
      outbox: store.outboxOf(uplink),
      clock: systemClock,
      logger: silentLogger,
      metrics: createMetrics(),
      gatewayNow: () => START_MS + 1e12,
    },
    {
      lanes: [{ lane: "json", encode: createJsonEncoder({ ...naming, withRaw: false }) }],
      backlogRatePerS: 0,
    },
  );
  const stop = new AbortController();
  const running = link.run(stop.signal);
  return {
    link,
    publisher,
    publish: () => publisher.run(stop.signal),
    stop: async () => {
      stop.abort();
      await running;
    },
  };
}

/** CPU per reading to store it, and per message to send and settle it, µs. */
async function drainOnce(broker: Mosquitto, names: readonly string[]) {
  return await within(async (after) => {
    const uplinks = names.map((name) => uplinkOf(name, ["json"]));
    const store = tempStore({ after }, { bufferMaxMb: 1024, uplinks });
    const before = process.cpuUsage();
    await fill(store, DRAIN_COUNT, START_MS);
    const stored = micros(process.cpuUsage(before)) / DRAIN_COUNT;
    const open = names.map((name) => openUplink(store, name, broker.url));
    after(() => Promise.all(open.map(({ stop }) => stop())));
    for (const { link } of open) await link.ready(new AbortController().signal);
    const sending = process.cpuUsage();
    const loops = open.map(({ publish }) => publish());
    while (open.some(({ publisher }) => publisher.delivered < DRAIN_COUNT)) await sleep(2);
    await Promise.all(open.map(({ stop }) => stop()));
    await Promise.all(loops);
    const sent = micros(process.cpuUsage(sending)) / (DRAIN_COUNT * names.length);
    return { stored, sent };
  });
}

const micros = ({ user, system }: NodeJS.CpuUsage) => user + system;

async function drain(pairs: number): Promise<void> {
  const seen: { sent: number; stored: number; one: number; two: number }[] = [];
  await within(async (after) => {
    const broker = await startMosquitto({ receiveMaximum: 4 * WINDOW });
    after(() => broker.close());
    for (let pair = 0; pair <= pairs; pair++) {
      const one = await drainOnce(broker, [MAIN_UPLINK]);
      const two = await drainOnce(broker, [MAIN_UPLINK, "cloud"]);
      // The first pair warms up.
      if (pair === 0) continue;
      const sent = two.sent / one.sent;
      seen.push({ sent, stored: two.stored / one.stored, one: one.sent, two: two.sent });
    }
  });
  const of = (key: keyof (typeof seen)[number]) => median(seen.map((pair) => pair[key]));
  say(
    `drain: CPU per message with two uplinks / with one: ${of("sent").toFixed(2)} (${of("two").toFixed(1)} : ${of("one").toFixed(1)} us); per reading stored: ${of("stored").toFixed(2)}; ${pairs} pairs`,
  );
}

/** Accepts connections and never responds, like a broker behind a line that is cut. */
async function startMute(): Promise<{ readonly url: string; close(): void }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).resume();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `mqtt://127.0.0.1:${port}`,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Two stores in one process get readings in turn: one with a healthy uplink alone, one with dead uplinks as well. */
async function delay(): Promise<void> {
  await within(async (after) => {
    const broker = await startMosquitto({ receiveMaximum: 4 * WINDOW });
    after(() => broker.close());
    const mute = await startMute();
    after(() => mute.close());
    const healthy = async (name: string, dead: readonly (readonly [string, string])[]) => {
      const uplinks = [name, ...dead.map(([other]) => other)].map((one) => uplinkOf(one, ["json"]));
      const store = tempStore({ after }, { bufferMaxMb: 1024, uplinks });
      if (dead.length > 0) await fill(store, BACKLOG, START_MS);
      const own = openUplink(store, name, broker.url);
      const others = dead.map(([other, url]) => openUplink(store, other, url));
      const all = [own, ...others];
      const loops = all.map(({ publish }) => publish());
      after(async () => {
        await Promise.all(all.map(({ stop }) => stop()));
        await Promise.all(loops);
      });
      while (store.outboxOf(name).depth("json").readings > 0) await sleep(10);
      const counter = await MessageCounter.open(broker.url, name);
      after(() => counter.close());
      const storedAt = new Map<number, number>();
      const delays: number[] = [];
      counter.onReading = (_, payload) => {
        const { time }: { time: string } = JSON.parse(payload.toString());
        const at = storedAt.get(Date.parse(time));
        if (at !== undefined) delays.push(performance.now() - at);
      };
      const put = async (n: number) => {
        const timeMs = START_MS + 1e9 + n;
        storedAt.set(timeMs, performance.now());
        await append(store, [rpm(n % SENSORS, timeMs)]);
      };
      return { put, delays };
    };
    const alone = await healthy("alone", []);
    const refused = `mqtt://127.0.0.1:${await freePort()}`;
    const beside = await healthy("beside", [
      ["refused", refused],
      ["mute", mute.url],
    ]);
    for (let n = 0; n < DELAY_COUNT; n++) {
      await alone.put(n);
      await beside.put(n);
      await sleep(DELAY_PAUSE_MS);
    }
    const deadline = performance.now() + 30_000;
    while (
      Math.min(alone.delays.length, beside.delays.length) < DELAY_COUNT &&
      performance.now() < deadline
    )
      await sleep(20);
    const show = ({ delays }: { delays: readonly number[] }) =>
      [50, 95, 99].map((p) => percentile(delays, p).toFixed(1)).join(" / ");
    const ratio = percentile(beside.delays, 99) / percentile(alone.delays, 99);
    say(
      `delay, p50 / p95 / p99 in ms: beside two dead uplinks owed ${BACKLOG} readings each ${show(beside)}, without them ${show(alone)}; p99 ratio ${ratio.toFixed(2)}; ${beside.delays.length} and ${alone.delays.length} of ${DELAY_COUNT} readings`,
    );
  });
}

interface Memory {
  readonly rss: number;
  readonly heapUsed: number;
}

/** Memory of idle agents, running side by side, each asked several times after its garbage is collected. */
async function memory(rounds: number): Promise<void> {
  const slopes: { rss: number[]; heapUsed: number[] } = { rss: [], heapUsed: [] };
  await within(async (after) => {
    const simulator = await startSimulator({ zone: "UTC", sensors: 50, historyDays: 0.01 });
    after(() => simulator.close());
    const broker = await startMosquitto();
    after(() => broker.close());
    for (let round = 0; round < rounds; round++) {
      const idle = await Promise.all(
        COUNTS.map((count) =>
          idleMemory(simulator.url, simulator.siteFile("s"), broker.url, count - 1),
        ),
      );
      for (const what of ["rss", "heapUsed"] as const) {
        const megabytes = idle.map((one) => one[what] / 1e6);
        slopes[what].push(slopeOf(COUNTS, megabytes));
        const shown = megabytes.map((mb, i) => `${COUNTS[i]}: ${mb.toFixed(1)}`).join(", ");
        say(`memory: ${what}, MB by number of uplinks: ${shown}`);
      }
    }
  });
  for (const [what, each] of Object.entries(slopes)) {
    const shown = each.map((mb) => mb.toFixed(2)).join(", ");
    say(`memory: ${what}, MB for each further uplink: ${median(each).toFixed(2)} (${shown})`);
  }
}

/** Slope of the least-squares line. */
function slopeOf(xs: readonly number[], ys: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  const [x0, y0] = [mean(xs), mean(ys)];
  const over = mean(xs.map((x, i) => (x - x0) * ((ys[i] ?? 0) - y0)));
  return over / mean(xs.map((x) => (x - x0) ** 2));
}

async function idleMemory(
  gateway: string,
  site: object,
  broker: string,
  others: number,
): Promise<Memory> {
  return await within(async (after) => {
    const directory = mkdtempSync(join(tmpdir(), "gateside-uplinks-"));
    after(() => rmSync(directory, { recursive: true, force: true }));
    const file = (name: string, content: object) => {
      writeFileSync(join(directory, name), JSON.stringify(content));
      return join(directory, name);
    };
    const uplinks = Array.from({ length: others }, (_, i) => ({
      name: `u${i}`,
      url: broker,
      topicPrefix: `u${i}`,
    }));
    const told = join(directory, "memory.json");
    const preload = join(directory, "collect.cjs");
    writeFileSync(preload, COLLECT);
    const flags = [...NODE_FLAGS, "--expose-gc", "--require", preload];
    const child = spawn(process.execPath, [...flags, resolve("dist", "gateside.js"), "run"], {
      cwd: directory,
      stdio: "ignore",
      env: {
        PATH: process.env["PATH"] ?? "",
        GATEWAY_URL: gateway,
        GATEWAY_TIMEZONE: "UTC",
        MQTT_URL: broker,
        MQTT_CLIENT_ID: `main-${others}`,
        MQTT_TOPIC_PREFIX: `main-${others}`,
        SITE_FILE: file("site.json", site),
        ...(others === 0 ? {} : { UPLINKS_FILE: file("uplinks.json", { uplinks }) }),
        DATA_DIR: join(directory, "data"),
        HTTP_PORT: "0",
        BACKFILL_DAYS: "0",
        POLL_INTERVAL_S: "60",
        DISK_FREE_MIN_MB: "0",
        MEMORY_FILE: told,
      },
    });
    after(() => child.kill("SIGKILL"));
    await sleep(SETTLE_MS);
    const samples: Memory[] = [];
    for (let n = 0; n < SAMPLES; n++) {
      if (child.exitCode !== null) throw new Error(`the agent ended with ${child.exitCode}`);
      rmSync(told, { force: true });
      child.kill("SIGUSR2");
      await until("the agent tells its memory", () => existsSync(told), 60_000);
      await sleep(SAMPLE_MS);
      samples.push(JSON.parse(readFileSync(told, "utf8")) as Memory);
    }
    return {
      rss: median(samples.map(({ rss }) => rss)),
      heapUsed: median(samples.map(({ heapUsed }) => heapUsed)),
    };
  });
}

const { values } = parseArgs({
  options: {
    pairs: { type: "string", default: "3" },
    only: { type: "string", default: "drain,delay,memory" },
  },
});
const pairs = Number(values.pairs);
const parts = values.only.split(",");
if (parts.includes("drain")) await drain(pairs);
if (parts.includes("delay")) await delay();
if (parts.includes("memory")) await memory(pairs);
