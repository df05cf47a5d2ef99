import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { PolledKind, Sensor } from "../../../src/core/sensor.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { NO_TIMES } from "../../../src/core/time/recent-times.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import type { DayRead, ReadRequest } from "../../../src/pipeline/poll/day-read.ts";
import { GatewayClock } from "../../../src/pipeline/poll/gateway-clock.ts";
import { type PollOptions } from "../../../src/pipeline/poll/poll-parts.ts";
import { Poller } from "../../../src/pipeline/poll/poller.ts";
import { ManualClock } from "../../support/manual-clock.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function sensor(code: string, ...kinds: PolledKind[]): Sensor {
  return { code, type: 1, kinds: kinds.length > 0 ? kinds : ["rpm"], channels: {} };
}

interface Call {
  readonly sensor: string;
  readonly day: string;
  readonly atMs: number;
}

/** Runs a poller over a scripted gateway and a clock turned by hand. */
function setUp(
  t: TestContext,
  sensors: readonly Sensor[],
  answer: (
    request: ReadRequest,
    call: number,
    clock: ManualClock,
  ) => Partial<DayRead> | Promise<Partial<DayRead>>,
  options: Partial<PollOptions> = {},
  startAt = "2026-11-20T12:00:00Z",
  gatewayDate: (clock: ManualClock) => number | null = (clock) => clock.now(),
  read: ReadonlySet<string> = new Set(),
  storedOffset: number | null = null,
) {
  const clock = new ManualClock(startAt);
  const calls: Call[] = [];
  let running = 0;
  let runningMost = 0;
  const gatewayClock = new GatewayClock(clock);
  const poller = new Poller(
    {
      memory: { get: () => null, set: () => {} },
      clock,
      gatewayClock,
      logger: silentLogger,
      newestTimeMs: () => null,
      recentTimes: (streams) => streams.map(() => ({ ...NO_TIMES, offsetMinutes: storedOffset })),
      readOn: (day) => () => read.has(day),
      readDay: async (request) => {
        calls.push({ sensor: request.sensor.code, day: request.day, atMs: clock.now() });
        running += 1;
        runningMost = Math.max(runningMost, running);
        const given = await answer(request, calls.length, clock);
        running -= 1;
        if (given.ok !== false) request.gatewayNow(gatewayDate(clock));
        const base =
          given.ok === false
            ? {
                ok: false,
                failureClass: "transient",
                isGatewayFault: false,
                retryAfterMs: null,
                message: "x",
              }
            : { ok: true, stored: 0, known: 0, newTimesMs: [], offsetMinutes: null };
        return { durationMs: 10, ...base, ...given } as DayRead;
      },
    },
    {
      zone: "UTC",
      lateGraceMs: 2 * HOUR,
      backfillDays: 2,
      intervalMs: MINUTE,
      concurrency: 2,
      random: () => 0.5,
      ...options,
    },
    fixedSite({ site: "s", sensors }),
  );
  const ending = new AbortController();
  const done = poller.run(ending.signal);
  t.after(async () => {
    ending.abort();
    await done;
  });
  const stop = () => {
    ending.abort();
    return done;
  };
  return { clock, gatewayClock, calls, poller, stop, runningMost: () => runningMost };
}

test("poller – reads today first, then the days before", async (t) => {
  const { clock, calls } = setUp(t, [sensor("1"), sensor("2")], () => ({}));
  await clock.advance(2_000);
  const days = calls.map((c) => c.day);
  assert.deepEqual(days.slice(0, 2), ["2026-11-20", "2026-11-20"]);
  assert.deepEqual([...days].sort().slice(0, 4), [
    "2026-11-18",
    "2026-11-18",
    "2026-11-19",
    "2026-11-19",
  ]);
});

