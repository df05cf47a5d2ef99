/**
 * What a query costs: each operation over a filled store compared with a bare fastify route that returns the same bytes
 * from memory, loaded by autocannon in its own process, in pairs.
 * Prints the ratio of the rates (1 = as fast as no work at all), the 99th percentile of latency, the event loop's
 * delay under load, and the memory that the responses took.
 * Usage: node --import tsx scripts/bench/query.ts [seconds per run] [days of minute readings]
 */

import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { promisify } from "node:util";
import { fastify } from "fastify";
import { createSeriesMaker } from "../../src/core/query/series.ts";
import type { Sensor } from "../../src/core/sensor.ts";
import type { Site } from "../../src/core/site.ts";
import { fixedSite } from "../../src/core/site-source.ts";
import { queryRoutes } from "../../src/features/query-service/query-service.ts";
import { createHttpServer } from "../../src/http/server.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { DftPlans } from "../../src/pipeline/signal/fft.ts";
import { historyPages } from "../../src/pipeline/store/readings/history-pages.ts";
import type { Store } from "../../src/pipeline/store/store.ts";
import { OPTIONS, testParts } from "../../test/support/http-parts.ts";
import {
  append,
  DAY_MS,
  mainOf,
  readingOf,
  tempStore,
  waveformOf,
} from "../../test/support/temp-database.ts";

const SENSORS = 100;
const MINUTE_MS = 60_000;
const CONNECTIONS = 4;
const SAMPLES = 4096;
const run = promisify(execFile);

interface Load {
  readonly perS: number;
  readonly p99Ms: number;
}

