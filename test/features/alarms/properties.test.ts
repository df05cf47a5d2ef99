import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AlarmEvent } from "../../../src/core/alarm/event.ts";
import type { AlarmRule } from "../../../src/core/alarm/rule.ts";
import type { FollowingEngine } from "../../support/following-engine.ts";
import {
  engineOf,
  feed,
  MINUTE,
  PRESSURE,
  PUMP,
  pressures,
  siteWith,
  speeds,
  T0,
  vibrations,
} from "./support.ts";

const CHANGE: AlarmRule = {
  name: "change",
  select: { values: ["channel1_vel_rms"] },
  baseline: { readings: 10, deviations: 4 },
  delay: { readings: 1 },
};
const RULES = [
  PRESSURE,
  { ...PRESSURE, name: "slow", delay: { seconds: 90 }, onlyRunning: true },
  CHANGE,
];
const SITE = siteWith(RULES, [PUMP]);
const pressure = fc.oneof(fc.double({ min: 0, max: 10, noNaN: true }), fc.constant(null));
/** Readings of three sensors, each in order of its time. */
const plant = fc
  .record({
    pressures: fc.array(pressure, { maxLength: 30 }),
    speeds: fc.array(fc.constantFrom(0, 299, 301, 1480), { maxLength: 30 }),
    vibrations: fc.array(fc.double({ min: 0.5, max: 6, noNaN: true }), { maxLength: 30 }),
  })
  .map((values) =>
    [
      ...pressures(values.pressures),
      ...speeds(values.speeds),
      ...vibrations(values.vibrations),
    ].toSorted((a, b) => a.reading.timeMs - b.reading.timeMs),
  );

test("alarms – a value inside the band never changes anything", () => {
  const outside = fc.constantFrom(5, 8.5);
  const inside = fc.array(fc.double({ min: 7.7 + 1e-9, max: 8, noNaN: true }), {
    maxLength: 20,
  });
  fc.assert(
    fc.property(outside, inside, (first, values) => {
      const engine = engineOf(siteWith([PRESSURE]));
      feed(engine, pressures([first, first]));
      assert.deepEqual(feed(engine, pressures(values, T0 + 2 * MINUTE)), []);
    }),
  );
});

test("alarms – a replay gives the same events with the same ids, and no id twice", () => {
  fc.assert(
    fc.property(plant, (readings) => {
      const events = feed(engineOf(SITE), readings);
      assert.deepEqual(feed(engineOf(SITE), readings), events);
      assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
    }),
  );
});

test("alarms – in any order of arrival, live alarms follow the readings that arrived in order, and late ones are history", () => {
  fc.assert(
    fc.property(
      fc
        .array(pressure, { maxLength: 20 })
        .chain((values) => fc.shuffledSubarray(pressures(values), { minLength: values.length })),
      (arrived) => {
        let newest = Number.NEGATIVE_INFINITY;
        const inOrder = arrived.filter(({ reading }) => {
          if (reading.timeMs <= newest) return false;
          newest = reading.timeMs;
          return true;
        });
        const site = siteWith([PRESSURE]);
        const engine = engineOf(site);
        const events = feed(engine, arrived);
        const calm = engineOf(site);
        const live = feed(calm, inOrder);
        // Late readings change one thing of a live alarm: since when the machine has shown it.
        const told = (of: readonly AlarmEvent[]) => of.map((event) => ({ ...event, sinceMs: 0 }));
        assert.deepEqual(told(events.filter(({ historical }) => !historical)), told(live));
        const states = (of: FollowingEngine) =>
          [...of.alarms()].map(({ state }) => ({ ...state, since: null }));
        assert.deepEqual(states(engine), states(calm));
        assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
      },
    ),
  );
});
