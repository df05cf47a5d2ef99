/** Target 13: the cost of a reading grows neither with the plant nor with what is stored. */

import { statSync } from "node:fs";
import { join } from "node:path";
import type { Waveform } from "../../src/core/reading.ts";
import { append, readingOf } from "../../test/support/temp-database.ts";
import { fillDeliveredStore } from "./filled-store.ts";
import { cpuMs, median, residentMb, sleep } from "./measure.ts";
import {
  type BenchOptions,
  DAY,
  dayPlan,
  MIDNIGHT_MS,
  type Outcome,
  roundSensors,
  SETTLED_MS,
  small,
  withPlant,
} from "./plant.ts";

interface Cost {
  /** CPU per new reading, ms. */
  readonly perReading: number;
  readonly residentMb: number;
}

/** CPU of a number of rounds with one new reading per sensor. */
async function cost(
  options: BenchOptions,
  sensors: ReturnType<typeof small>,
  rounds: number,
  dataOf?: string,
): Promise<Cost> {
  return withPlant(options, dayPlan(sensors), async (plant) => {
    // Ten readings alone would wait the whole commit window, which costs the bench minutes and no CPU.
    const agent = await plant.agent({ BUFFER_MAX_MB: "8192", COMMIT_INTERVAL_S: "0" }, dataOf);
    const { program, counter } = agent;
    await plant.gateway.open();
    await program.round(DAY);
    const waveforms = sensors.filter(({ kind }) => kind === "accel").length * 3;
    const prepared = sensors.reduce((sum, s) => sum + (s.kind === "accel" ? 3 * s.records : 0), 0);
    await counter.expect(plant.records, prepared);
    await plant.gateway.quiet();
    const next = async () => {
      await plant.gateway.advance();
      const before = [counter.readings, counter.waveforms] as const;
      const { answered } = await plant.gateway.report();
      await program.round(DAY);
      await counter.expect(before[0] + sensors.length, before[1] + waveforms);
      await plant.gateway.served(answered, sensors.length);
      await sleep(SETTLED_MS);
    };
    for (let n = 0; n < Math.min(3, rounds); n++) await next();
    const cpu = cpuMs(program.pid);
    for (let n = 0; n < rounds; n++) await next();
    counter.requireNoDoubles();
    return {
      perReading: (cpuMs(program.pid) - cpu) / rounds / sensors.length,
      residentMb: residentMb(program.pid).now,
    };
  });
}

/** Approximate size in the file of a small reading and of a triaxial record of 3 x 4096 samples of noise. */
const READING_BYTES = 250;
const WAVEFORM_BYTES = 20_000;

/** Samples that cannot be compressed. */
function noise(samples: number): Waveform {
  let state = 1;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 16) - 32_768;
  };
  const axes = ["H", "V", "A"] as const;
  return {
    sampleRateHz: 6400,
    calibration: 0.0005,
    recordingReason: 3,
    channels: axes.map((axis, index) => ({
      channel: index + 1,
      axis,
      samples: Int16Array.from({ length: samples }, next),
    })),
  };
}

/** A store of past days, all delivered, as after months of operation. Returns its size, bytes. */
async function fillStore(options: BenchOptions, directory: string, bytes: number): Promise<number> {
  const dataDir = join(directory, "data");
  const samples = noise(4096);
  const file = join(dataDir, "gateside.db");
  const size = () =>
    statSync(file).size + (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0);
  // Hour by hour over the last twenty days, so that the layout is that of a store that has grown over time.
  const hours = 20 * 24;
  const perHour = Math.ceil(bytes / hours / 2 / READING_BYTES / 50);
  const waveformsPerHour = Math.max(1, Math.round(bytes / hours / 2 / WAVEFORM_BYTES));
  await fillDeliveredStore(dataDir, ["json", "waveform"], async (store) => {
    for (let hour = 0; hour < hours && size() < bytes; hour++) {
      const from = MIDNIGHT_MS - (hours - hour) * 3_600_000;
      const answers: Promise<number>[] = [];
      for (let sensor = 0; sensor < 50; sensor++) {
        const readings = Array.from({ length: perHour }, (_, n) =>
          readingOf(String(10_000 + sensor), from + Math.floor((n * 3_600_000) / perHour), {
            kind: "rpm",
            values: { rpm: 1480 + (n % 7), battery: 3.58, module_temperature: 24.5 },
          }),
        );
        answers.push(append(store, readings));
      }
      const accel = Array.from({ length: waveformsPerHour }, (_, n) =>
        readingOf(String(90_000 + (n % 5)), from + n * 997, { kind: "accel", waveform: samples }),
      );
      for (let sensor = 0; sensor < 5; sensor++) {
        answers.push(
          append(
            store,
            accel.filter(({ sensor: code }) => code === String(90_000 + sensor)),
          ),
        );
      }
      await Promise.all(answers);
    }
  });
  options.say(`a store of ${(size() / 1e6).toFixed(0)} MB`);
  return size();
}

export async function scaleRows(options: BenchOptions): Promise<Outcome> {
  const many: Cost[] = [];
  const few: Cost[] = [];
  const pairs = options.isFull ? 3 : 1;
  for (let pair = 0; pair < pairs; pair++) {
    few.push(await cost(options, small(10, 24), 12));
    many.push(await cost(options, small(2000, 24), 2));
    options.say("10 and 2,000 sensors");
  }
  const sensors = roundSensors(4, 2048);
  const empty: Cost[] = [];
  const full: Cost[] = [];
  const wanted = options.isFull ? 2e9 : 1e8;
  const directory = join(options.directory, "grown");
  const bytes = await fillStore(options, directory, wanted);
  for (let pair = 0; pair < pairs; pair++) {
    empty.push(await cost(options, sensors, 10));
    // The grown store keeps what earlier pairs stored of today, so each pair reads other sensors.
    const others = sensors.map((sensor) => ({ ...sensor, code: `${sensor.code}${pair}` }));
    full.push(await cost(options, others, 10, directory));
  }
  const of = (costs: readonly Cost[], field: keyof Cost) => median(costs.map((c) => c[field]));
  return {
    raw: { many, few, empty, full, bytes },
    rows: [
      {
        target: "13",
        what: "CPU per reading, 2,000 sensors / 10 sensors (ms)",
        measured: of(many, "perReading") / of(few, "perReading"),
        limit: 1.3,
        sense: "<=",
        note: `${of(many, "perReading").toFixed(2)} : ${of(few, "perReading").toFixed(2)}; resident ${of(many, "residentMb").toFixed(0)} : ${of(few, "residentMb").toFixed(0)} MB`,
      },
      {
        target: "13b",
        what: `CPU per reading, store of ${(bytes / 1e6).toFixed(0)} MB / empty store (ms)`,
        measured: of(full, "perReading") / of(empty, "perReading"),
        limit: 1.2,
        sense: "<=",
        note: `${of(full, "perReading").toFixed(2)} : ${of(empty, "perReading").toFixed(2)}; resident ${of(full, "residentMb").toFixed(0)} : ${of(empty, "residentMb").toFixed(0)} MB`,
      },
    ],
  };
}
