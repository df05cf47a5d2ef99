/**
 * Does querying a day cost more in a store that holds a year? The same day of the same sensor is queried through the
 * query service while the store grows backwards from two days to the given number. Each time, the commit of a
 * reading is timed alone and while histories are queried continuously.
 * Usage: node --import tsx scripts/bench/year.ts [days, 365] [sensors, 100] [days of all sensors; later ten only]
 */

import type { FastifyInstance } from "fastify";
import type { Sensor } from "../../src/core/sensor.ts";
import type { Site } from "../../src/core/site.ts";
import { fixedSite } from "../../src/core/site-source.ts";
import { queryRoutes } from "../../src/features/query-service/query-service.ts";
import { createApp } from "../../src/http/server.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { historyPages } from "../../src/pipeline/store/readings/history-pages.ts";
import type { Store } from "../../src/pipeline/store/store.ts";
import { OPTIONS, testParts } from "../../test/support/http-parts.ts";
import {
  append,
  DAY_MS,
  keyOf,
  mainOf,
  readingOf,
  tempStore,
} from "../../test/support/temp-database.ts";
import { median, percentile, sleep } from "./measure.ts";

const MINUTE_MS = 60_000;
/** Sensors that are filled beyond the days that all sensors have. */
const LONG_SENSORS = 10;
const ASKED = 60;
const COMMITS = 150;
const ASKED_SENSOR = 3;

function sensorOf(index: number): Sensor {
  const location = { company: 1, area: index % 5, machine: index + 1, point: 1 };
  return { code: `${index + 1}`, type: 40, kinds: ["rpm"], location, channels: {} };
}

/** One day of minute readings for the sensors; several responses share a commit. */
async function fillDay(store: Store, sensors: readonly Sensor[], startMs: number): Promise<void> {
  await Promise.all(
    sensors.map(({ code }) =>
      append(
        store,
        Array.from({ length: 1440 }, (_, minute) =>
          readingOf(code, startMs + minute * MINUTE_MS, { values: { rpm: 1480 + (minute % 7) } }),
        ),
      ),
    ),
  );
}

async function ask(app: FastifyInstance, fields: object): Promise<number> {
  const answer = await app.inject({
    method: "POST",
    url: "/ApiWeb.svc/GetExtraValues",
    headers: { host: "localhost" },
    payload: { Token: "x", pointindex: 1, ...fields },
  });
  const [{ Key, Value }] = answer.json() as [{ Key: { StatusNumber: number }; Value: unknown[] }];
  if (Key.StatusNumber !== 0) throw new Error(answer.body.slice(0, 200));
  return Value.length;
}

/** Wall-clock and CPU time of several queries, medians, ms. */
async function cost(app: FastifyInstance, fields: object) {
  const walls: number[] = [];
  const cpus: number[] = [];
  let rows = 0;
  for (let i = 0; i < ASKED; i++) {
    const [cpu, wall] = [process.cpuUsage(), performance.now()];
    rows = await ask(app, { ...fields, machinecode: ASKED_SENSOR + (i % 5) });
    walls.push(performance.now() - wall);
    const { user, system } = process.cpuUsage(cpu);
    cpus.push((user + system) / 1000);
  }
  return { rows, wallMs: median(walls), cpuMs: median(cpus), firstMs: walls[0] ?? 0 };
}

/** Time from a reading's arrival to its commit, with and without concurrent queries, ms. */
async function commits(store: Store, code: string, fromMs: number): Promise<number[]> {
  const waits: number[] = [];
  for (let i = 0; i < COMMITS; i++) {
    const at = performance.now();
    await append(store, [readingOf(code, fromMs + i * 1000)], keyOf(code, "rpm", "live"));
    waits.push(performance.now() - at);
    await sleep(5);
  }
  return waits;
}

async function main(days: number, count: number, daysOfAll: number): Promise<void> {
  const endings: (() => void | Promise<void>)[] = [];
  const cleanup = { after: (end: () => void | Promise<void>) => void endings.unshift(end) };
  const site: Site = {
    site: "bench",
    sensors: Array.from({ length: count }, (_, i) => sensorOf(i)),
  };
  const store = tempStore(cleanup, {
    uplinks: mainOf(),
    bufferMaxMb: 60_000,
    historyDays: 4_000,
    commitWindowMs: 5,
  });
  const history = historyPages(store.history);
  const app = createApp(
    {
      ...testParts({ routes: [queryRoutes(null)], site: fixedSite(site) }),
      history,
      clock: systemClock,
    },
    OPTIONS,
  );
  cleanup.after(() => app.close());
  const unit = await rpmUnit(app);
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const day = new Date(today - DAY_MS).toISOString().slice(0, 10);
  const asked = { unit, StartDate: day, EndDate: day };
  console.log(
    "| days | readings, millions | store, GB | rows answered | a day: wall ms | CPU ms | first ms | commit p50/p99 ms | the same while asked |",
  );
  console.log("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
  const stops = [2, 30, 90, 180, days].filter(
    (stop, i, all) => stop <= days && all.indexOf(stop) === i,
  );
  let filled = 0;
  let liveMs = today + DAY_MS;
  for (const stop of stops) {
    for (; filled < stop; filled++) {
      const sensors = filled < daysOfAll ? site.sensors : site.sensors.slice(0, LONG_SENSORS);
      await fillDay(store, sensors, today - (filled + 1) * DAY_MS);
      process.stderr.write(`\rfilling: ${filled + 1} of ${days} days`);
    }
    process.stderr.write("\n");
    const { rows, wallMs, cpuMs, firstMs } = await cost(app, asked);
    const alone = await commits(store, "1", liveMs);
    const busy = new AbortController();
    const asking = (async () => {
      for (let i = 0; !busy.signal.aborted; i++) {
        await ask(app, { ...asked, machinecode: 1 + (i % LONG_SENSORS) });
      }
    })();
    const meanwhile = await commits(store, "2", liveMs);
    busy.abort();
    await asking;
    liveMs += COMMITS * 1000;
    const state = store.state();
    const words = (waits: readonly number[]) =>
      `${median(waits).toFixed(1)} / ${percentile(waits, 99).toFixed(1)}`;
    const cells = [
      stop,
      (state.readings / 1e6).toFixed(1),
      (state.databaseBytes / 1e9).toFixed(1),
      rows,
      wallMs.toFixed(1),
      cpuMs.toFixed(1),
      firstMs.toFixed(1),
      words(alone),
      words(meanwhile),
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
  for (const end of endings) await end();
}

async function rpmUnit(app: FastifyInstance): Promise<number> {
  const answer = await app.inject({
    method: "POST",
    url: "/ApiWeb.svc/GetUnits",
    headers: { host: "localhost" },
    payload: { Token: "x" },
  });
  const [{ Value }] = answer.json() as [{ Value: { Id: number; Name: string }[] }];
  const found = Value.find(({ Name }) => Name === "rpm");
  if (found === undefined) throw new Error("no unit rpm");
  return found.Id;
}

const [days, sensors, daysOfAll] = process.argv.slice(2).map(Number);
void main(days ?? 365, sensors ?? 100, daysOfAll ?? days ?? 365);