test("poller – a box that boots in 1970 uses the gateway's clock once it is known", async (t) => {
  const gatewayAt = Date.parse("2026-11-20T12:00:00Z");
  const { clock, calls, gatewayClock } = setUp(
    t,
    [sensor("1"), sensor("2"), sensor("3")],
    () => ({}),
    {},
    "1970-01-01T00:00:10Z",
    (c) => gatewayAt + c.monotonic(),
  );
  await clock.advance(20_000);
  assert.equal(calls[0]?.day, "1970-01-01");
  assert.ok(
    calls.filter((c) => c.day < "2026").length <= 2,
    "the rest is asked by the gateway's day",
  );
  for (const code of ["1", "2", "3"]) {
    assert.ok(
      calls.some((c) => c.sensor === code && c.day === "2026-11-20"),
      `sensor ${code}`,
    );
  }
  assert.equal(Math.abs(gatewayClock.now() - (gatewayAt + clock.monotonic())) < 2_000, true);
});

test("poller – without a Date, a day that a clock days ahead had closed is read within the interval once that is set right", async (t) => {
  for (const aheadMs of [26 * HOUR, 72 * HOUR, 120 * HOUR]) {
    const rightMs = Date.parse("2026-11-20T12:00:00Z");
    const { clock, calls, stop } = setUp(
      t,
      [sensor("1")],
      () => ({}),
      { backfillDays: 7 },
      new Date(rightMs + aheadMs).toISOString(),
      () => null,
    );
    await clock.advance(10 * MINUTE);
    clock.set(rightMs + 10 * MINUTE);
    await clock.advance(3 * MINUTE);
    const before = calls.length;
    await clock.advance(MINUTE);
    assert.ok(
      calls.slice(before).some(({ day }) => day === "2026-11-20"),
      `${aheadMs / HOUR} h ahead`,
    );
    // Steps ahead for an hour.
    clock.set(clock.now() + aheadMs);
    await clock.advance(HOUR);
    clock.set(clock.now() - aheadMs);
    await clock.advance(10_000);
    const again = calls.length;
    await clock.advance(MINUTE);
    assert.ok(calls.slice(again).some(({ day }) => day === "2026-11-20"));
    const stopped = stop();
    await clock.advance(1);
    await stopped;
  }
});

test("poller – one poisoned day backs off alone", async (t) => {
  const { clock, calls } = setUp(t, [sensor("1"), sensor("2")], (request) =>
    request.sensor.code === "1" && request.day === "2026-11-19" ? { ok: false } : {},
  );
  await clock.advance(10 * MINUTE);
  const poisoned = calls.filter((c) => c.sensor === "1" && c.day === "2026-11-19").length;
  const healthy = calls.filter((c) => c.sensor === "2" && c.day === "2026-11-20").length;
  assert.ok(poisoned >= 3 && poisoned <= 12, `${poisoned} tries of the poisoned day`);
  assert.ok(healthy >= 9, `${healthy} reads of the other sensor`);
});

test("poller – an unreachable gateway is tried less and less often, and within its back-off once it is back", async (t) => {
  let isDown = true;
  const { clock, calls } = setUp(t, [sensor("1"), sensor("2"), sensor("3")], () =>
    isDown ? { ok: false, isGatewayFault: true } : {},
  );
  await clock.advance(HOUR);
  assert.ok(calls.length < 40, `${calls.length} knocks in an hour`);
  isDown = false;
  const before = calls.length;
  await clock.advance(6 * MINUTE);
  for (const code of ["1", "2", "3"]) {
    assert.ok(
      calls.slice(before).some((c) => c.sensor === code),
      `sensor ${code} is read again`,
    );
  }
});

test("poller – Retry-After pauses everything for as long as it says", async (t) => {
  const { clock, calls } = setUp(t, [sensor("1"), sensor("2")], (_request, call) =>
    call === 3 ? { ok: false, retryAfterMs: 120_000 } : {},
  );
  await clock.advance(1_000);
  const before = calls.length;
  await clock.advance(110_000);
  assert.ok(calls.length - before <= 1, "at most the read that was under way");
  await clock.advance(60_000);
  assert.ok(calls.length > before + 1);
});

test("poller – the interval is the longest time between two reads of the current day", async (t) => {
  const { clock, calls } = setUp(t, [sensor("1")], () => ({}));
  await clock.advance(10 * MINUTE);
  const times = calls.filter((c) => c.day === "2026-11-20").map((c) => c.atMs);
  for (let i = 1; i < times.length; i++) {
    const gapMs = (times[i] as number) - (times[i - 1] as number);
    assert.ok(gapMs <= MINUTE + 100, `${gapMs} ms`);
  }
});

