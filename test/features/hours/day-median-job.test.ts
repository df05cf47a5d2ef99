import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Sensor } from "../../../src/core/sensor.ts";
import { ReplaceableSite } from "../../../src/core/site-source.ts";
import { DAY_MS, HOUR_MS } from "../../../src/core/time-units.ts";
import { DayMedianJob } from "../../../src/features/hours/day-median-job.ts";
import type { Wait } from "../../../src/features/machines/rules/wait.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import {
  append,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
} from "../../support/temp-database.ts";

const SENSOR: Sensor = {
  code: "1",
  type: 3,
  kinds: ["accel"],
  channels: { channel1: { axis: "H" } },
  location: { company: 1, area: 1, machine: 40, point: 1 },
};
const SIGNAL = { key: "2/rpm/rpm", sensor: "2", kind: "rpm", value: "rpm", isRead: true } as const;
const DAY = START_MS / DAY_MS;

const accel = (hours: number, velocity: number) =>
  readingOf("1", START_MS + hours * HOUR_MS, {
    kind: "accel",
    values: { channel1_vel_rms: velocity, channel1_accel_rms: 1, temperature: 20 },
    units: { channel1_vel_rms: "mm/s", channel1_accel_rms: "G", temperature: "degC" },
  });

function box(t: TestContext, wait: Pick<Wait, "runningOf" | "stateAt">) {
  const clock = new ManualClock(START_MS);
  const store = openStore(storeOptions(tempDirectory(t), { clock, historyDays: 3, uplinks: [] }));
  t.after(() => store.close());
  const confirmed = { is: true };
  const site = new ReplaceableSite({ site: "s", sensors: [SENSOR] });
  const job = new DayMedianJob({
    site,
    wait,
    history: store.history,
    rows: store.dayMedians,
    historyDays: 3,
    clock,
    gatewayNow: () => clock.now(),
    isClockConfirmed: () => confirmed.is,
    rest: () => Promise.resolve(),
    logger: silentLogger,
  });
  return { clock, confirmed, store, job, site };
}

test("day medians – of the running machine's readings of a UTC day that is over; made anew for late ones, kept when readings leave", async (t) => {
  const runningFrom = START_MS + 4 * HOUR_MS;
  const { clock, store, job } = box(t, {
    runningOf: () => SIGNAL,
    stateAt: (_sensor, timeMs) => (timeMs >= runningFrom ? "running" : "standing"),
  });
  const signal = new AbortController().signal;
  /** Medians and counts of the first day; only velocities have an outlook. */
  const look = async () => {
    await job.look(signal);
    const [row] = store.dayMedians.of("1", "accel", DAY, DAY + 1);
    return Object.entries(row?.values ?? {}).map(([name, { median, count, unit }]) => [
      name,
      median,
      count,
      unit,
    ]);
  };
  await append(store, [accel(1, 9), accel(5, 1), accel(6, 2), accel(7, 6)]);
  assert.deepEqual(await look(), [], "the day is not over");
  await clock.advance(DAY_MS);
  assert.deepEqual(await look(), [["channel1_vel_rms", 2, 3, "mm/s"]]);
  await append(store, [accel(8, 7)]);
  assert.deepEqual(await look(), [["channel1_vel_rms", 4, 4, "mm/s"]]);
  await clock.advance(9 * DAY_MS);
  await store.retain();
  assert.equal(store.state().readings, 0);
  assert.deepEqual(await look(), [["channel1_vel_rms", 4, 4, "mm/s"]]);
});

test("day medians – a clock that nobody confirmed removes none", async (t) => {
  const { clock, confirmed, store, job } = box(t, { runningOf: () => null, stateAt: () => null });
  await append(store, [accel(5, 1)]);
  await clock.advance(DAY_MS);
  const look = async () => {
    await job.look(new AbortController().signal);
    return store.dayMedians.of("1", "accel", DAY, DAY + 1).length;
  };
  assert.equal(await look(), 1);
  confirmed.is = false;
  clock.set(Date.parse("2036-01-01"));
  assert.equal(await look(), 1);
  confirmed.is = true;
  assert.equal(await look(), 0, "the control");
});

test("day medians – are made within a minute of what a first start has read, then once an hour", async (t) => {
  const { clock, store, job } = box(t, { runningOf: () => null, stateAt: () => null });
  await clock.advance(2 * DAY_MS);
  const stopping = new AbortController();
  const running = job.run(stopping.signal);
  const days = () => store.dayMedians.of("1", "accel", DAY, DAY + 2).map(({ day }) => day - DAY);
  /** When the job has gone to sleep: for how long, ms. */
  const pause = async () => {
    while (clock.sleeping === 0) await setImmediate();
    return clock.nextWakeMs ?? 0;
  };
  await append(store, [accel(30, 1)]);
  await clock.advance(await pause());
  assert.equal(await pause(), 60_000);
  assert.deepEqual([days(), store.dayMedians.changes], [[1], 1]);
  await append(store, [accel(5, 1)]);
  await clock.advance(60_000);
  assert.equal(await pause(), 60_000);
  assert.deepEqual([days(), store.dayMedians.changes], [[0, 1], 2]);
  await clock.advance(60_000);
  assert.equal(await pause(), HOUR_MS);
  assert.equal(store.dayMedians.changes, 2);
  stopping.abort();
  await running;
});

test("day medians – a running signal that comes late fills a day that was made without it, whatever the order", async (t) => {
  let isKnown = false;
  const { clock, store, job } = box(t, {
    runningOf: () => SIGNAL,
    stateAt: () => (isKnown ? "running" : null),
  });
  const signal = new AbortController().signal;
  await append(store, [accel(1, 2), accel(2, 4), accel(3, 6)]);
  await clock.advance(3 * DAY_MS);
  await job.look(signal);
  const values = () =>
    Object.keys(store.dayMedians.of("1", "accel", DAY, DAY + 1)[0]?.values ?? {});
  assert.deepEqual(values(), []);
  isKnown = true;
  await job.look(signal);
  assert.deepEqual(values(), ["channel1_vel_rms"]);
});

test("day medians – a day that is made anew after a move keeps where the sensor was by then", async (t) => {
  const { clock, store, job, site } = box(t, { runningOf: () => null, stateAt: () => null });
  const signal = new AbortController().signal;
  await append(store, [accel(1, 2), accel(2, 4)]);
  await clock.advance(DAY_MS);
  await job.look(signal);
  const mount = () =>
    store.dayMedians.of("1", "accel", DAY, DAY + 1)[0]?.values["channel1_vel_rms"]?.mount;
  const before = mount();
  const location = { company: 1, area: 1, machine: 41, point: 1 };
  site.replace({ site: "s", sensors: [{ ...SENSOR, location }] });
  await append(store, [accel(3, 5)]);
  await job.look(signal);
  assert.equal(mount(), before);
});
