import type { FollowedReading } from "../../../src/core/followed-reading.ts";
import type { Machine } from "../../../src/core/machine.ts";
import type { ChannelTones } from "../../../src/core/reading.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { FindingEngine } from "../../../src/features/diagnosis/rules/engine.ts";
import { type JudgeInput, judge } from "../../../src/features/diagnosis/rules/judge.ts";
import { toneNear, velocityOf } from "../../../src/features/diagnosis/rules/look.ts";
import { learn, type Reference } from "../../../src/features/diagnosis/rules/reference.ts";
import { analyseAxis } from "../../../src/pipeline/signal/analyse.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";
import { faultyRecord } from "../../support/machines/faulty-machine.ts";
import { type FaultyMachine, type MachineFault } from "../../support/machines/machine-fault.ts";
import { Transactions } from "../../support/tx.ts";

const tx = new Transactions();

export const PLANT: FaultyMachine = {
  seed: 7,
  speedRpm: 1480,
  speedSwing: 0,
  lineHz: 50,
  blades: 6,
  teeth: [23, 71],
  bearing: { balls: 9, ballMm: 7.94, pitchMm: 39.04, angleDeg: 0 },
  zoneD: 4.5,
};

export const MACHINE: Machine = {
  id: 40,
  name: "Pump 4",
  speed: { sensor: "50021" },
  lineHz: 50,
  blades: 6,
  teeth: [23, 71],
  bearings: [{ point: 1, name: "6205", ...PLANT.bearing }],
};

export const SENSOR: Sensor = {
  code: "10234",
  type: 3,
  kinds: ["accel"],
  channels: { channel1: { axis: "H" }, channel2: { axis: "V" }, channel3: { axis: "A" } },
  machineClass: "group2-rigid",
  location: { company: 1, area: 2, machine: 40, point: 1 },
};

export function siteOf(machine: Machine = MACHINE): Site {
  const speed: Sensor = { code: "50021", type: 40, kinds: ["rpm"], channels: {} };
  return { site: "plant-7", sensors: [SENSOR, speed], machines: [machine] };
}

const plans = new DftPlans();

export interface Record {
  readonly tones: readonly ChannelTones[];
  readonly values: Readonly<globalThis.Record<string, number | null>>;
  readonly speedRpm: number;
}

/** A record of a machine as diagnosis gets it. */
export function recordOf(
  condition: Partial<MachineFault> = {},
  n = 1,
  samples = 8192,
  machine: FaultyMachine = PLANT,
  sampleRateHz = 6400,
): Record {
  const shape = { sampleRateHz, samples, rangeG: 16 };
  const whole = { fault: null, severity: 0, load: 0.8, ...condition };
  const { channels, calibration, speedRpm } = faultyRecord(machine, whole, n, shape);
  const values: globalThis.Record<string, number | null> = {};
  const tones = channels.map((counts, i): ChannelTones => {
    const options = { sampleRateHz, calibration, plans, tones: true };
    const analysis = analyseAxis(counts, options);
    values[`channel${i + 1}_vel_rms`] = analysis.velocityRms.value;
    values[`channel${i + 1}_env_rms`] = analysis.envelopeRms.value;
    return {
      channel: i + 1,
      axis: (["H", "V", "A"] as const)[i] ?? "A",
      durationS: samples / sampleRateHz,
      isClipped: (analysis.clipCount ?? 0) > 0,
      tones: analysis.tones,
    };
  });
  return { tones, values, speedRpm };
}

/** A running machine to judge by. */
export const around = (speedRpm: number | null, over: Partial<JudgeInput> = {}): JudgeInput => ({
  machine: MACHINE,
  sensor: SENSOR,
  speedRpm,
  state: "running",
  isHeld: () => false,
  ...over,
});

/** The normal state of the plant, from healthy records. */
export function normalState(): Reference | null {
  let reference: Reference | null = null;
  for (let n = 50; n < 60; n++) {
    const record = recordOf({}, n);
    reference = learn(reference, judge(record, around(record.speedRpm)).levels, 1480);
  }
  return reference;
}

/** A line of a spectrum: multiple of the shaft frequency, amplitude in the spectrum's unit, ratio to the noise. */
export type DrawnLine = readonly [order: number, amplitude: number, ratio: number];