test("poller – the interval holds while commits are spaced further apart", async (t) => {
  const over = new AbortController();
  t.after(() => over.abort());
  const answer: Parameters<typeof setUp>[2] = async ({ received, waitMaxMs }, _call, clock) => {
    received?.(1);
    await clock.sleep(Math.min(6_000, waitMaxMs ?? 6_000), over.signal);
    return {};
  };
  const { clock, calls } = setUp(t, [sensor("1")], answer, { intervalMs: 1_000 });
  await clock.advance(30_000);
  const times = calls.filter(({ day }) => day === "2026-11-20").map(({ atMs }) => atMs);
  const gaps = times.slice(1).map((atMs, i) => atMs - (times[i] ?? 0));
  assert.ok(gaps.length >= 20 && Math.max(...gaps) <= 1_000, gaps.join(" "));
});

test("poller – at midnight the new day starts and the old one stays open for late records", async (t) => {
  const { clock, calls } = setUp(t, [sensor("1")], () => ({}), {}, "2026-11-20T23:50:00Z");
  await clock.advance(40 * MINUTE);
  const afterMidnight = calls.filter((c) => c.atMs >= Date.parse("2026-11-21T00:05:00Z"));
  assert.ok(afterMidnight.filter((c) => c.day === "2026-11-21").length >= 20);
  assert.ok(afterMidnight.filter((c) => c.day === "2026-11-20").length >= 20);
});

const AUCKLAND = 13 * 60;
const MEXICO = -6 * 60;

test("poller – with the wrong zone set, each sensor is asked for the day of its own records, next to a sensor without any", async (t) => {
  const { clock, calls } = setUp(
    t,
    [sensor("1"), sensor("mute"), sensor("2")],
    ({ sensor: { code }, day }) =>
      code !== "mute" && day === "2026-11-20"
        ? { stored: 1, newTimesMs: [0], offsetMinutes: AUCKLAND }
        : {},
    {},
    "2026-11-20T20:00:00Z",
  );
  await clock.advance(3 * MINUTE);
  for (const code of ["1", "2"]) {
    const tomorrow = calls.filter((c) => c.sensor === code && c.day === "2026-11-21");
    assert.ok(tomorrow.length >= 2, `${code}: ${tomorrow.length} reads`);
  }
});

test("poller – with the wrong zone set, a start finds the gateway's current day from stored records", async (t) => {
  const { clock, calls } = setUp(
    t,
    [sensor("1")],
    () => ({}),
    {},
    "2026-11-20T20:00:00Z",
    undefined,
    undefined,
    AUCKLAND,
  );
  await clock.advance(3 * MINUTE);
  assert.ok(calls.filter((c) => c.day === "2026-11-21").length >= 2);
});

test("poller – with the wrong zone set, a day that ended only in that zone is still read as the current one", async (t) => {
  const { clock, calls } = setUp(
    t,
    [sensor("1")],
    ({ day }) => (day === "2026-11-19" ? { newTimesMs: [0], offsetMinutes: MEXICO } : {}),
    {},
    "2026-11-20T04:00:00Z",
  );
  await clock.advance(10 * MINUTE);
  const reads = calls.filter((c) => c.day === "2026-11-19").length;
  assert.ok(reads >= 8, `${reads} reads`);
});

test("poller – a day missed while the gateway was down is read when it is back", async (t) => {
  let isDown = false;
  const { clock, calls } = setUp(
    t,
    [sensor("1")],
    () => (isDown ? { ok: false, isGatewayFault: true } : {}),
    {},
    "2026-11-20T20:00:00Z",
  );
  await clock.advance(5 * MINUTE);
  isDown = true;
  await clock.advance(40 * HOUR); // Over the whole of the 21st.
  isDown = false;
  const before = calls.length;
  await clock.advance(10 * MINUTE);
  const days = new Set(calls.slice(before).map((c) => c.day));
  for (const day of ["2026-11-20", "2026-11-21", "2026-11-22"]) assert.ok(days.has(day), day);
});

