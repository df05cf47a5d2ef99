/**
 * How often a machine whose signal is right is told to shake though it is reported as stopped:
 * `node --import tsx scripts/running-signal-rates.ts [MACHINES] [DAYS] [SEED]`. Machines of scripts/diagnosis/shift-plant.ts: two
 * starts a day, coast-down, inverters, belts, noise of the clamp; one reading of a hundred is lost. On its last two
 * days the signal of each machine dies, so that the rule is seen to work.
 */

import { median } from "../src/core/lists/median.ts";
import type { Value } from "../src/core/reading.ts";
import type { Kind, Sensor } from "../src/core/sensor.ts";
import { UnitOfWork } from "../src/core/tx.ts";
import { RUNNING_SIGNAL } from "../src/features/alarms/rules/running-signal.ts";
import { Wait } from "../src/features/machines/rules/wait.ts";
import { VELOCITY_LIMITS } from "../src/pipeline/signal/severity.ts";
import { FollowingEngine } from "../test/support/following-engine.ts";
import { randomOf } from "./diagnosis/random-numbers.ts";
import { type ShiftPlant, shiftPlant } from "./diagnosis/shift-plant.ts";

const [machines = 50, days = 367, seed = 1] = process.argv.slice(2).map(Number);
const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 1);
const CLASS = "group2-rigid";
const LIMIT_D = VELOCITY_LIMITS[CLASS][2];
const RECORD = "channel1_vel_rms";
const VALUES = { current: "current1", rpm: "rpm", dryContact: "input1" } as const;

/** Without a class, mm/s: the least of what the rule asks. */
const LEVEL_MIN = 2.8;
/** Only where three records in a row exceed it near a standstill is anything followed: nothing else can be such. */
const LEAD_MS = 2.5 * 3_600_000;
const FOLLOW_MS = 3_600_000;

interface Happening {
  readonly timeMs: number;
  readonly isRecord: boolean;
  /** mm/s RMS, or what the signal reads. */
  readonly measured: number;
  readonly isOn: boolean;
  readonly isSettled: boolean;
}

/** What arrives of a machine, in order of time. */
function eventsOf(plant: ShiftPlant, deathMs: number, lossOf: () => number): Happening[] {
  const events: Happening[] = [];
  let [nextRecordMs, nextSignalMs] = [START_MS + plant.intervalMs.record * lossOf(), START_MS];
  while (Math.min(nextRecordMs, nextSignalMs) < START_MS + days * DAY_MS) {
    const isRecord = nextRecordMs < nextSignalMs;
    const timeMs = Math.round(isRecord ? nextRecordMs : nextSignalMs);
    const atMs = timeMs - START_MS;
    // Sensors wake some seconds early or late.
    const jitterMs = 20_000 * lossOf() - 10_000;
    if (isRecord) nextRecordMs += plant.intervalMs.record + jitterMs;
    else nextSignalMs += plant.intervalMs.signal + jitterMs;
    if (lossOf() < 0.01) continue;
    const isDead = timeMs >= deathMs;
    const measured = isRecord ? plant.velocity(atMs) : isDead ? 0 : plant.reading(atMs);
    const isSettled = !isDead && plant.isSettled(atMs);
    events.push({ timeMs, isRecord, measured, isOn: plant.isOn(atMs), isSettled });
  }
  return events;
}

/** Median of a machine's month while it runs; null while a week is not over. */
function usualBefore(records: readonly Happening[], timeMs: number): number | null {
  const day = Math.floor((timeMs - START_MS) / DAY_MS);
  if (day < 7) return null;
  const known = usuals.get(records)?.get(day);
  if (known !== undefined) return known;
  const fromMs = START_MS + Math.max(0, day - 30) * DAY_MS;
  const own = records.filter(
    (one) => one.isOn && one.timeMs >= fromMs && one.timeMs < START_MS + day * DAY_MS,
  );
  const usual = median(own.map(({ measured }) => measured));
  usuals.set(records, new Map([[day, usual]]));
  return usual;
}
const usuals = new WeakMap<readonly Happening[], Map<number, number>>();

interface Life {
  /** Times of false ones, ms from the start. */
  readonly wrong: readonly number[];
  readonly isDeathTold: boolean;
  /** Records of a motor that is off, in zone D. */
  readonly shaken: number;
  readonly records: number;
}