export function toneList(shaftHz: number, resolutionHz: number, lines: readonly DrawnLine[]) {
  const sorted = lines.toSorted(([a], [b]) => a - b);
  const data = new Float32Array(sorted.flatMap(([order, ...rest]) => [order * shaftHz, ...rest]));
  return { resolutionHz, topHz: 2000, data };
}

/** A record of three axes that shows these velocities at multiples of its shaft frequency, mm/s, and nothing else. */
export function shaftRecord(
  speedRpm: number,
  axes: readonly Readonly<globalThis.Record<number, number>>[],
): Record {
  const shaftHz = speedRpm / 60;
  const values: globalThis.Record<string, number | null> = {};
  const tones = axes.map((lines, i): ChannelTones => {
    const drawn = Object.entries(lines).map(([order, mmS]): DrawnLine => {
      const gOfMmS = (Math.SQRT2 * 2 * Math.PI * Number(order) * shaftHz) / 9800;
      return [Number(order), mmS * gOfMmS, mmS / 0.02];
    });
    values[`channel${i + 1}_vel_rms`] = Math.hypot(0.3, ...Object.values(lines));
    values[`channel${i + 1}_env_rms`] = 0.01;
    return {
      channel: i + 1,
      axis: (["H", "V", "A"] as const)[i] ?? "A",
      durationS: 1.28,
      isClipped: false,
      tones: { accel: toneList(shaftHz, 0.78, drawn), envelope: null },
    };
  });
  return { tones, values, speedRpm };
}

const HOUR = 3_600_000;

export function readingOf(record: Record, hour: number): FollowedReading {
  const id = hour.toString(16).padStart(32, "0");
  const { tones, values } = record;
  return { id, timeMs: hour * HOUR, isFuture: false, values, quality: {}, tones };
}

/** An engine whose speed and state the test sets. */
export function engineOf(machine: Machine = MACHINE, site: Site = siteOf(machine)) {
  const world: {
    speedRpm: number | null;
    nextRpm: number | null;
    state: "running" | "standing" | null;
  } = { speedRpm: 1480, nextRpm: null, state: null };
  const options = {
    wait: {
      admit: () => true,
      due: function* () {},
      isSignal: () => false,
      speedAround: () =>
        world.speedRpm === null ? null : { rpm: world.speedRpm, nextRpm: world.nextRpm, timeMs: 0 },
      stateAt: () => world.state,
    },
  };
  const engine = new FindingEngine(site, options);
  const follow = (record: Record, hour: number) => {
    const up = engine.follow(tx.now, "10234", "accel", [readingOf(record, hour)]);
    tx.commit();
    return up;
  };
  return { engine, options, world, follow };
}

/** The record with an order made so many times as strong, per axis. */
export function raised(
  record: ReturnType<typeof recordOf>,
  times: { readonly [order: number]: readonly number[] },
) {
  const shaftHz = record.speedRpm / 60;
  const tones = record.tones.map((axis, i) => {
    if (axis.tones === null) return axis;
    const data = axis.tones.accel.data.slice();
    for (let at = 0; at < data.length; at += 3) {
      const order = (data[at] ?? 0) / shaftHz;
      const whole = Math.round(order);
      const by = Math.abs(order - whole) < 0.03 ? (times[whole]?.[i] ?? 1) : 1;
      data[at + 1] = (data[at + 1] ?? 0) * by;
      data[at + 2] = (data[at + 2] ?? 0) * by;
    }
    return { ...axis, tones: { ...axis.tones, accel: { ...axis.tones.accel, data } } };
  });
  return { ...record, tones };
}

/** A machine whose orders one to three stood at these levels of each axis while it was learned, mm/s. */
export const learned = (first: number, second: number, third: number, rpm = 1480): Reference => {
  const highest = Object.fromEntries(
    [1, 2, 3].flatMap((channel) => [
      [`${channel}:1`, first],
      [`${channel}:2`, second],
      [`${channel}:3`, third],
    ]),
  );
  return { speeds: [{ rpm, readings: 20, first: highest, highest }] };
};

/** Amplitudes of an order as velocity, mm/s RMS, per axis. */
export function orderAmplitudes(
  { tones, speedRpm }: ReturnType<typeof recordOf>,
  order: number,
): number[] {
  return tones.flatMap(({ tones: found }) => {
    const hz = (order * speedRpm) / 60;
    const tone = found === null ? null : toneNear(found.accel, hz, 2 * found.accel.resolutionHz);
    return tone === null ? [] : [velocityOf(tone)];
  });
}
