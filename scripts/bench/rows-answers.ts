/** Rows 16 and 17: what an answer of the query service costs, over a real store, without sockets. */
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { type FastifyInstance, fastify } from "fastify";
import type { Sensor } from "../../src/core/sensor.ts";
import { fixedSite } from "../../src/core/site-source.ts";
import { queryRoutes } from "../../src/features/query-service/query-service.ts";
import { createApp } from "../../src/http/server.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { historyPages } from "../../src/pipeline/store/readings/history-pages.ts";
import { OPTIONS, testParts } from "../../test/support/http-parts.ts";
import {
  append,
  DAY_MS,
  mainOf,
  readingOf,
  tempDirectory,
  tempStore,
} from "../../test/support/temp-database.ts";
import { median } from "./measure.ts";
import type { BenchOptions, Outcome, Row } from "./plant.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const MONTH_DAYS = 31;
/** The first answers run code that V8 has not seen. */
const WARM_UP = 20;
const RUNS = 21;

const isVibration = (index: number) => index % 10 === 0;

function sensorOf(index: number): Sensor {
  const location = { company: 1, area: index % 5, machine: index + 1, point: 1 };
  const code = `${index + 1}`;
  return isVibration(index)
    ? { code, type: 3, kinds: ["accel"], location, channels: {}, machineClass: "class2" }
    : { code, type: 40, kinds: ["rpm"], location, channels: {} };
}

const QUANTITIES = [
  ["accel_rms", "G"],
  ["vel_rms", "mm/s"],
  ["env_rms", "GE"],
] as const;
const VALUES = [1, 2, 3].flatMap((n) => QUANTITIES.map(([name]) => `channel${n}_${name}`));

function readingAt(index: number, timeMs: number) {
  const { code, kinds } = sensorOf(index);
  const more = { battery: 3.58, module_temperature: 24.5 };
  if (!isVibration(index))
    return readingOf(code, timeMs, { values: { rpm: 1480 + (timeMs % 7), ...more } });
  return readingOf(code, timeMs, {
    kind: kinds[0] ?? "accel",
    values: {
      ...Object.fromEntries(VALUES.map((name, n) => [name, n + 0.25])),
      ...more,
      temperature: 24.5,
    },
    units: Object.fromEntries(VALUES.map((name) => [name, "G"])),
    attributes: { recording_reason: 2, sample_rate: 6400, version: 12 },
  });
}

/** `days`: of readings of the first sensor, one a minute; the others have an hour. */
async function open(
  cleanup: { after(end: () => void | Promise<void>): void },
  count: number,
  days: number,
  nowMs: number,
) {
  const dataDir = tempDirectory(cleanup);
  const options = { dataDir, uplinks: mainOf(), bufferMaxMb: 8192, historyDays: 400 };
  const store = tempStore(cleanup, options);
  for (let index = 0; index < count; index += 1)
    await append(
      store,
      Array.from({ length: 60 }, (_, n) => readingAt(index, nowMs - (n + 1) * MINUTE_MS)),
    );
  for (let day = 1; day <= days; day += 1)
    await append(
      store,
      Array.from({ length: 1440 }, (_, n) => readingAt(0, nowMs - day * DAY_MS - n * MINUTE_MS)),
    );
  const sensors = Array.from({ length: count }, (_, index) => sensorOf(index));
  const parts = testParts({
    routes: [queryRoutes(null)],
    site: fixedSite({ site: "bench", sensors }),
  });
  const history = historyPages(store.history);
  const app = createApp({ ...parts, history, clock: systemClock }, OPTIONS);
  cleanup.after(() => app.close());
  return { app, path: join(dataDir, "gateside.db") };
}

/** The same answer by bare libraries: rows of an hour with the texts that it takes, parsed, put together, and sent. */
function bareHistory(path: string, fromMs: number, toMs: number): FastifyInstance {
  const app = fastify();
  const db = new Sqlite(path, { readonly: true });
  app.addHook("onClose", () => db.close());
  const ofHour = db
    .prepare<unknown[], [timeMs: number, values: string, attributes: string]>(
      `SELECT time_ms, "values", attributes FROM readings WHERE stream = 1 AND hour = ? ORDER BY time_ms`,
    )
    .raw();
  app.post("/ApiWeb.svc/bare", (_, reply) => {
    const rows: string[] = [];
    for (let hour = fromMs / HOUR_MS; hour < toMs / HOUR_MS; hour += 1)
      for (const [timeMs, text, attributes] of ofHour.all(hour)) {
        const values = JSON.parse(text);
        const reason = JSON.parse(attributes)["recording_reason"];
        const head = [1, 1, 1, new Date(timeMs).toISOString()];
        for (const [name, unit] of QUANTITIES)
          rows.push(JSON.stringify([...head, unit, null, values[`channel1_${name}`], reason]));
      }
    return reply.type("application/json").send(`[{"data":[${rows.join()}]}]`);
  });
  return app;
}

