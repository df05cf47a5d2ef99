import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AlarmEvent } from "../../../src/core/alarm/event.ts";
import type { AlarmRule } from "../../../src/core/alarm/rule.ts";
import { numberOf } from "../../../src/core/value-number.ts";
import { Wait } from "../../../src/features/machines/rules/wait.ts";
import { WaitRowsInMemory } from "../../../src/features/machines/rules/wait-rows.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { Transactions } from "../../support/tx.ts";
import {
  Disk,
  type Fed,
  judgeDue,
  MINUTE,
  PRESSURE,
  PUMP,
  pressures,
  RPM,
  readAt,
  siteWith,
  speeds,
  T0,
  vibrations,
} from "./support.ts";

const tx = new Transactions();

/** When everything has been read. */
const END = T0 + 720 * MINUTE;
const CHANGE: AlarmRule = {
  name: "change",
  select: { values: ["channel1_vel_rms"] },
  baseline: { readings: 6, deviations: 4 },
  delay: { readings: 1 },
};
const SITE = siteWith(
  [
    { ...PRESSURE, delay: { readings: 1 } },
    { ...PRESSURE, name: "slow", delay: { readings: 2 }, onlyRunning: true },
    CHANGE,
  ],
  [PUMP],
);

/** A response: what a read of a day brought that was new. */
interface Response {
  readonly day: string;
  readonly atMs: number;
  readonly readings: readonly Fed[];
}

const dayOf = (ms: number) => readAt(ms).day;

/** The responses to reads of one day, each up to another moment. */
function responsesOf(
  readings: readonly Fed[],
  cuts: readonly number[],
  isBackfill: boolean,
): Response[] {
  const all: Response[] = [];
  let from = 0;
  for (const to of [...new Set([...(isBackfill ? [] : cuts), readings.length])].toSorted(
    (a, b) => a - b,
  )) {
    const part = readings.slice(from, to);
    from = to;
    const lastMs = part.at(-1)?.reading.timeMs;
    if (lastMs === undefined) continue;
    all.push({ day: dayOf(lastMs), atMs: isBackfill ? END : lastMs, readings: part });
  }
  const startMs = readings[0]?.reading.timeMs;
  if (startMs !== undefined) all.push({ day: dayOf(startMs), atMs: END, readings: [] });
  return all;
}

/** Midnight lies between the two runs of readings: what is known of one day counts in the next. */
const today = T0 - 480 * MINUTE;
const yesterday = today - 20 * MINUTE;
const aMinuteApart = (readings: readonly Fed[], fromMs: number): Fed[] =>
  readings.map((one, i) => {
    const timeMs = fromMs + i * MINUTE + 30_000;
    return { ...one, reading: { ...one.reading, id: `${i}${timeMs}`, timeMs } };
  });
const cuts = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 4 });
const speed = fc.array(fc.constantFrom(0, 299, 301, 1480), { maxLength: 20 });
const pressure = fc.oneof(fc.double({ min: 0, max: 10, noNaN: true }), fc.constant(null));
const pressureRun = fc.array(pressure, { maxLength: 20 });
const vibration = fc.array(fc.double({ min: 0.5, max: 6, noNaN: true }), { maxLength: 12 });

interface Plant {
  /** Responses of the watched sensors, each in its own order. */
  readonly watched: readonly (readonly Response[])[];
  /** The signal's days. */
  readonly speeds: readonly [readonly Fed[], readonly Fed[]];
}

const plant: fc.Arbitrary<Plant> = fc
  .record({
    pressures: fc.tuple(pressureRun, pressureRun),
    vibrations: fc.tuple(vibration, vibration),
    speeds: fc.tuple(speed, speed),
    cuts,
    isTodayFirst: fc.boolean(),
  })
  .map((made) => {
    const { isTodayFirst } = made;
    const ownOrder = (days: readonly [readonly Fed[], readonly Fed[]]) => {
      const before = responsesOf(days[0], made.cuts, isTodayFirst);
      const after = responsesOf(days[1], made.cuts, false);
      return isTodayFirst ? [...after, ...before] : [...before, ...after];
    };
    return {
      watched: [
        ownOrder([pressures(made.pressures[0], yesterday), pressures(made.pressures[1], today)]),
        ownOrder([
          aMinuteApart(vibrations(made.vibrations[0]), yesterday),
          aMinuteApart(vibrations(made.vibrations[1]), today),
        ]),
      ],
      speeds: [speeds(made.speeds[0], yesterday), speeds(made.speeds[1], today + 2 * MINUTE)],
    };
  });

