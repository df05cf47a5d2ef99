import { sensorBands } from "../../src/core/bands/definition.ts";
import { EngineFailures } from "../../src/core/engine-failures.ts";
import type { Machine } from "../../src/core/machine.ts";
import type { Reason } from "../../src/core/quality.ts";
import type { Reading } from "../../src/core/reading.ts";
import type { Sensor } from "../../src/core/sensor.ts";
import type { Site } from "../../src/core/site.ts";
import { ReplaceableSite } from "../../src/core/site-source.ts";
import { inOneGo } from "../../src/core/steps.ts";
import { BandMaker } from "../../src/features/bands/band-maker.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { DftPlans } from "../../src/pipeline/signal/fft.ts";
import { machinesOf } from "./machines-of.ts";
import { ManualClock } from "./manual-clock.ts";
import {
  append,
  type Cleanup,
  DAY_MS,
  dayOf,
  keyOf,
  readingOf,
  START_MS,
  tempStore,
} from "./temp-database.ts";

export const MINUTE_MS = 60_000;
export const RATE_HZ = 6400;
export const SIZE = 2048;
export const SHAFT_HZ = 25;

export const MACHINE: Machine = {
  id: 40,
  speed: { sensor: "300" },
  bands: {
    orders: [1],
    custom: [{ name: "hf", from: 900, to: 1100, unit: "Hz", of: "accel" }],
  },
};

export function siteOf(machine: Machine): Site {
  const location = { company: 1, area: 1, machine: 40, point: 1 };
  const pump: Sensor = {
    code: "200",
    type: 3,
    kinds: ["accel"],
    channels: { channel1: { axis: "H" } },
    location,
  };
  const bands = sensorBands(pump, [machine]);
  return {
    site: "plant-7",
    sensors: [
      bands === null ? pump : { ...pump, bands },
      { code: "300", type: 6, kinds: ["rpm"], channels: {} },
      { code: "400", type: 9, kinds: ["dryContact"], channels: {} },
    ],
    machines: [machine],
  };
}

/** 0.5 G at 1 kHz, and 0.1 G at the shaft's frequency. */
const samples = Int16Array.from({ length: SIZE }, (_, n) => {
  const at = (hz: number) => Math.sin((2 * Math.PI * hz * n) / RATE_HZ);
  return Math.round(1000 * (0.5 * at(1000) + 0.1 * at(SHAFT_HZ)));
});

/** The band maker over a real store, of a machine with a speed signal. */
export function bandBench(t: Cleanup, machine: Machine = MACHINE) {
  const clock = new ManualClock(START_MS + 12 * 60 * MINUTE_MS);
  const store = tempStore(t, { clock });
  const site = new ReplaceableSite(siteOf(machine));
  const made: Reading[] = [];
  const gateway = {
    /** The store has no samples any more. */
    samplesAreGone: false,
    records: [] as Reading[],
    reads: [] as string[],
    failure: null as string | null,
  };
  const stop = new AbortController();
  t.after(() => stop.abort());
  const timeOf = (minute: number) => START_MS + minute * MINUTE_MS;

  /** A process over the same store. */
  const start = () => {
    const machines = machinesOf(site, store, clock);
    inOneGo(machines.begin());
    store.steps.list = [machines, ...store.steps.list];
    const maker = new BandMaker({
      site,
      wait: machines.wait,
      history: store.history,
      waveforms: {
        read: (fileId) => (gateway.samplesAreGone ? null : store.waveforms.read(fileId)),
      },
      readWanted: async (key, wanted) => {
        gateway.reads.push(`${key.sensor} ${key.day}`);
        if (gateway.failure !== null) return gateway.failure;
        for (const reading of gateway.records)
          if (wanted.has(reading.id)) await wanted.take(reading);
        return null;
      },
      log: store.readings,
      memory: store.meta,
      clock,
      gatewayNow: () => clock.now(),
      samplesMs: 7 * DAY_MS,
      zone: "UTC",
      plans: new DftPlans(),
      failures: new EngineFailures({ clock, logger: silentLogger }),
      logger: silentLogger,
      metrics: createMetrics(),
      onStored: (reading) => made.push(reading),
    });
    const ending = new AbortController();
    const running = maker.run(AbortSignal.any([stop.signal, ending.signal]));
    return {
      maker,
      machines,
      end: () => {
        ending.abort();
        return running;
      },
    };
  };
  let process = start();
  /** One response with a record at each of these minutes, in their order. */
  const vibrations = async (minutes: readonly number[], salt = "") => {
    const channels = [{ channel: 1, axis: "H" as const, samples }];
    const waveform = { sampleRateHz: RATE_HZ, calibration: 0.001, recordingReason: null, channels };
    const values = { channel1_accel_rms: 0.36 };
    const readings = minutes.map((minute) =>
      readingOf("200", timeOf(minute), { kind: "accel", values, waveform, salt }),
    );
    const fromMs = timeOf(minutes[0] ?? 0);
    gateway.records.push(...readings);
    await append(store, readings, keyOf("200", "accel", dayOf(fromMs)));
    process.maker.stored({ sensor: "200", kind: "accel" }, fromMs, timeOf(minutes.at(-1) ?? 0));
    return readings;
  };
  /** A record that has nothing to measure. */
  const unmeasurable = async (
    minute: number,
    reason: Reason,
    attributes: Reading["attributes"],
  ) => {
    const reading = readingOf("200", timeOf(minute), {
      kind: "accel",
      values: { channel1_accel_rms: null },
      quality: { channel1_accel_rms: { quality: "bad", reason } },
      attributes,
    });
    gateway.records.push(reading);
    await append(store, [reading], keyOf("200", "accel", dayOf(reading.timeMs)));
    process.maker.stored({ sensor: "200", kind: "accel" }, reading.timeMs, reading.timeMs);
    return reading;
  };
  /** @param salt tells records of one time apart */
  const vibration = async (minute: number, salt = "") =>
    (await vibrations([minute], salt))[0] as Reading;
  const signal = (
    sensor: string,
    kind: "rpm" | "dryContact",
    values: object,
    minute: number,
    salt = "",
  ) => {
    const reading = readingOf(sensor, timeOf(minute), { kind, values: values as never, salt });
    return append(
      store,
      [reading],
      keyOf(sensor, kind, dayOf(reading.timeMs)),
      null,
      reading.timeMs,
    );
  };
  return {
    clock,
    site,
    store,
    made,
    gateway,
    unmeasurable,
    vibration,
    vibrations,
    timeOf,
    rpm: (minute: number, rpm: number, salt = "") => signal("300", "rpm", { rpm }, minute, salt),
    contact: (minute: number, input1: boolean) => signal("400", "dryContact", { input1 }, minute),
    maker: () => process.maker,
    /** Until the maker sleeps again after its look. */
    look: async () => {
      for (let turns = 0; turns < 3; turns += 1) {
        await clock.advance(5_000);
        for (let at = 0; at < 50; at += 1) await new Promise((resolve) => setImmediate(resolve));
      }
    },
    restart: async () => {
      await process.end();
      process = start();
    },
    stored: () => [
      ...store.history.range({ kind: "bands", fromMs: 0, toMs: START_MS + 9 * DAY_MS }),
    ],
  };
}