function live(plant: ShiftPlant, hasClass: boolean, lossOf: () => number): Life {
  const { signal } = plant;
  const accel: Sensor = {
    code: "1",
    type: 3,
    kinds: ["accel"],
    channels: {},
    location: { company: 1, area: 1, machine: 1, point: 1 },
    ...(hasClass ? { machineClass: CLASS } : {}),
  };
  const gauge: Sensor = { code: "2", type: 9, kinds: [signal], channels: {} };
  const value = VALUES[signal];
  const running =
    signal === "dryContact"
      ? { sensor: "2", kind: signal, value, is: true }
      : { sensor: "2", kind: signal, value, above: plant.above };
  const site = { site: "s", sensors: [accel, gauge], machines: [{ id: 1, running }] };
  let nowMs = START_MS;
  let usual: number | null = null;
  const engine = new FollowingEngine(site, {
    wait: new Wait(site, { runningMs: () => nowMs - START_MS }),
    usualLevel: () => usual,
  });
  engine.load({ states: [], samples: [] });

  const wrong: number[] = [];
  const deathMs = START_MS + (days - 2) * DAY_MS;
  let isDeathTold = false;
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  function arrive(sensor: Sensor, kind: Kind, timeMs: number, values: Record<string, Value>): void {
    // A day is read once more after its end, which may tell what has waited.
    if (dayOf(timeMs) !== dayOf(nowMs))
      engine.wait.noteRead(sensor.code, kind, { day: dayOf(nowMs), atMs: timeMs });
    nowMs = timeMs;
    const reading = { id: `${sensor.code}${timeMs}`, timeMs, isFuture: false, values, quality: {} };
    const tx = new UnitOfWork();
    const read = { day: dayOf(timeMs), atMs: timeMs };
    for (const { state, value: of } of engine.follow(tx, sensor.code, kind, [reading], read)
      .events) {
      if (of !== RUNNING_SIGNAL || state !== "active") continue;
      if (timeMs >= deathMs) isDeathTold = true;
      else wrong.push(timeMs - START_MS);
    }
    tx.committed();
  }

  const events = eventsOf(plant, deathMs, lossOf);
  const records = events.filter(({ isRecord }) => isRecord);
  const limit = hasClass ? LIMIT_D : LEVEL_MIN;
  const windows = records.flatMap(({ timeMs }, n) => {
    const row = records.slice(Math.max(0, n - 2), n + 1);
    const isSuch = row.length === 3 && row.every(({ measured }) => measured > limit);
    if (!isSuch || row.every((one) => one.isSettled)) return [];
    return [{ fromMs: (row[0]?.timeMs ?? timeMs) - LEAD_MS, toMs: timeMs + FOLLOW_MS }];
  });
  let at = 0;
  for (const { timeMs, isRecord, measured } of events) {
    while ((windows[at]?.toMs ?? Number.POSITIVE_INFINITY) < timeMs) at += 1;
    if ((windows[at]?.fromMs ?? Number.POSITIVE_INFINITY) > timeMs) continue;
    // Days of which the median is known by then.
    usual = usualBefore(records, timeMs);
    if (isRecord) arrive(accel, "accel", timeMs, { [RECORD]: measured });
    else
      arrive(gauge, signal, timeMs, { [value]: signal === "dryContact" ? measured > 0 : measured });
  }
  const shaken = records.filter(({ isOn, measured }) => !isOn && measured > LIMIT_D).length;
  return { wrong, isDeathTold, shaken, records: records.length };
}

const write = (line: string) => process.stdout.write(`${line}\n`);
const total = { wrong: 0, shaken: 0, records: 0, rough: 0, told: 0 };
for (let i = 0; i < machines; i++) {
  const random = randomOf(1_000_003 * seed + 7919 * i);
  const plant = shiftPlant(days, random);
  const hasClass = i % 2 === 0;
  const { wrong, isDeathTold, shaken, records } = live(plant, hasClass, randomOf(i + 1));
  total.wrong += wrong.length;
  total.shaken += shaken;
  total.records += records;
  if (plant.level > 1.2 * LIMIT_D) total.rough += 1;
  if (isDeathTold && plant.level > 1.2 * LIMIT_D) total.told += 1;
  for (const atMs of wrong) {
    const { signal, intervalMs, level } = plant;
    const minutes = (ms: number) => `${ms / 60_000} min`;
    write(
      `machine ${i}, day ${(atMs / DAY_MS).toFixed(2)}: ${signal} each ${minutes(intervalMs.signal)}, records each ${minutes(intervalMs.record)}, ${level.toFixed(1)} mm/s, ${hasClass ? CLASS : "no class"}`,
    );
  }
}
const years = (machines * (days - 2)) / 365;
write(
  `running_signal: ${total.wrong} in ${years.toFixed(1)} machine-years (${(total.wrong / years).toFixed(3)} a year); ${total.shaken} of ${total.records} records in zone D while the motor was off; of ${total.rough} machines that run in zone D, ${total.told} told once their signal died.`,
);