/** How the responses arrive: which sensor's comes next, after which the process is restarted, how the signal is read. */
const arrival = fc.record({
  next: fc.array(fc.nat(2), { maxLength: 40 }),
  restarts: fc.array(fc.nat(9), { maxLength: 40 }),
  cuts,
  isTodayFirst: fc.boolean(),
});

type Arrival = typeof arrival extends fc.Arbitrary<infer T> ? T : never;

function eventsOf({ watched, speeds: days }: Plant, how: Arrival): AlarmEvent[] {
  const before = responsesOf(days[0], how.cuts, how.isTodayFirst);
  const after = responsesOf(days[1], how.cuts, false);
  const signal = how.isTodayFirst ? [...after, ...before] : [...before, ...after];
  const left = [signal, ...watched].map((responses) => [...responses]);
  const disk = new Disk();
  const rows = new WaitRowsInMemory();
  const stored: Fed[] = [];
  const open = () => {
    const wait = new Wait(SITE, {
      rows,
      earlier: (_signal, timeMs, count) => speedsAmong(stored, timeMs).slice(-count),
      pendingDays: () => [...new Set((left[0] ?? []).map(({ day }) => day))],
    });
    const engine = new FollowingEngine(SITE, { wait });
    engine.load(disk.saved());
    for (const { sensor, kind, reading } of stored) engine.prime(sensor.code, kind, reading);
    for (const one of wait.signals) {
      const points = speedsAmong(stored, END).slice(-3);
      wait.prime(one, points, points[0]?.timeMs ?? Number.NEGATIVE_INFINITY);
    }
    return engine;
  };
  let engine = open();
  const events: AlarmEvent[] = [];
  for (let turn = 0; left.some((responses) => responses.length > 0); turn++) {
    const who = how.next[turn] ?? turn % 3;
    const response = left[who]?.shift();
    if (response === undefined) continue;
    const { day, atMs, readings } = response;
    const [first] = readings;
    if (first === undefined) {
      if (who === 0) engine.wait.noteRead(RPM.code, "rpm", { day, atMs });
    } else {
      const list = readings.map(({ reading }) => reading);
      const up = engine.follow(tx.now, first.sensor.code, first.kind, list, { day, atMs });
      disk.write(up);
      events.push(...up.events);
      tx.commit();
      stored.push(...readings);
    }
    if (how.restarts[turn] === 0) engine = open();
  }
  // Days without any speed are read as well, again by a process that has just started.
  for (const day of [dayOf(yesterday), dayOf(today)]) {
    engine.wait.noteRead(RPM.code, "rpm", { day, atMs: END });
  }
  while (engine.wait.releases()) events.push(...judgeDue(engine, disk));
  assert.deepEqual(rows.all(), []);
  return events;
}

function speedsAmong(stored: readonly Fed[], timeMs: number) {
  return stored
    .filter(({ sensor, reading }) => sensor === RPM && reading.timeMs <= timeMs)
    .map(({ reading }) => ({ timeMs: reading.timeMs, value: numberOf(reading.values["rpm"]) }))
    .toSorted((a, b) => a.timeMs - b.timeMs);
}

/** `since` is what is known when an event is told: readings that come late say more of it. */
const byId = (events: readonly AlarmEvent[]) =>
  events
    .map((event) => ({ ...event, sinceMs: 0 }))
    .toSorted((a, b) => (a.id === b.id ? 0 : a.id < b.id ? -1 : 1));

test("alarms – the order in which sensors are read, backfill and restarts change no event", () => {
  fc.assert(
    fc.property(plant, arrival, arrival, (made, one, other) => {
      const events = byId(eventsOf(made, one));
      assert.deepEqual(byId(eventsOf(made, other)), events);
      assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
    }),
    { numRuns: 150 },
  );
});