test("poller – a gateway clock that is set back does not stop polling", async (t) => {
  let offset = 0;
  const { clock, calls } = setUp(
    t,
    [sensor("1")],
    () => ({}),
    {},
    "2026-11-20T12:00:00Z",
    (c) => c.now() + offset,
  );
  await clock.advance(5 * MINUTE);
  offset = -3 * 24 * HOUR;
  await clock.advance(2 * MINUTE);
  const before = calls.length;
  await clock.advance(5 * MINUTE);
  const reads = calls.slice(before).filter((c) => c.day === "2026-11-17").length;
  assert.ok(reads >= 4, `${reads} reads of the gateway's new day`);
});

test("poller – once the gateway's clock has jumped, the open days of all sensors are read soon, not after their interval", async (t) => {
  let offset = 0;
  const { clock, calls, poller } = setUp(
    t,
    [sensor("1"), sensor("2")],
    () => ({}),
    { intervalMs: HOUR },
    "2026-11-20T12:00:00Z",
    (c) => c.now() + offset,
  );
  await clock.advance(5 * MINUTE);
  offset = -2 * HOUR;
  const before = calls.length;
  poller.readSoon([{ sensor: "1", kind: "rpm" }]);
  await clock.advance(3 * MINUTE);
  const days = calls.slice(before).filter((call) => call.sensor === "2");
  assert.deepEqual(days.map(({ day }) => day).sort(), ["2026-11-18", "2026-11-19", "2026-11-20"]);
});

test("poller – a change of our own clock has no effect", async (t) => {
  const gatewayAt = Date.parse("2026-11-20T12:00:00Z");
  const { clock, calls } = setUp(
    t,
    [sensor("1")],
    () => ({}),
    {},
    "2026-11-20T12:00:00Z",
    (c) => gatewayAt + c.monotonic(),
  );
  await clock.advance(2 * MINUTE);
  clock.set(Date.parse("2031-01-01T00:00:00Z"));
  const before = calls.length;
  await clock.advance(5 * MINUTE);
  assert.ok(calls.slice(before).length >= 5);
  assert.ok(calls.slice(before).every((c) => c.day <= "2026-11-20"));
});

test("poller – never more reads at once than allowed, and a single one before the first response", async (t) => {
  const releases: (() => void)[] = [];
  const { clock, calls, runningMost } = setUp(
    t,
    Array.from({ length: 10 }, (_, i) => sensor(String(i))),
    () => new Promise((resolve) => releases.push(() => resolve({}))),
    { concurrency: 3 },
  );
  await clock.advance(1_000);
  assert.equal(calls.length, 1);
  releases.shift()?.();
  for (let i = 0; i < 50; i++) {
    await clock.advance(10);
    releases.shift()?.();
  }
  assert.equal(runningMost(), 3);
  while (releases.length > 0) {
    releases.shift()?.();
    await clock.advance(1);
  }
});

test("poller – once stopped, it is over when its reads in progress are, and not before", async (t) => {
  const releases: (() => void)[] = [];
  const { clock, calls, stop } = setUp(
    t,
    [sensor("1"), sensor("2"), sensor("3")],
    () => new Promise((resolve) => releases.push(() => resolve({}))),
  );
  await clock.advance(1_000);
  releases.shift()?.();
  await clock.advance(1_000);
  assert.equal(releases.length, 2);
  let isOver = false;
  const stopped = stop().then(() => {
    isOver = true;
  });
  for (const release of releases) {
    await clock.advance(1_000);
    assert.equal(isOver, false);
    release();
  }
  await stopped;
  assert.equal(calls.length, 3);
});

test("poller – a manual backfill reads its days once, reports progress, and ends", async (t) => {
  const { clock, calls, poller } = setUp(t, [sensor("1"), sensor("2")], (request) =>
    request.day === "2026-01-02" && request.sensor.code === "2"
      ? { ok: false, message: "no" }
      : { stored: 3 },
  );
  await clock.advance(1_000);
  const job = poller.backfill(["2026-01-01", "2026-01-02"], null);
  assert.deepEqual([job.total, job.done], [4, 0]);
  await clock.advance(5_000);
  await job.finished;
  assert.deepEqual([job.stored, job.known, job.done], [9, 0, 4]);
  assert.deepEqual(job.failures, ["2 rpm 2026-01-02: no"]);
  // Without a day there is nothing to wait for.
  await poller.backfill([], null).finished;
  await clock.advance(HOUR);
  assert.equal(calls.filter((c) => c.day.startsWith("2026-01")).length, 4);
});

