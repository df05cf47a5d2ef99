/** One simulated machine and its year, for the trial of diagnosis: run through the real analysis, alarm engine and finding engine. */

import type { FollowedReading } from "../../src/core/followed-reading.ts";
import type { Kind, Sensor } from "../../src/core/sensor.ts";
import type { Site } from "../../src/core/site.ts";
import { UnitOfWork } from "../../src/core/tx.ts";
import { FindingEngine } from "../../src/features/diagnosis/rules/engine.ts";
import type { Thresholds } from "../../src/features/diagnosis/rules/thresholds.ts";
import { analyseAxis } from "../../src/pipeline/signal/analyse.ts";
import { DftPlans } from "../../src/pipeline/signal/fft.ts";
import { VELOCITY_LIMITS, zoneOf } from "../../src/pipeline/signal/severity.ts";
import { chance, mix } from "../../src/simulator/random.ts";
import { FollowingEngine } from "../../test/support/following-engine.ts";
import { faultyRecord, severityOn } from "../../test/support/machines/faulty-machine.ts";
import { type FaultKind, type FaultyMachine } from "../../test/support/machines/machine-fault.ts";

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 1);
export const DAYS = 365;
/** 1.28 s in 3 × 4096 samples. */
const SHAPE = { sampleRateHz: 3200, samples: 4096, rangeG: 16 } as const;
const CLASS = "group2-rigid";
const LIMITS = VELOCITY_LIMITS[CLASS];

interface TrialBearing {
  readonly name: string;
  readonly balls: number;
  readonly ballMm: number;
  readonly pitchMm: number;
  readonly angleDeg: number;
}

/** Bearings and speeds that the machines of a trial have. */
export interface Fleet {
  readonly bearings: readonly TrialBearing[];
  readonly speeds: readonly number[];
}

export const FLEETS: Readonly<Record<string, Fleet>> = {
  /** The one that the rules were made with. */
  usual: {
    bearings: [
      { name: "6205", balls: 9, ballMm: 7.94, pitchMm: 39.04, angleDeg: 0 },
      { name: "6310", balls: 8, ballMm: 19.05, pitchMm: 80, angleDeg: 0 },
      { name: "7309", balls: 12, ballMm: 17.46, pitchMm: 72.5, angleDeg: 40 },
    ],
    speeds: [1480, 2950, 985, 1470, 1190],
  },
  /** One that no rule was made with. */
  other: {
    bearings: [
      { name: "6208", balls: 9, ballMm: 11.91, pitchMm: 60, angleDeg: 0 },
      { name: "6316", balls: 8, ballMm: 30.16, pitchMm: 125, angleDeg: 0 },
      { name: "6322", balls: 8, ballMm: 41.28, pitchMm: 175, angleDeg: 0 },
      { name: "NU 216", balls: 18, ballMm: 16, pitchMm: 110, angleDeg: 0 },
      { name: "22220", balls: 19, ballMm: 19, pitchMm: 141, angleDeg: 10 },
      { name: "7210", balls: 14, ballMm: 12.7, pitchMm: 70, angleDeg: 40 },
    ],
    speeds: [742, 890, 1185, 1782, 2250, 2985, 3560],
  },
};

export interface Year {
  readonly days: number;
  /** First day in zone D; null if it was not reached. */
  readonly zoneDDay: number | null;
  /** By thresholds: active findings and since when. */
  readonly found: readonly (readonly { readonly finding: string; readonly day: number }[])[];
  readonly alarms: { readonly zone: number; readonly baseline: number };
  readonly baselines: readonly string[];
  /** Days of the last `WHY_DAYS` on which the released rules said that they could not look for the true fault. */
  readonly whyDays: number;
}

export const WHY_DAYS = 14;

/** The finding that each fault should lead to. */
export const TRUTH: Readonly<Record<FaultKind, string>> = {
  unbalance: "unbalance",
  misalignment: "misalignment",
  looseness: "looseness",
  outer_race: "bearing_outer_race",
  inner_race: "bearing_inner_race",
  rolling_element: "rolling_element",
  cage: "cage",
  blade_pass: "blade_pass",
  gear_mesh: "gear_mesh",
  electrical: "electrical",
};

export interface Plan {
  readonly fault: FaultKind | null;
  readonly startDay: number;
  readonly growthDays: number;
  readonly knockDay: number | null;
  readonly badDay: number;
}

const plans = new DftPlans();

export function machineOf(
  seed: number,
  { bearings, speeds }: Fleet,
): { readonly plant: FaultyMachine; readonly bearing: TrialBearing } {
  const bearing = bearings[mix(seed, 1) % bearings.length];
  const speedRpm = speeds[mix(seed, 2) % speeds.length] ?? 1480;
  if (bearing === undefined) throw new Error("a fleet needs bearings");
  const isDriven = chance(seed, 3) < 0.25;
  const plant: FaultyMachine = {
    seed,
    speedRpm,
    speedSwing: isDriven ? 0.3 : 0,
    lineHz: 50,
    blades: 5 + (mix(seed, 4) % 3),
    teeth: speedRpm > 2000 ? [17, 61] : [23, 71],
    bearing,
    zoneD: LIMITS[2],
  };
  return { plant, bearing };
}

export interface Trial {
  readonly fleet: Fleet;
  /** Each is tried on the same readings. */
  readonly sweep: readonly Thresholds[];
  /** As in the site file; absent: the default. */
  readonly zoneReadings?: number | undefined;
}

