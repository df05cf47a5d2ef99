/** Records that come in groups are one find, and the period is that between finds. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { groupsOf } from "../../../src/pipeline/poll/record-groups.ts";
import { GOOD_READ, startPoller } from "../../support/poller.ts";

const MINUTE = 60_000;
const SENSORS = 20;

/**
 * Reads a minute of one sensor, and how late its records are found, ms, of SENSORS that have a group of records each
 * `periodMs`: `steps` apart, and shown one by one or together.
 */
async function follow(
  t: TestContext,
  stepsMs: readonly number[],
  { periodMs = MINUTE, isTogether = false, isStored = false } = {},
) {
  const beganMs = Date.parse("2026-11-20T08:00:00Z");
  const lagMs = 1_000;
  const offsets = stepsMs.reduce((all, ms) => [...all, (all.at(-1) ?? 0) + ms], [0]);
  const shownAfter = (offset: number) => (isTogether ? (offsets.at(-1) ?? 0) : offset) + lagMs;
  const seen = new Map<string, number>();
  let reads = 0;
  const late: number[] = [];
  const sensors = Array.from({ length: SENSORS }, (_, n) => {
    return { code: `${n}`, type: 1, kinds: ["rpm" as const], channels: {} };
  });
  const records = (sensor: string, untilMs: number, afterMs = 0) => {
    const firstMs = beganMs - 10 * periodMs + ((Number(sensor) * 2_017) % periodMs);
    const before = Math.floor((afterMs - (offsets.at(-1) ?? 0) - firstMs) / periodMs);
    const found: { ms: number; shownMs: number }[] = [];
    for (let at = firstMs + Math.max(0, before) * periodMs; at <= untilMs; at += periodMs)
      for (const offset of offsets)
        found.push({ ms: at + offset, shownMs: at + shownAfter(offset) });
    return found.filter(({ ms, shownMs }) => ms > afterMs && shownMs <= untilMs);
  };
  const { clock } = startPoller(t, {
    site: { site: "p", sensors },
    startAt: "2026-11-20T08:00:00Z",
    backfillDays: 0,
    concurrency: 2,
    intervalMs: MINUTE,
    storedMs: isStored ? records("0", beganMs).map(({ ms }) => ms) : [],
    readDay: async ({ sensor, day, gatewayNow }, own) => {
      if (day !== "2026-11-20") return GOOD_READ;
      await own.sleep(20);
      const now = gatewayNow(null);
      reads += 1;
      const fresh = records(sensor.code, now, seen.get(sensor.code));
      const isFirst = !seen.has(sensor.code);
      seen.set(sensor.code, fresh.at(-1)?.ms ?? seen.get(sensor.code) ?? 0);
      if (!isFirst) late.push(...fresh.map(({ shownMs }) => now - shownMs));
      return { ...GOOD_READ, stored: fresh.length, newTimesMs: fresh.map(({ ms }) => ms) };
    },
  });
  await clock.advance(15 * MINUTE);
  const before = reads;
  late.length = 0;
  await clock.advance(10 * MINUTE);
  const lateMs = late.toSorted((a, b) => a - b)[Math.floor(late.length * 0.9)] ?? Number.NaN;
  return { perMinute: (reads - before) / 10 / SENSORS, lateMs };
}

for (const { name, stepsMs, isTogether = false } of [
  { name: "alone", stepsMs: [] },
  { name: "in pairs 1 ms apart", stepsMs: [1] },
  { name: "in pairs 900 ms apart", stepsMs: [900] },
  { name: "in pairs 2 s apart", stepsMs: [2_000] },
  { name: "in pairs 2 s apart that are shown together", stepsMs: [2_000], isTogether: true },
  { name: "in fives 3 s apart", stepsMs: [3_000, 3_000, 3_000, 3_000] },
  {
    name: "ten seconds apart, six at once",
    stepsMs: [10_000, 10_000, 10_000, 10_000, 10_000],
    isTogether: true,
  },
])
  test(`record groups – of records that come each minute ${name}, one read finds each`, async (t) => {
    for (const isStored of [false, true]) {
      const { perMinute, lateMs } = await follow(t, stepsMs, { isTogether, isStored });
      t.diagnostic(`${perMinute.toFixed(2)} reads a minute, ${lateMs} ms late`);
      assert.ok(perMinute <= 2, `${perMinute} reads a minute`);
      assert.ok(lateMs <= (stepsMs.length > 1 ? 16_000 : 3_000), `${lateMs} ms late`);
    }
  });

test("record groups – records that come one by one are asked for one by one, within seconds", async (t) => {
  const { perMinute, lateMs } = await follow(t, [], { periodMs: 10_000 });
  t.diagnostic(`${perMinute.toFixed(2)} reads a minute, ${lateMs} ms late`);
  assert.ok(perMinute > 5 && perMinute < 9, `${perMinute} reads a minute`);
  assert.ok(lateMs <= 4_000, `${lateMs} ms late`);
});

test("record groups – a sensor is asked once a second at most, however close its records are", async (t) => {
  const { perMinute } = await follow(t, [], { periodMs: 300 });
  assert.ok(perMinute <= 61, `${perMinute} reads a minute`);
});

test("record groups – single records with outages, gaps or a new interval are no groups", () => {
  const single = Array<number>(20).fill(MINUTE);
  assert.equal(groupsOf(single), null);
  const outages = single.map((ms, n) => (n % 6 === 3 ? ms * (8 + 3 * n) : ms));
  assert.equal(groupsOf(outages), null);
  assert.equal(
    groupsOf([...Array<number>(12).fill(10 * MINUTE), ...Array<number>(12).fill(MINUTE)]),
    null,
  );
  const pairs = Array.from({ length: 24 }, (_, n) => (n % 2 === 0 ? 2_000 : 58_000));
  assert.deepEqual(groupsOf(pairs), { periodMs: MINUTE, spanMs: 2_000, sinceStartMs: 0 });
  assert.deepEqual(groupsOf(pairs.slice(1, -1)), {
    periodMs: MINUTE,
    spanMs: 2_000,
    sinceStartMs: 2_000,
  });
  // They have become single.
  assert.equal(groupsOf([...pairs.slice(0, 12), ...Array<number>(12).fill(58_000)]), null);
});
