/** When a sensor may be called silent: after a restart, on a first start, and with an interval of hours. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { DayRead } from "../../../src/pipeline/poll/day-read.ts";
import { GOOD_READ, startPoller } from "../../support/poller.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOON = Date.parse("2026-11-20T12:00:00Z");
const SENSOR: Sensor = { code: "1", type: 6, kinds: ["rpm"], channels: {} };
const site = { site: "plant", sensors: [SENSOR] };
const FAILED = {
  ok: false,
  durationMs: 10,
  failureClass: "transient",
  isGatewayFault: true,
  retryAfterMs: null,
  message: "refused",
} as const;
const before = (...ago: number[]) => ago.map((ms) => NOON - ms);

/** A poller after a restart. Its gateway is down until `connect` is called, and then has nothing new. */
function restarted(
  t: TestContext,
  storedMs: readonly number[],
  cameSingly = false,
  memory = new Map<string, string>(),
) {
  let isReachable = false;
  const connect = () => {
    isReachable = true;
  };
  const poller = startPoller(t, {
    site,
    backfillDays: 0,
    intervalMs: MINUTE,
    concurrency: 1,
    storedMs,
    cameSingly,
    memory,
    readDay: async () => (isReachable ? { ...GOOD_READ, known: storedMs.length } : FAILED),
  });
  return { ...poller, connect };
}

test("silence – after a restart, a sensor is not reported silent until its day has been read", async (t) => {
  const stored = before(43 * MINUTE, 42 * MINUTE, 41 * MINUTE, 40 * MINUTE);
  const { clock, connect, poller } = restarted(t, stored);
  await clock.advance(5 * MINUTE);
  assert.equal(poller.sensorStates()[0]?.state, "silent");
  assert.deepEqual(poller.settledStates(), []);
  // Nothing came meanwhile: now it is.
  connect();
  await clock.advance(5 * MINUTE);
  assert.deepEqual(
    poller.settledStates().map(({ state }) => state),
    ["silent"],
  );
});

test("silence – a gateway that is down delays the report by half an hour at most", async (t) => {
  const { clock, poller } = restarted(t, before(60 * MINUTE));
  await clock.advance(29 * MINUTE);
  assert.deepEqual(poller.settledStates(), []);
  await clock.advance(2 * MINUTE);
  assert.equal(poller.settledStates()[0]?.state, "silent");
});

test("silence – after a restart, the interval of a sensor that sends every few hours is still known", async (t) => {
  const { clock, poller } = startPoller(t, {
    site,
    backfillDays: 0,
    concurrency: 1,
    storedMs: before(14 * HOUR, 10 * HOUR, 6 * HOUR, 2 * HOUR),
    readDay: async () => ({ ...GOOD_READ, known: 3 }),
  });
  await clock.advance(MINUTE);
  assert.equal(poller.settledStates()[0]?.state, "online");
  await clock.advance(11 * HOUR);
  assert.equal(poller.settledStates()[0]?.state, "silent");
});

test("silence – on a first start, the interval is learned from earlier days if today has too few records", async (t) => {
  const days: Readonly<Record<string, number[]>> = {
    "2026-11-20": before(6 * HOUR, 2 * HOUR),
    "2026-11-19": before(22 * HOUR, 18 * HOUR, 14 * HOUR),
  };
  const read = new Set<string>();
  let look: (() => string | undefined) | null = null;
  const seen: unknown[] = [];
  const { clock, poller } = startPoller(t, {
    site,
    backfillDays: 1,
    concurrency: 1,
    readDay: async ({ day }) => {
      if (look !== null) seen.push([day, look()]);
      const isNew = !read.has(day);
      read.add(day);
      return { ...GOOD_READ, newTimesMs: isNew ? (days[day] ?? []) : [] };
    },
  });
  look = () => poller.settledStates()[0]?.state;
  await clock.advance(MINUTE);
  // Yesterday was read after today, and nothing was reported in between.
  assert.deepEqual(seen[0], ["2026-11-19", undefined]);
  assert.equal(poller.settledStates()[0]?.state, "online");
});

test("silence – a sensor that was silent before a restart is silent once its day has been read", async (t) => {
  for (const cameSingly of [true, false]) {
    const stored = before(13 * MINUTE, 12 * MINUTE, 11 * MINUTE, 10 * MINUTE);
    const { clock, connect, poller } = restarted(t, stored, cameSingly);
    await clock.advance(MINUTE);
    assert.equal(poller.sensorStates()[0]?.state, "online", "it may have sent in the meantime");
    connect();
    await clock.advance(2 * MINUTE);
    // Several at once may be due only after the interval of the deliveries, which is not stored.
    assert.equal(poller.sensorStates()[0]?.state, cameSingly ? "silent" : "online");
  }
});

