/**
 * What the store writes for 55 sensors with a record a minute each, and into which tables: the load of rows 5 and 5c without the
 * rest of the agent, so that a day takes seconds.
 *
 *   node --import tsx scripts/bench/store-writes.ts [--minutes 60] [--every 6] [--rounds | --scattered] [--pages] [--without-hours]
 *
 * `--every` is the time between commits, s. Sensors report in the order of the site file, as in row 5c: those of one commit
 * share pages. With `--scattered` they do not; with `--rounds` all report at once. `--pages` shows pages by table. With
 * `--without-hours` nothing is counted for hourly values, which tells what they cost (row 5h).
 * Only whole cycles from checkpoint to checkpoint are counted, at least `--minutes`.
 */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import Sqlite from "better-sqlite3";
import type { Lane } from "../../src/core/delivery/delivery.ts";
import type { Reading, Waveform } from "../../src/core/reading.ts";
import { openStore } from "../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../src/pipeline/store/store.ts";
import { KEEP } from "../../test/support/keep.ts";
import {
  append,
  keyOf,
  mainOf,
  readingOf,
  storeOptions,
} from "../../test/support/temp-database.ts";
import { writtenBytes } from "./measure.ts";

const SMALL = 50;
const ACCEL = 5;
const SAMPLES = 2048;
const CADENCE_S = 60;
const HOUR_MS = 3_600_000;
const LANES: readonly Lane[] = ["json", "waveform"];
/** Midday, so that hours change as in a day. */
const START_MS = Math.floor(Date.now() / 86_400_000) * 86_400_000 + 43_200_000;
/** Published sizes: JSON of a small reading, and a waveform message with a record's floats in base64. */
const PAYLOAD_SMALL = 489;
const PAYLOAD_ACCEL = 34_400;

/** A rotating machine with noise, as in the other rows. */
function waveformOf(seed: number): Waveform {
  let state = seed * 2_654_435_761;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const axes = ["H", "V", "A"] as const;
  return {
    sampleRateHz: 6400,
    calibration: 0.000488,
    recordingReason: 2,
    channels: axes.map((axis, index) => ({
      channel: index + 1,
      axis,
      samples: Int16Array.from({ length: SAMPLES }, (_, n) =>
        Math.round(
          400 * Math.sin((2 * Math.PI * 24.6 * n) / 6400) +
            (random() + random() + random() - 1.5) * 300,
        ),
      ),
    })),
  };
}

const VALUE_NAMES =
  "accel_rms accel_peak accel_pp crest_factor kurtosis vel_rms disp_pp env_rms zone".split(" ");

/** Readings as decoded from the gateway's records, so that rows have the lengths of a real site's. */
function accelReading(sensor: string, timeMs: number, waveform: Waveform): Reading {
  const names = [1, 2, 3].flatMap((n) => VALUE_NAMES.map((name) => `channel${n}_${name}`));
  const values = {
    ...Object.fromEntries(
      names.map((name, i) => [name, name.endsWith("zone") ? "B" : Math.sin(timeMs + i) * 3]),
    ),
    temperature: 31.5,
  };
  const units = Object.fromEntries(names.map((name) => [name, "G"]));
  const time = new Date(timeMs).toISOString();
  const attributes = {
    battery_type: 2,
    sample_rate: 6400,
    samples: SAMPLES,
    recording_reason: 2,
    device: "vibration",
    time_data: time,
    realnodetime: time,
    time_source: "realnodetime",
    utc_offset: "+0000",
  };
  const raw = {
    sensor_code: sensor,
    battery_type: 2,
    calibration: 0.000488,
    device: "vibration",
    hasrealtime: true,
    recording_reason: 2,
    sample_rate: 6400,
    sensor_type: 3,
    sequence: 43_167,
    temperature: 31.5,
    trigger: 0,
    trigger_type: 0,
    realnodetime: `/Date(${timeMs}+0000)/`,
    time_data: `/Date(${timeMs}+0000)/`,
  };
  return readingOf(sensor, timeMs, { kind: "accel", values, units, attributes, raw, waveform });
}