test("poller – a day whose records are needed once more is read with them; who asks is told why it cannot be", async (t) => {
  const asked: unknown[] = [];
  const { clock, poller } = setUp(t, [sensor("1")], ({ day, wanted }) => {
    if (wanted !== undefined) asked.push([day, wanted]);
    return day === "2026-01-02" ? { ok: false, message: "no" } : {};
  });
  await clock.advance(1_000);
  const wanted = { has: () => true, take: async () => {} };
  const read = async (code: string, day: string) => {
    const ended = poller.readWanted({ sensor: code, kind: "rpm", day }, wanted);
    await clock.advance(1_000);
    return ended;
  };
  assert.equal(await read("1", "2026-01-01"), null);
  assert.equal(await read("1", "2026-01-02"), "1 rpm 2026-01-02: no");
  assert.equal(await read("2", "2026-01-01"), "no longer in the site file");
  assert.deepEqual(asked, [
    ["2026-01-01", wanted],
    ["2026-01-02", wanted],
  ]);
});

test("poller – a sensor is not silent because its records wait for their commit", async (t) => {
  const [period, commitIntervalMs] = [3_000, 4_000];
  let stored = Date.parse("2026-11-20T11:59:00Z");
  const ending = new AbortController();
  t.after(() => ending.abort());
  const { clock, poller } = setUp(
    t,
    [sensor("1")],
    async (request, _call, now) => {
      if (request.day !== "2026-11-20") return {};
      const newTimesMs: number[] = [];
      for (; stored + period <= now.now(); stored += period) newTimesMs.push(stored + period);
      request.received?.(1);
      await now.sleep(commitIntervalMs - (now.monotonic() % commitIntervalMs), ending.signal);
      return { newTimesMs };
    },
    { commitIntervalMs },
  );
  await clock.advance(MINUTE);
  const states = new Set<string | undefined>();
  for (let s = 0; s < 60; s++) {
    await clock.advance(1_000);
    states.add(poller.sensorStates()[0]?.state);
  }
  assert.deepEqual([...states], ["online"]);
});

test("poller – a sensor is silent after three of its intervals and online again with its next record", async (t) => {
  let newest: number[] = [];
  const { clock, poller } = setUp(t, [sensor("1")], (request) => {
    if (request.day !== "2026-11-20") return {};
    const given = newest;
    newest = [];
    return { newTimesMs: given };
  });
  assert.equal(poller.sensorStates()[0]?.state, "unknown");
  const start = Date.parse("2026-11-20T12:00:00Z");
  newest = [start - 10 * MINUTE, start - 5 * MINUTE, start];
  await clock.advance(MINUTE);
  assert.equal(poller.sensorStates()[0]?.state, "online");
  await clock.advance(16 * MINUTE);
  assert.equal(poller.sensorStates()[0]?.state, "silent");
  newest = [clock.now()];
  await clock.advance(2 * MINUTE);
  assert.equal(poller.sensorStates()[0]?.state, "online");
});

test("poller – BACKFILL_DAYS 0 reads no day before today, unless it was being read", async (t) => {
  const start = "2026-11-20T12:00:00Z";
  const fresh = setUp(t, [sensor("1")], () => ({}), { backfillDays: 0 }, start);
  await fresh.clock.advance(10 * MINUTE);
  assert.deepEqual([...new Set(fresh.calls.map((c) => c.day))], ["2026-11-20"]);

  const again = setUp(
    t,
    [sensor("1")],
    () => ({}),
    { backfillDays: 0 },
    start,
    (clock) => clock.now(),
    new Set(["2026-11-19"]),
  );
  await again.clock.advance(10 * MINUTE);
  assert.deepEqual([...new Set(again.calls.map((c) => c.day))].sort(), [
    "2026-11-19",
    "2026-11-20",
  ]);
});