test("silence – a sensor that was silent stays silent over restarts, also if its records came in one batch, until it sends", async (t) => {
  const memory = new Map<string, string>();
  const times = before(13 * MINUTE, 12 * MINUTE, 11 * MINUTE, 10 * MINUTE);
  let newTimesMs = times;
  const first = startPoller(t, {
    site,
    backfillDays: 0,
    intervalMs: MINUTE,
    concurrency: 1,
    memory,
    readDay: async () => ({ ...GOOD_READ, newTimesMs: newTimesMs.splice(0) }),
  });
  await first.clock.advance(MINUTE);
  assert.equal(first.poller.sensorStates()[0]?.state, "silent");
  const stored = before(13 * MINUTE, 12 * MINUTE, 11 * MINUTE, 10 * MINUTE);
  newTimesMs = [];
  for (const connects of [false, true]) {
    const next = restarted(t, stored, false, memory);
    if (connects) next.connect();
    for (let i = 0; i < 3; i++) {
      assert.equal(next.poller.sensorStates()[0]?.state, "silent");
      await next.clock.advance(MINUTE);
    }
  }
  // A record that came while nobody looked: nothing says that it is silent now.
  const next = restarted(t, [...stored, NOON - 9 * MINUTE], false, memory);
  await next.clock.advance(MINUTE);
  assert.equal(next.poller.sensorStates()[0]?.state, "online");
});

test("silence – a sensor whose records are all rejected says so, and one broken record among good ones is no fault", async (t) => {
  const REASON = { isAfterUsable: false, reason: "wrong_sensor: 7" };
  let read: Partial<DayRead & { ok: true }> = { rejected: { ...REASON, count: 1 } };
  const { clock, poller } = startPoller(t, {
    site,
    backfillDays: 0,
    intervalMs: MINUTE,
    concurrency: 1,
    readDay: async ({ day }) => (day === "2026-11-20" ? { ...GOOD_READ, ...read } : GOOD_READ),
  });
  const error = () => poller.sensorStates()[0]?.kinds[0]?.lastError;
  await clock.advance(1_000);
  assert.equal(error(), "the only new record was rejected: wrong_sensor: 7");
  read = {};
  await clock.advance(2 * MINUTE);
  assert.equal(error(), "the only new record was rejected: wrong_sensor: 7", "nothing new came");
  read = {
    newTimesMs: [NOON + MINUTE],
    rejected: { count: 1, isAfterUsable: true, reason: "no_time" },
  };
  await clock.advance(2 * MINUTE);
  assert.equal(error(), null);
  read = { rejected: { ...REASON, count: 2 } };
  await clock.advance(2 * MINUTE);
  assert.match(String(error()), /^the last \d+ records were rejected: wrong_sensor: 7$/);
});

test("reads – the failure of the current day stands while other days are read, and theirs does not hide that it works", async (t) => {
  let failing = "2026-11-20";
  const { clock, poller } = startPoller(t, {
    site,
    backfillDays: 3,
    intervalMs: MINUTE,
    concurrency: 1,
    readDay: async ({ day }) =>
      day === failing
        ? {
            ...FAILED,
            isGatewayFault: false,
            failureClass: "request",
            message: `HTTP 404 for ${day}`,
          }
        : GOOD_READ,
  });
  const error = () => poller.sensorStates()[0]?.kinds[0]?.lastError;
  await clock.advance(2 * MINUTE);
  assert.equal(error(), "HTTP 404 for 2026-11-20");
  failing = "2026-11-18";
  await clock.advance(20 * MINUTE);
  assert.equal(error(), null, "the current day is read again");
});

test("silence – a sensor that falls silent after a restart is reported after three intervals, as before it", async (t) => {
  let newTimesMs: number[] = [];
  const { clock, poller } = startPoller(t, {
    site,
    backfillDays: 0,
    intervalMs: MINUTE,
    concurrency: 1,
    storedMs: before(8 * MINUTE, 7 * MINUTE, 6 * MINUTE, 5 * MINUTE),
    readDay: async () => {
      const given = newTimesMs;
      newTimesMs = [];
      return { ...GOOD_READ, newTimesMs: given };
    },
  });
  newTimesMs = before(3 * MINUTE, 2 * MINUTE, MINUTE, 0);
  await clock.advance(2 * MINUTE);
  assert.equal(poller.settledStates()[0]?.state, "online");
  await clock.advance(2 * MINUTE);
  assert.equal(poller.settledStates()[0]?.state, "silent");
});