function smallReading(sensor: string, timeMs: number): Reading {
  const values = { rpm: 1480 + (timeMs % 97) / 10, battery: 3.58, module_temperature: 24.5 };
  const units = { rpm: "rpm", battery: "V", module_temperature: "degC" };
  const attributes = { version: 12, battery_type: 2, utc_offset: "+0000" };
  const raw = {
    sensor_code: sensor,
    RPM: values.rpm,
    battery: 3.58,
    battery_type: 2,
    module_temperature: 24.5,
    version: 12,
    time_data: `/Date(${timeMs}+0000)/`,
  };
  return readingOf(sensor, timeMs, { values, units, attributes, raw });
}

/** Frames that each commit appended to the -wal, by page number. */
class LogWatch {
  readonly #path: string;
  #salt = "";
  #frames = 0;
  frames = 0;
  /** Logs begun so far: the first commit after a checkpoint begins another one. */
  logs = 0;
  readonly byPage = new Map<number, number>();

  constructor(path: string) {
    this.#path = path;
  }

  look(): void {
    const file = openSync(this.#path, "r");
    try {
      const head = Buffer.alloc(32);
      readSync(file, head, 0, 32, 0);
      const frameBytes = head.readUInt32BE(8) + 24;
      const salt = head.toString("hex", 16, 24);
      if (salt !== this.#salt) {
        this.#frames = 0;
        this.logs += 1;
      }
      this.#salt = salt;
      const all = Math.floor((statSync(this.#path).size - 32) / frameBytes);
      const frame = Buffer.alloc(24);
      for (; this.#frames < all; this.#frames++) {
        readSync(file, frame, 0, 24, 32 + this.#frames * frameBytes);
        if (frame.toString("hex", 8, 16) !== salt) break;
        const page = frame.readUInt32BE(0);
        this.byPage.set(page, (this.byPage.get(page) ?? 0) + 1);
        this.frames += 1;
      }
    } finally {
      closeSync(file);
    }
  }
}

/** Delivers everything pending; outcomes wait for the next commit. */
function deliver(store: Store): void {
  for (const lane of LANES) {
    for (;;) {
      const entries = [
        ...store.outbox.lease(lane, "live", 100),
        ...store.outbox.lease(lane, "backlog", 100),
      ];
      if (entries.length === 0) break;
      void store.outbox.settle(
        lane,
        entries.map((entry) => ({ entry, outcome: "sent" as const })),
      );
    }
  }
}

const CHECKPOINT = (n: number) =>
  JSON.stringify([
    1,
    "rpm sensor",
    20_000 + n * 160,
    "89abcdef01234567",
    218,
    "0123456789abcdef",
    n,
    "afterItem a o3 v",
  ]);

async function main(): Promise<void> {
  const { values: flags } = parseArgs({
    options: {
      minutes: { type: "string", default: "60" },
      every: { type: "string", default: "6" },
      rounds: { type: "boolean", default: false },
      scattered: { type: "boolean", default: false },
      pages: { type: "boolean", default: false },
      "without-hours": { type: "boolean", default: false },
    },
  });
  // As in row 5c, or so that neighbours of the site file do not report one after the other.
  const spreadMs = flags.scattered ? 22_013 : 977;
  const [minutes, every] = [Number(flags.minutes), flags.rounds ? CADENCE_S : Number(flags.every)];
  const directory = mkdtempSync(join(tmpdir(), "gateside-writes-"));
  let nowMs = START_MS;
  const store = openStore(
    storeOptions(directory, {
      gatewayNow: () => nowMs,
      uplinks: mainOf(...LANES),
      keep: KEEP,
      ...(flags["without-hours"] && { count: undefined }),
      commitWindowMs: 1e8,
      commitPaceMs: 1e8,
      bufferMaxMb: 2048,
    }),
  );
  const watch = new LogWatch(join(directory, "gateside.db-wal"));
  const waveforms = Array.from({ length: 24 }, (_, n) => waveformOf(n + 1));
  const sensors = SMALL + ACCEL;
  const counts = new Map<number, number>();
  let [readings, payload] = [0, 0];
  /** All records of the sensors that are due between two moments, s, in one commit. */
  const step = async (fromS: number, toS: number, isRound = flags.rounds) => {
    const work: Promise<unknown>[] = [];
    for (let s = 0; s < sensors; s++) {
      const offset = isRound ? 0 : ((s * spreadMs) % (CADENCE_S * 1000)) / 1000;
      const next = Math.ceil((fromS - offset) / CADENCE_S) * CADENCE_S + offset;
      if (next >= toS) continue;
      const timeMs = START_MS + Math.round(next * 1000);
      const isAccel = s >= SMALL;
      const n = (counts.get(s) ?? 0) + 1;
      counts.set(s, n);
      const waveform = waveforms[(n * 7 + s) % waveforms.length] as Waveform;
      const reading = isAccel
        ? accelReading(`${90_000 + s}`, timeMs, waveform)
        : smallReading(`${10_000 + s}`, timeMs);
      const day = new Date(timeMs).toISOString().slice(0, 10);
      work.push(append(store, [reading], keyOf(reading.sensor, reading.kind, day), CHECKPOINT(n)));
      readings += 1;
      payload += isAccel ? PAYLOAD_ACCEL : PAYLOAD_SMALL;
    }
    // append() queues its work only after some turns of the event loop.
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
    await store.readings.flush();
    await Promise.all(work);
    watch.look();
    deliver(store);
    // Hourly values are written an hour after their end.
    const isNextHour =
      Math.floor((START_MS + toS * 1000) / HOUR_MS) !== Math.floor(nowMs / HOUR_MS);
    nowMs = START_MS + toS * 1000;
    if (!isNextHour) return;
    await store.retain();
    watch.look();
  };
  /** After each commit, so that only whole cycles from checkpoint to checkpoint count: a part of one would show too little. */
  const total = (s: number) => ({
    s,
    bytes: writtenBytes(process.pid),
    commits: store.statistics.commits,
    frames: watch.frames,
    cpuUs: Object.values(process.cpuUsage()).reduce((a, b) => a + b, 0),
    readings,
    payload,
  });
  // A first start reads the sensors in the order of the site file.
  await step(0, every, true);
  let s = CADENCE_S;
  let log = watch.logs;
  const nextCycle = async () => {
    let before = total(s);
    while (watch.logs === log) {
      before = total(s);
      await step(s, s + every);
      s += every;
    }
    log = watch.logs;
    return before;
  };
  // The first one holds what a new store writes once.
  for (let cycle = 0; cycle < 2; cycle++) await nextCycle();
  const from = await nextCycle();
  watch.byPage.clear();
  let to = await nextCycle();
  let cycles = 1;
  for (; to.s - from.s < minutes * 60; cycles++) to = await nextCycle();
  const [bytes, made, count] = [
    to.bytes - from.bytes,
    to.commits - from.commits,
    to.readings - from.readings,
  ];
  console.log(
    `${count} readings, ${made} commits, ${cycles} checkpoints, ${(bytes / 1e6).toFixed(2)} MB written: ${(bytes / (to.payload - from.payload)).toFixed(2)} a payload byte, ${(bytes / count / 1000).toFixed(3)} kB a reading, ${((bytes / (to.s - from.s)) * 0.0864).toFixed(0)} MB a day; ${((to.frames - from.frames) / made).toFixed(1)} frames a commit; CPU ${((to.cpuUs - from.cpuUs) / 1000 / count).toFixed(4)} ms a reading`,
  );
  await store.close();
  if (flags.pages) showPages(join(directory, "gateside.db"), watch, made);
  rmSync(directory, { recursive: true, force: true });
}

function showPages(path: string, watch: LogWatch, commits: number): void {
  const db = new Sqlite(path, { readonly: true });
  const owners = new Map<number, string>(
    (
      db.prepare("SELECT pageno, name, pagetype FROM dbstat").raw().all() as [
        number,
        string,
        string,
      ][]
    ).map(([page, name, type]) => [page, `${name} ${type}`]),
  );
  db.close();
  const sums = new Map<string, number>();
  for (const [page, frames] of watch.byPage) {
    const owner = page === 1 ? "header" : (owners.get(page) ?? "map or free");
    sums.set(owner, (sums.get(owner) ?? 0) + frames);
  }
  for (const [owner, frames] of [...sums].sort((a, b) => b[1] - a[1]))
    console.log(`  ${(frames / commits).toFixed(2).padStart(6)}  ${owner}`);
}

await main();
