/**
 * CPU of trends over ten years of hourly values of one value, beside the target of 100 ms: as the API computes them, without HTTP.
 *
 *   node --import tsx scripts/bench/trend.ts [--years 10] [--sensors 10]
 *
 * The store holds every hour and every day of acceleration sensors with 29 values each, more than a full buffer's quarter would.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import Sqlite from "better-sqlite3";
import type { Resolution } from "../../src/core/query/shown.ts";
import { TrendBuckets } from "../../src/core/query/trend.ts";
import { DAY_MS, HOUR_MS } from "../../src/core/time-units.ts";
import { placeOf } from "../../src/features/hours/hour-rows.ts";
import { HourSums } from "../../src/features/hours/rules/hour-sums.ts";
import { encodeSums } from "../../src/features/hours/sums-body.ts";
import { openStore } from "../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../src/pipeline/store/store.ts";
import { append, readingOf, storeOptions } from "../../test/support/temp-database.ts";

const VALUES = 29;
const TARGET_MS = 100;
const RUNS = 5;

const { values: flags } = parseArgs({
  options: {
    years: { type: "string", default: "10" },
    sensors: { type: "string", default: "10" },
  },
});
const years = Number(flags.years);
const sensors = Number(flags.sensors);
const toMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const fromMs = toMs - Math.round(years * 365.25) * DAY_MS;

/** As many different ones as matter. */
const VARIANTS = 97;
const bodies = new Map<string, Buffer>();

function bodyLike(sensor: number, index: number, count: number): Buffer {
  const key = `${sensor} ${index % VARIANTS} ${count}`;
  const body = bodies.get(key) ?? bodyOf(sensor, index % VARIANTS, count);
  bodies.set(key, body);
  return body;
}

function bodyOf(sensor: number, index: number, count: number): Buffer {
  const sums = new HourSums();
  sums.readings = count;
  for (let value = 0; value < VALUES; value += 1) {
    const level = 1 + value / 3 + Math.sin(index / 10 + sensor);
    Object.assign(sums.of(`value${value}`, "mm/s"), {
      count,
      min: level * 0.91,
      mean: level,
      max: level * 1.13,
    });
  }
  return encodeSums({ sums, lost: 0 }, ({ value }) => sensor * VALUES + Number(value.slice(5)));
}

function fill(path: string): void {
  const db = new Sqlite(path);
  const insert = {
    hours: db.prepare("INSERT INTO hours VALUES (?, 0, ?)"),
    days: db.prepare("INSERT INTO days VALUES (?, 0, ?)"),
  };
  db.transaction(() => {
    for (let sensor = 1; sensor <= sensors; sensor += 1) {
      for (let value = 0; value < VALUES; value += 1)
        db.prepare("INSERT INTO hour_series VALUES (?, ?, ?, 'mm/s')").run(
          sensor * VALUES + value,
          sensor,
          `value${value}`,
        );
    }
    for (let hour = fromMs / HOUR_MS; hour < toMs / HOUR_MS; hour += 1)
      for (let sensor = 1; sensor <= sensors; sensor += 1)
        insert.hours.run(placeOf(hour, sensor), bodyLike(sensor, hour, 60));
    for (let day = fromMs / DAY_MS; day < toMs / DAY_MS; day += 1)
      for (let sensor = 1; sensor <= sensors; sensor += 1)
        insert.days.run(placeOf(day, sensor), bodyLike(sensor, day, 1440));
    const state = JSON.stringify({ mark: toMs / HOUR_MS, bytes: 0 });
    db.prepare("INSERT OR REPLACE INTO meta VALUES ('hours', ?)").run(state);
  })();
  db.close();
}

function trend(store: Store, span: Exclude<Resolution, "readings">): number {
  const names = ["value3"];
  const buckets = new TrendBuckets(span, { fromMs, toMs, buckets: 800, names });
  const range = {
    sensor: "5",
    kind: "accel",
    fromMs,
    toMs,
    span,
    takesDays: buckets.takesDays,
    values: names,
  } as const;
  for (const point of store.hours.points(range)) buckets.addPoint(point);
  return buckets.result().series["value3"]?.timesMs.length ?? 0;
}

async function main(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "gateside-trend-"));
  const open = () => openStore(storeOptions(directory, { bufferMaxMb: 8192 }));
  try {
    let store = open();
    for (let sensor = 1; sensor <= sensors; sensor += 1)
      await append(store, [readingOf(String(sensor), toMs, { kind: "accel" })]);
    await store.close();
    fill(join(directory, "gateside.db"));
    store = open();
    for (const span of ["days", "hours"] as const) {
      const times: number[] = [];
      let points = 0;
      for (let run = 0; run < RUNS; run += 1) {
        const before = process.cpuUsage();
        points = trend(store, span);
        const { user, system } = process.cpuUsage(before);
        times.push((user + system) / 1000);
      }
      const best = Math.min(...times);
      console.log(
        `${years} years of one value by ${span}: ${points} points, CPU ${times.map((ms) => ms.toFixed(0)).join(", ")} ms; best ${(best / TARGET_MS).toFixed(2)} of ${TARGET_MS} ms`,
      );
    }
    await store.close();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

await main();
