/** One record as a series of readings: through the real analysis and the finding engine. */
import type { FollowedReading } from "../../src/core/alarm/follow-up.ts";
import { FindingEngine } from "../../src/core/diagnosis/engine.ts";
import type { Sensor, Site } from "../../src/core/sensor.ts";
import { analyseAxis } from "../../src/core/signal/analyse.ts";
import { DftPlans } from "../../src/core/signal/fft.ts";
import { UnitOfWork } from "../../src/core/tx.ts";
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

export function findingsOn(record: RealRecord, size: number): Found {
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
    machines: [{ id: 40, speed: { sensor: "2" }, bearings: [{ point: 1, ...record.bearing }] }],
  };
  const engine = new FindingEngine(site, {
    wait: {
      admit: () => true,
      due: function* () {},
      isSignal: () => false,
      speedAt: () => record.speedRpm,
      stateAt: () => "running",
    },
  });
  const peakG = record.samplesG.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const calibration = peakG / PEAK_COUNTS;
  const found = new Set<string>();
  for (let from = 0; from + size <= record.samplesG.length; from += size) {
    const timeMs = START_MS + (from / size) * STEP_MS;
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