export function runYear(seed: number, plan: Plan, trial: Trial): Year {
  const { plant, bearing } = machineOf(seed, trial.fleet);
  const { sweep, zoneReadings } = trial;
  const sensor: Sensor = {
    code: "10234",
    type: 3,
    kinds: ["accel"],
    channels: { channel1: { axis: "H" }, channel2: { axis: "V" }, channel3: { axis: "A" } },
    machineClass: CLASS,
    location: { company: 1, area: 2, machine: 40, point: 1 },
  };
  const speed: Sensor = { code: "50021", type: 40, kinds: ["rpm"], channels: {} };
  const { lineHz, blades, teeth } = plant;
  const site: Site = {
    site: "trial",
    ...(zoneReadings === undefined ? {} : { zoneReadings }),
    sensors: [sensor, speed],
    machines: [
      {
        id: 40,
        running: { sensor: "50021", kind: "rpm", value: "rpm", above: 300 },
        speed: { sensor: "50021" },
        lineHz,
        blades,
        teeth,
        bearings: [{ point: 1, ...bearing }],
      },
    ],
    alarms: [
      {
        name: "vibration-change",
        select: { kinds: ["accel"], values: ["*_vel_rms", "*_env_rms"] },
        baseline: { readings: 60, deviations: 6 },
        delay: { readings: 2 },
        onlyRunning: true,
      },
    ],
  };
  const alarmEngine = new FollowingEngine(site);
  const engines = sweep.map(
    (thresholds) =>
      new FindingEngine(site, {
        // The speed of each reading comes before it.
        wait: {
          admit: () => true,
          due: function* () {},
          isSignal: () => false,
          speedAround: (machine, timeMs) => alarmEngine.wait.speedAround(machine, timeMs),
          stateAt: (code, timeMs) => alarmEngine.wait.stateAt(code, timeMs),
        },
        thresholds,
      }),
  );
  const why: boolean[] = [];
  const found = sweep.map((): { finding: string; day: number }[] => []);
  const alarms = { zone: 0, baseline: 0 };
  let zoneDDay: number | null = null;
  let day = 0;
  const follow = (code: string, kind: Kind, reading: FollowedReading) => {
    const dayRead = new Date(reading.timeMs).toISOString().slice(0, 10);
    alarmEngine.wait.noteRead("50021", "rpm", { day: dayRead, atMs: reading.timeMs + DAY_MS });
    const tx = new UnitOfWork();
    const up = alarmEngine.follow(tx, code, kind, [reading]);
    for (const event of up.events) {
      if (event.state !== "active") continue;
      if (event.alarm === "zone") alarms.zone += 1;
      if (event.alarm === "vibration-change") alarms.baseline += 1;
    }
    for (const [i, engine] of engines.entries()) {
      for (const event of engine.follow(tx, code, kind, [reading]).events) {
        if (event.state === "active") found[i]?.push({ finding: event.value, day });
      }
    }
    tx.committed();
  };
  for (; day < DAYS; day++) {
    const severity = severityOn(day, plan.startDay, plan.growthDays);
    const record = faultyRecord(
      plant,
      {
        fault: plan.fault,
        severity,
        load: 0.55 + 0.4 * chance(seed, day, 5),
        isKnocked: plan.knockDay !== null && day >= plan.knockDay,
        isBadDay: day === plan.badDay,
      },
      day,
      SHAPE,
    );
    const timeMs = START_MS + day * DAY_MS;
    // Like the real ones: by them, a baseline decides which readings it follows.
    const part = (at: number, index: number) =>
      mix(mix(seed, 2 * day + at), index)
        .toString(16)
        .padStart(8, "0");
    const id = (at: number) => [0, 1, 2, 3].map((index) => part(at, index)).join("");
    const rpm = record.speedRpm * (1 + 0.001 * (chance(seed, day, 6) - 0.5));
    follow("50021", "rpm", plain(id(0), timeMs - 30_000, { rpm }));
    const values: Record<string, number | string | null> = {};
    let worst = 0;
    const tones = record.channels.map((counts, i) => {
      const { sampleRateHz } = SHAPE;
      const analysis = analyseAxis(counts, {
        sampleRateHz,
        calibration: record.calibration,
        plans,
        tones: true,
      });
      const velocity = analysis.velocityRms.value ?? 0;
      worst = Math.max(worst, velocity);
      values[`channel${i + 1}_vel_rms`] = velocity;
      values[`channel${i + 1}_env_rms`] = analysis.envelopeRms.value;
      values[`channel${i + 1}_zone`] = zoneOf(velocity, LIMITS);
      return {
        channel: i + 1,
        axis: (["H", "V", "A"] as const)[i] ?? ("A" as const),
        durationS: counts.length / sampleRateHz,
        isClipped: (analysis.clipCount ?? 0) > 0,
        tones: analysis.tones,
      };
    });
    follow("10234", "accel", { ...plain(id(1), timeMs, values), tones });
    const cannot = engines[0]?.of("10234").seen?.cannot ?? [];
    why.push(cannot.some(({ finding }) => plan.fault !== null && finding === TRUTH[plan.fault]));
    if (plan.fault !== null && worst > LIMITS[2] && severity > 0.5) zoneDDay ??= day;
    // It is stopped and repaired a few days later.
    if (zoneDDay !== null && day > zoneDDay + 3) break;
  }
  const baselines = [...alarmEngine.baselines("10234")].map(
    ([key, state]) => `${key}: ${JSON.stringify(state.first)}`,
  );
  const whyDays = why.slice(-WHY_DAYS).filter(Boolean).length;
  return { days: day, zoneDDay, found, alarms, baselines, whyDays };
}

function plain(id: string, timeMs: number, values: FollowedReading["values"]): FollowedReading {
  return { id, timeMs, isFuture: false, values, quality: {} };
}
