import type { AlarmEvent } from "../../../src/core/alarm/event.ts";
import type { AlarmRule } from "../../../src/core/alarm/rule.ts";
import type { FollowedReading } from "../../../src/core/followed-reading.ts";
import type { Machine } from "../../../src/core/machine.ts";
import type { Doubt } from "../../../src/core/quality.ts";
import type { Value } from "../../../src/core/reading.ts";
import type { Kind, Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import type { FollowUp } from "../../../src/features/alarms/rules/follow-up.ts";
import { WaitRowsInMemory } from "../../../src/features/machines/rules/wait-rows.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { Transactions } from "../../support/tx.ts";

const tx = new Transactions();

export const T0 = Date.UTC(2026, 10, 20, 8);
export const MINUTE = 60_000;
const location = (point: number) => ({ company: 1, area: 2, machine: 40, point });

export const ACCEL: Sensor = {
  code: "10234",
  type: 3,
  kinds: ["accel"],
  name: "Pump 4 drive end",
  channels: {},
  machineClass: "group2-rigid",
  location: location(1),
};
export const RPM: Sensor = {
  code: "50021",
  type: 6,
  kinds: ["rpm"],
  channels: {},
  location: location(2),
  batteryLowV: 3,
};
export const LOOP: Sensor = {
  code: "30007",
  type: 12,
  kinds: ["loop"],
  name: "Feed line",
  channels: { channel1: { name: "Suction pressure", unit: "bar", low: 0, high: 10 } },
  location: location(3),
};
export const PUMP: Machine = {
  id: 40,
  name: "Pump 4",
  running: { sensor: "50021", kind: "rpm", value: "rpm", above: 300 },
};
export const PRESSURE: AlarmRule = {
  name: "pressure",
  select: { sensors: ["30007"], values: ["channel1"] },
  highHigh: 9,
  high: 8,
  low: 2,
  lowLow: 1,
  hysteresis: 0.3,
  delay: { readings: 2 },
};

export function siteWith(alarms: readonly AlarmRule[], machines: readonly Machine[] = []): Site {
  return { site: "plant-7", sensors: [ACCEL, RPM, LOOP], machines, alarms };
}

/** A reading whose id follows from its sensor and time, as a real one's does. */
export function reading(
  sensor: string,
  timeMs: number,
  values: Record<string, Value>,
  quality: Record<string, Doubt> = {},
): FollowedReading {
  const id = `${sensor}${timeMs}`.padStart(32, "0");
  return { id, timeMs, isFuture: false, values, quality };
}

export const EMPTY = { states: [], samples: [] };

/** What a store keeps of an engine, kept as a store does: applied whole after each transaction. */
export class Disk {
  readonly states = new Map<string, string>();
  samples: { sensor: string; number: number; text: string }[] = [];

  write(up: FollowUp): void {
    for (const { sensor, text } of up.states) {
      if (text === null) this.states.delete(sensor);
      else this.states.set(sensor, text);
    }
    this.samples.push(...up.samples);
    this.samples = this.samples.filter(({ sensor }) => !up.forgotten.includes(sensor));
  }

  saved() {
    return {
      states: [...this.states].map(([sensor, text]) => ({ sensor, text })),
      samples: this.samples,
    };
  }
}

export interface Fed {
  readonly sensor: Sensor;
  readonly kind: Kind;
  readonly reading: FollowedReading;
}

/** A read of the day at this moment. */
export function readAt(atMs: number) {
  return { day: new Date(atMs).toISOString().slice(0, 10), atMs };
}

/** Feeds readings one by one, each in its own transaction. */
export function feed(
  engine: FollowingEngine,
  readings: readonly Fed[],
  disk = new Disk(),
): AlarmEvent[] {
  return readings.flatMap(({ sensor, kind, reading: one }) => {
    const up = engine.follow(tx.now, sensor.code, kind, [one], readAt(one.timeMs));
    disk.write(up);
    tx.commit();
    return up.events;
  });
}

export function engineOf(site: Site): FollowingEngine {
  const engine = new FollowingEngine(site);
  engine.load(EMPTY);
  return engine;
}

/** Readings of the pressure, a minute apart. */
export const pressures = (values: readonly (number | null)[], fromMs = T0): Fed[] =>
  values.map((value, i) => ({
    sensor: LOOP,
    kind: "loop",
    reading: reading(
      LOOP.code,
      fromMs + i * MINUTE,
      { channel1: value },
      value === null ? { channel1: { quality: "bad", reason: "wire_break" } } : {},
    ),
  }));

export const speeds = (values: readonly number[], fromMs = T0): Fed[] =>
  values.map((rpm, i) => ({
    sensor: RPM,
    kind: "rpm",
    reading: reading(RPM.code, fromMs + i * MINUTE, { rpm, battery: 3.6 }),
  }));

/** Vibration of channel 1, ten minutes apart, with the zone of group2-rigid. */
export const vibrations = (values: readonly number[], fromMs = T0): Fed[] =>
  values.map((velocity, i) => ({
    sensor: ACCEL,
    kind: "accel",
    reading: reading(ACCEL.code, fromMs + i * 10 * MINUTE, {
      channel1_vel_rms: velocity,
      channel1_zone: velocity > 4.5 ? "D" : velocity > 2.8 ? "C" : velocity > 1.4 ? "B" : "A",
    }),
  }));

export const summaries = (events: readonly AlarmEvent[]): string[] =>
  events.map(
    ({ alarm, state, severity, timeMs, historical }) =>
      `${alarm} ${state} ${severity} +${(timeMs - T0) / MINUTE}${historical ? " historical" : ""}`,
  );

/** Judges what has waited for long enough, in its own transaction. */
export function judgeDue(engine: FollowingEngine, disk = new Disk()): readonly AlarmEvent[] {
  const up = engine.judgeDue(tx.now);
  disk.write(up);
  tx.commit();
  return up.events;
}

/** Rows whose changes can be taken back, as a store does. */
export class RollingRows extends WaitRowsInMemory {
  #committed: ReturnType<WaitRowsInMemory["all"]> = [];

  commit(): void {
    this.#committed = [...this.all()];
  }

  rollBack(): void {
    for (const { queue, number } of this.all()) this.remove(queue, number);
    for (const { queue, ...row } of this.#committed) this.add(queue, row);
  }
}
