/** What the simulated machines of an exam are judged by: the real analysis and the finding engine. */

import type { FollowedReading } from "../../src/core/followed-reading.ts";
import type { Machine } from "../../src/core/machine.ts";
import type { Sensor } from "../../src/core/sensor.ts";
import type { Site } from "../../src/core/site.ts";
import { FindingEngine } from "../../src/features/diagnosis/rules/engine.ts";
import { analyseAxis } from "../../src/pipeline/signal/analyse.ts";
import { DftPlans } from "../../src/pipeline/signal/fft.ts";
import { VELOCITY_LIMITS, zoneOf } from "../../src/pipeline/signal/severity.ts";
import { DIRECTIONS, RANGE_G } from "./plant-physics.ts";

export const DAY_MS = 86_400_000;
export const START_MS = Date.UTC(2026, 0, 1);
const CLASS = "group2-rigid";
export const LIMITS = VELOCITY_LIMITS[CLASS];
const plans = new DftPlans();

export type Axes = "stated" | "unknown";

/** Bearings that machines may have: name, elements, their diameter, pitch diameter, contact angle. */
export const BEARINGS: readonly (readonly [string, number, number, number, number])[] = [
  ["6203", 8, 6.75, 28.5, 0],
  ["6205", 9, 7.94, 39.04, 0],
  ["6208", 9, 11.91, 60, 0],
  ["6310", 8, 19.05, 80, 0],
  ["6316", 8, 30.16, 125, 0],
  ["6322", 8, 41.28, 175, 0],
  ["7210", 14, 12.7, 70, 40],
  ["7309", 12, 17.46, 72.5, 40],
  ["NU 216", 18, 16, 110, 0],
  ["NU 322", 13, 34, 175, 0],
  ["22220", 19, 19, 141, 10],
  ["UC204", 8, 7.94, 33.5, 0],
];

export const SPEEDS = [380, 590, 742, 985, 1190, 1485, 1782, 2250, 2970, 3560];
/** Sample rate, Hz, and samples of a record. */
export const SHAPES = [
  [1600, 2048],
  [3200, 2048],
  [3200, 4096],
  [6400, 4096],
  [6400, 8192],
  [12_800, 4096],
  [12_800, 8192],
  [25_600, 16_384],
] as const;

export function velocityOf(counts: Int16Array, sampleRateHz: number): number {
  return (
    analyseAxis(counts, { sampleRateHz, calibration: RANGE_G / 32_768, plans }).velocityRms.value ??
    0
  );
}

/** An engine of one sensor on this machine, whose speed the exam sets. */
export function engineFor(machine: Omit<Machine, "id" | "speed">, axes: Axes) {
  const sensor: Sensor = {
    code: "1",
    type: 3,
    kinds: ["accel"],
    channels:
      axes === "stated"
        ? { channel1: { axis: "H" }, channel2: { axis: "V" }, channel3: { axis: "A" } }
        : {},
    machineClass: CLASS,
    location: { company: 1, area: 2, machine: 40, point: 1 },
  };
  const site: Site = {
    site: "exam",
    sensors: [sensor, { code: "2", type: 40, kinds: ["rpm"], channels: {} }],
    machines: [{ id: 40, speed: { sensor: "2" }, ...machine }],
  };
  const speed = { rpm: 0 };
  const engine = new FindingEngine(site, {
    wait: {
      admit: () => true,
      due: function* () {},
      isSignal: () => false,
      speedAround: () => ({ rpm: speed.rpm, nextRpm: null, timeMs: 0 }),
      stateAt: () => "running",
    },
  });
  return { engine, speed };
}

export function readingOf(
  channels: readonly Int16Array[],
  sampleRateHz: number,
  timeMs: number,
): FollowedReading {
  const values: Record<string, number | string | null> = {};
  const tones = channels.map((counts, i) => {
    const analysis = analyseAxis(counts, {
      sampleRateHz,
      calibration: RANGE_G / 32_768,
      plans,
      tones: true,
    });
    const velocity = analysis.velocityRms.value;
    values[`channel${i + 1}_vel_rms`] = velocity;
    values[`channel${i + 1}_env_rms`] = analysis.envelopeRms.value;
    values[`channel${i + 1}_zone`] = velocity === null ? null : zoneOf(velocity, LIMITS);
    return {
      channel: i + 1,
      axis: DIRECTIONS[i] ?? "H",
      durationS: counts.length / sampleRateHz,
      isClipped: (analysis.clipCount ?? 0) > 0,
      tones: analysis.tones,
    };
  });
  return {
    id: timeMs.toString(16).padStart(32, "0"),
    timeMs,
    isFuture: false,
    quality: {},
    values,
    tones,
  };
}