async function ask(app: FastifyInstance, operation: string, fields: object): Promise<string> {
  const { body } = await app.inject({
    method: "POST",
    url: `/ApiWeb.svc/${operation}`,
    headers: { host: "localhost" },
    payload: { Token: "x", ...fields },
  });
  return body;
}

/** CPU of one answer, ms: the median of the runs, and the first. */
async function cost(work: () => Promise<unknown>, runs: number) {
  const times: number[] = [];
  for (let run = 0; run < WARM_UP + runs; run += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  const later = times.slice(WARM_UP).sort((a, b) => a - b);
  const spread = `${later[0]?.toFixed(1)} to ${later.at(-1)?.toFixed(1)}`;
  return {
    ms: median(later),
    text: `${runs} answers, ${spread}; the first ${times[0]?.toFixed(0)}`,
  };
}

export async function answerRows({ isQuick }: BenchOptions): Promise<Outcome> {
  const endings: (() => void | Promise<void>)[] = [];
  const cleanup = { after: (end: () => void | Promise<void>) => void endings.unshift(end) };
  const runs = isQuick ? 5 : RUNS;
  const nowMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const date = (ms: number) => new Date(ms).toISOString().slice(0, 19).replace("T", " ");
  try {
    const rows: Row[] = [];
    const { app: hundred, path } = await open(cleanup, 100, MONTH_DAYS, nowMs);
    const { app: many } = await open(cleanup, 2000, 0, nowMs);
    for (const [operation, app, count, limit] of [
      ["GetDevices", hundred, 100, 3],
      ["GetCurrentMeasures", hundred, 100, 3],
      ["GetAllDevices", many, 2000, 300],
    ] as const) {
      const body = await ask(app, operation, {});
      if (!body.includes('"StatusNumber":0') && !body.startsWith("[{"))
        throw new Error(`${operation}: ${body.slice(0, 200)}`);
      const { ms, text } = await cost(() => ask(app, operation, {}), runs);
      const note = `${text}; ${(body.length / 1000).toFixed(0)} kB`;
      const what = `${operation} of ${count} sensors, CPU`;
      rows.push({ target: "16", what, measured: ms, limit, sense: "<=", unit: "ms", note });
    }
    for (const [name, days] of [
      ["a day", 1],
      ["a month", MONTH_DAYS - 1],
    ] as const) {
      const [fromMs, toMs] = [nowMs - (days + 1) * DAY_MS, nowMs - DAY_MS];
      const asked = { StartDate: date(fromMs), EndDate: date(toMs - 1000) };
      const fields = { machinecode: 1, pointindex: 1, axis: 1, ...asked };
      const own = () => ask(hundred, "GetAllHistoryMeasures", fields);
      const bare = bareHistory(path, fromMs, toMs);
      cleanup.after(() => bare.close());
      const [body, other] = [await own(), await ask(bare, "bare", fields)];
      const dates = (text: string) => text.split("[1,1,1,").length - 1;
      if (dates(body) !== dates(other) || dates(body) !== 3 * 1440 * days)
        throw new Error(`${dates(body)} rows, by bare libraries ${dates(other)}`);
      const times = days > 1 ? 5 : runs;
      const ours = await cost(own, times);
      const theirs = await cost(() => ask(bare, "bare", fields), times);
      const eachUs = (1000 * ours.ms) / (1440 * days);
      const row = { target: "17", sense: "<=", digits: 1 } as const;
      const what = `GetAllHistoryMeasures, ${name}`;
      rows.push(
        { ...row, what: `${what}, CPU a reading`, measured: eachUs, limit: 10, unit: "us" },
        {
          ...row,
          what: `${what} / the same by bare libraries (CPU ms)`,
          measured: ours.ms / theirs.ms,
          limit: 1.3,
          note: `${ours.ms.toFixed(1)} : ${theirs.ms.toFixed(1)}; ${(body.length / 1000).toFixed(0)} kB; ${ours.text}`,
        },
      );
    }
    return { rows, raw: rows };
  } finally {
    for (const end of endings) await end();
  }
}