/** Repeats one request; responses other than 2xx are a bug of the bench. */
async function load(url: string, body: string | null, seconds: number): Promise<Load> {
  const program = createRequire(`${process.cwd()}/package.json`).resolve("autocannon");
  const post =
    body === null ? [] : ["-m", "POST", "-H", "content-type=application/json", "-b", body];
  const words = [program, "-j", "-n", "-c", `${CONNECTIONS}`, "-d", `${seconds}`, ...post, url];
  const { stdout } = await run(process.execPath, words, { maxBuffer: 1 << 26 });
  const result = JSON.parse(stdout) as {
    readonly requests: { readonly total: number };
    readonly duration: number;
    readonly latency: { readonly p99: number };
    readonly non2xx: number;
    readonly errors: number;
  };
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url}: ${stdout.slice(0, 300)}`);
  return { perS: result.requests.total / result.duration, p99Ms: result.latency.p99 };
}

function sensorOf(index: number): Sensor {
  const location = { company: 1, area: index % 5, machine: index, point: 1 };
  return index === 0
    ? { code: "1", type: 3, kinds: ["accel"], location, channels: {}, machineClass: "class2" }
    : { code: `${index + 1}`, type: 40, kinds: ["rpm"], location, channels: {} };
}

async function fill(store: Store, site: Site, nowMs: number, days: number): Promise<void> {
  for (let day = days; day >= 1; day--) {
    const start = nowMs - day * DAY_MS;
    for (const { code, kinds } of site.sensors) {
      const kind = kinds[0] ?? "rpm";
      const readings = Array.from({ length: 1440 }, (_, minute) => {
        const timeMs = start + minute * MINUTE_MS;
        if (kind === "rpm")
          return readingOf(code, timeMs, { kind, values: { rpm: 1480 + (minute % 7) } });
        const names = [1, 2, 3].flatMap((n) =>
          ["accel_rms", "vel_rms", "env_rms"].map((name) => `channel${n}_${name}`),
        );
        return readingOf(code, timeMs, {
          kind,
          values: Object.fromEntries(names.map((name, index) => [name, index + minute / 1440])),
          units: Object.fromEntries(names.map((name) => [name, "G"])),
          attributes: { recording_reason: 2, sample_rate: 6400 },
          waveform: minute % 720 === 0 ? waveformOf(SAMPLES) : null,
        });
      });
      await append(store, readings);
    }
    process.stderr.write(`\rfilling: ${days - day + 1} of ${days} days`);
  }
  process.stderr.write("\n");
}

async function main(seconds: number, days: number): Promise<void> {
  const endings: (() => void | Promise<void>)[] = [];
  const cleanup = { after: (end: () => void | Promise<void>) => void endings.unshift(end) };
  const site: Site = {
    site: "bench",
    sensors: Array.from({ length: SENSORS }, (_, i) => sensorOf(i)),
  };
  const nowMs = Date.now();
  const store = tempStore(cleanup, {
    uplinks: mainOf(),
    bufferMaxMb: 8192,
    historyDays: 400,
    waveformDays: 400,
  });
  await fill(store, site, nowMs, days);
  const history = historyPages(store.history);
  const fileId = history
    .page({
      sensor: "1",
      kind: "accel",
      fromMs: 0,
      toMs: nowMs,
      order: "descending",
      after: null,
      limit: 1440,
    })
    .flatMap(({ waveforms }) => waveforms)[0]?.fileId;
  const base = testParts({
    routes: [queryRoutes(null)],
    site: fixedSite(site),
    series: createSeriesMaker(new DftPlans()),
    waveforms: store.waveforms,
  });
  const server = createHttpServer({ ...base, history, clock: systemClock }, OPTIONS);
  const address = await server.listen();
  cleanup.after(() => server.close());

  const date = (ms: number) => new Date(ms).toISOString().slice(0, 19).replace("T", " ");
  const place = { Token: "x", machinecode: 0, pointindex: 1 };
  const asked = { StartDate: date(nowMs - 3 * DAY_MS), EndDate: date(nowMs - 2 * DAY_MS) };
  const cases: [string, string, object | null][] = [
    ["GetUnits", "/ApiWeb.svc/GetUnits", { Token: "x" }],
    ["GetCurrentMeasures", "/ApiWeb.svc/GetCurrentMeasures", { Token: "x" }],
    ["GetDevices (100)", "/ApiWeb.svc/GetDevices", { Token: "x" }],
    [
      "GetAllHistoryMeasures, a day",
      "/ApiWeb.svc/GetAllHistoryMeasures",
      { ...place, axis: 1, ...asked },
    ],
    [
      "GetFFT_Base64, 4096 samples",
      "/ApiWeb.svc/GetFFT_Base64",
      { ...place, fileid: fileId, OutputType: 1, SignalTypeOut: 2 },
    ],
    ["api status", "/api/v1/status", null],
    ["api sensors (100)", "/api/v1/sensors", null],
    ["api readings, 100", "/api/v1/readings?sensor=2&kind=rpm", null],
    ["api trend, all days", `/api/v1/trend?sensor=2&kind=rpm&from=${nowMs - days * DAY_MS}`, null],
  ];
  console.log(
    `${SENSORS} sensors, ${days} days of minute readings, ${CONNECTIONS} connections, ${seconds} s a run\n`,
  );
  console.log(
    "| question | answer, kB | per s | bare route, per s | ratio | p99 ms | loop delay p99 ms | RSS growth MB |",
  );
  console.log("| --- | --- | --- | --- | --- | --- | --- | --- |");
  for (const [name, path, fields] of cases) {
    const body = fields === null ? null : JSON.stringify(fields);
    const first = await fetch(
      address + path,
      body === null
        ? {}
        : { method: "POST", headers: { "content-type": "application/json" }, body },
    );
    const text = await first.text();
    if (text.includes('"StatusNumber":9')) throw new Error(`${name}: ${text.slice(0, 200)}`);
    const bare = fastify();
    bare.post("/bare", (_request, reply) => reply.type("application/json").send(text));
    bare.get("/bare", (_request, reply) => reply.type("application/json").send(text));
    await bare.listen({ host: "127.0.0.1", port: 0 });
    const port = (bare.server.address() as AddressInfo).port;
    const plain = await load(`http://127.0.0.1:${port}/bare`, body, seconds);
    await bare.close();
    const rssBefore = process.memoryUsage.rss();
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    const real = await load(address + path, body, seconds);
    delay.disable();
    const growthMb = (process.memoryUsage.rss() - rssBefore) / 1048576;
    const loopMs = Math.max(0, delay.percentile(99) / 1e6 - 10);
    const cells = [
      name,
      (text.length / 1000).toFixed(1),
      real.perS.toFixed(0),
      plain.perS.toFixed(0),
      (real.perS / plain.perS).toFixed(3),
      real.p99Ms.toFixed(0),
      loopMs.toFixed(1),
      growthMb.toFixed(0),
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
  for (const end of endings) await end();
}

void main(Number(process.argv[2] ?? 4), Number(process.argv[3] ?? 14));
