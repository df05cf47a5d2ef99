/** One record as a series of readings: through the real analysis and the finding engine. */

import { bearingOrders } from "../../src/core/bearing-orders.ts";
import type { FindingKind } from "../../src/core/diagnosis/finding.ts";
import type { FollowedReading } from "../../src/core/followed-reading.ts";
import type { Bearing } from "../../src/core/machine.ts";
import type { Sensor } from "../../src/core/sensor.ts";
import type { Site } from "../../src/core/site.ts";
import { UnitOfWork } from "../../src/core/tx.ts";
import { faultsOf } from "../../src/features/diagnosis/rules/bearing-fault.ts";
import { FindingEngine } from "../../src/features/diagnosis/rules/engine.ts";
import { rss, toneNear } from "../../src/features/diagnosis/rules/look.ts";
import { analyseAxis } from "../../src/pipeline/signal/analyse.ts";
import { DftPlans } from "../../src/pipeline/signal/fft.ts";
import type { RealRecord } from "./real-records.ts";

/** Counts of the largest sample of a record. */
const PEAK_COUNTS = 30_000;
const STEP_MS = 600_000;
const START_MS = Date.UTC(2026, 0, 1);
const plans = new DftPlans();

export interface Found {
  /** Findings that stood, at some time. */
  readonly found: readonly string[];
  /** Faults that could not be checked in the last reading, and why. */
  readonly cannot: readonly string[];
}

/** Findings of sensor 1, on a machine that runs at this speed. @param lineHz the mains, if it is stated */
export function engineAt(
  speedRpm: number,
  bearings: readonly Bearing[] = [],
  lineHz?: number,
): FindingEngine {
  const sensor: Sensor = {
    code: "1",
    type: 3,
    kinds: ["accel"],
    channels: {},
    location: { company: 1, area: 2, machine: 40, point: 1 },
  };
  const site: Site = {
    site: "records",
    sensors: [sensor, { code: "2", type: 40, kinds: ["rpm"], channels: {} }],
    machines: [
      { id: 40, speed: { sensor: "2" }, bearings, ...(lineHz === undefined ? {} : { lineHz }) },
    ],
  };
  return new FindingEngine(site, {
    wait: {
      admit: () => true,
      due: function* () {},
      isSignal: () => false,
      speedAround: () => ({ rpm: speedRpm, nextRpm: null, timeMs: 0 }),
      stateAt: () => "running",
    },
  });
}

export interface PieceOptions {
  /** Samples from one reading to the next, less than `size` where a record is short. */
  readonly hop?: number;
  readonly lineHz?: number | undefined;
}

export function findingsOn(
  record: RealRecord,
  size: number,
  { hop = size, lineHz }: PieceOptions = {},
): Found {
  const engine = engineAt(record.speedRpm, [{ point: 1, ...record.bearing }], lineHz);
  const calibration = calibrationOf(record);
  const found = new Set<string>();
  for (let from = 0; from + size <= record.samplesG.length; from += hop) {
    const timeMs = START_MS + (from / hop) * STEP_MS;
    const piece = record.samplesG.subarray(from, from + size);
    const tx = new UnitOfWork();
    const reading = readingOf(piece, record.sampleRateHz, calibration, timeMs);
    for (const event of engine.follow(tx, "1", "accel", [reading]).events) {
      if (event.state === "active") found.add(event.value.split("/")[0] ?? "");
    }
    tx.committed();
  }
  const seen = engine.of("1").seen?.cannot ?? [];
  return { found: [...found], cannot: seen.map(({ finding, reason }) => `${finding}:${reason}`) };
}

/** Depth of each fault's lines in the whitened envelope, per cent of its mean: the median over the pieces. */
export function depthsOn(record: RealRecord, size: number): ReadonlyMap<FindingKind, number> {
  const shaftHz = record.speedRpm / 60;
  const calibration = calibrationOf(record);
  const depths = new Map<FindingKind, number[]>();
  for (let from = 0; from + size <= record.samplesG.length; from += size) {
    const piece = record.samplesG.subarray(from, from + size);
    const white = readingOf(piece, record.sampleRateHz, calibration, 0).tones?.[0]?.tones?.white;
    if (!white) continue;
    for (const fault of faultsOf(bearingOrders({ point: 1, ...record.bearing }))) {
      const bands = fault.finding === "bearing_inner_race" ? [0, -1, 1] : [0];
      let most = 0;
      for (let slip = -0.015; slip <= 0.015; slip += 0.001) {
        const lines = [1, 2, 3, 4].flatMap((n) =>
          bands.map((m) => (n * fault.order * (1 + slip) + m) * shaftHz),
        );
        const amplitudes = lines.map(
          (hz) => toneNear(white, hz, white.resolutionHz)?.amplitude ?? 0,
        );
        most = Math.max(most, (100 * rss(amplitudes)) / Math.SQRT2);
      }
      depths.set(fault.finding, [...(depths.get(fault.finding) ?? []), most]);
    }
  }
  const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
  return new Map([...depths].map(([finding, values]) => [finding, median(values)]));
}

function calibrationOf({ samplesG }: RealRecord): number {
  return samplesG.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / PEAK_COUNTS;
}

function readingOf(
  samplesG: Float64Array,
  sampleRateHz: number,
  calibration: number,
  timeMs: number,
): FollowedReading {
  const counts = Int16Array.from(samplesG, (value) => Math.round(value / calibration));
  const analysis = analyseAxis(counts, { sampleRateHz, calibration, plans, tones: true });
  return {
    id: timeMs.toString(16).padStart(32, "0"),
    timeMs,
    isFuture: false,
    quality: {},
    values: {
      channel1_vel_rms: analysis.velocityRms.value,
      channel1_env_rms: analysis.envelopeRms.value,
    },
    tones: [
      {
        channel: 1,
        axis: "H",
        durationS: counts.length / sampleRateHz,
        isClipped: (analysis.clipCount ?? 0) > 0,
        tones: analysis.tones,
      },
    ],
  };
}