test("poller – a day is pending until it has been read after its end; none is of a sensor whose reads fail, or that is not polled", async (t) => {
  let isFailing = false;
  const { clock, poller } = setUp(
    t,
    [sensor("1")],
    ({ day }) => ({ ok: !isFailing && day !== "2026-11-19" }),
    { backfillDays: 0 },
    "2026-11-20T12:00:00Z",
    (own) => own.now(),
    // The day before yesterday closed at two in the morning: nothing reads it any more.
    new Set(["2026-11-18", "2026-11-19"]),
  );
  const pending = () => [...poller.pendingDays("1", "rpm")].sort();
  assert.deepEqual(pending(), ["2026-11-19", "2026-11-20"]);
  assert.deepEqual(poller.pendingDays("2", "rpm"), []);
  await clock.advance(10 * MINUTE);
  assert.deepEqual(pending(), ["2026-11-19", "2026-11-20"]);
  isFailing = true;
  await clock.advance(10 * MINUTE);
  assert.deepEqual(pending(), []);
});

test("poller – the closing read of a day that was being read stays due until it succeeds", async (t) => {
  const closes = Date.parse("2026-11-22T02:00:00Z"); // 26 h after the midnight that ended the 20th
  let failures = 0;
  const { clock, calls } = setUp(
    t,
    [sensor("1")],
    ({ day }, _call, own) => {
      if (day !== "2026-11-20" || own.now() < closes || failures >= 2) return {};
      failures += 1;
      return { ok: false };
    },
    { backfillDays: 0 },
  );
  await clock.advance(40 * HOUR);
  assert.equal(failures, 2);
  const closing = calls.filter((c) => c.day === "2026-11-20" && c.atMs >= closes);
  assert.equal(closing.length, 3);
});

test("poller – a read that only waits for its commit gives its slot to the next, up to a limit", async (t) => {
  const commits: (() => void)[] = [];
  const codes = Array.from({ length: 10 }, (_, i) => sensor(`${i}`));
  const { clock, calls } = setUp(
    t,
    codes,
    (request, call) => {
      if (call === 1) return {};
      request.received?.(500);
      return new Promise((done) => commits.push(() => done({})));
    },
    { backfillDays: 0 },
  );
  await clock.advance(100);
  // Four answers of 500 fill what may wait; then the two places are held until a commit ends.
  assert.equal(calls.length, 1 + 4 + 2);
  for (const commit of commits.splice(0, 1)) commit();
  await clock.advance(10);
  assert.equal(calls.length, 1 + 4 + 2);
  for (const commit of commits.splice(0)) commit();
  await clock.advance(100);
  assert.equal(new Set(calls.map((call) => call.sensor)).size, 10);
  for (const commit of commits.splice(0)) commit();
});

test("poller – calls that fail together cause one pause, not one each", async (t) => {
  const sensors = Array.from({ length: 16 }, (_, i) => sensor(String(i + 1)));
  let isDown = false;
  const hold = (clock: ManualClock) => clock.sleep(100);
  const { clock, calls } = setUp(
    t,
    sensors,
    async (_, __, c) => {
      await hold(c);
      return isDown ? { ok: false, isGatewayFault: true } : {};
    },
    { concurrency: 16, backfillDays: 0 },
  );
  await clock.advance(10_000);
  isDown = true;
  await clock.advance(MINUTE);
  isDown = false;
  const since = calls.length;
  // One after another they would have made it five minutes.
  await clock.advance(65_000);
  assert.ok(calls.length > since, "nothing was read for a minute");
});

test("poller – what the store could not write is read again within half a minute, however long that has lasted", async (t) => {
  let isFull = true;
  const { clock, calls } = setUp(
    t,
    [sensor("1")],
    () => (isFull ? { ok: false, isStoreFault: true } : {}),
    { backfillDays: 0 },
  );
  await clock.advance(HOUR);
  isFull = false;
  const since = calls.length;
  await clock.advance(30_000);
  assert.ok(calls.length > since);
});

test("poller – status numbers, however many, pause no other sensor", async (t) => {
  const sensors = Array.from({ length: 9 }, (_, i) => sensor(String(i + 1)));
  const { clock, calls } = setUp(
    t,
    sensors,
    ({ sensor: { code } }) => (code === "9" ? {} : { ok: false, failureClass: "service_status" }),
    { backfillDays: 0 },
  );
  await clock.advance(900);
  assert.ok(calls.some((c) => c.sensor === "9"));
});
