/** Days of the gateway's calendar with the built agent: midnights, daylight saving, late records, gaps, and clocks that are wrong. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { TimeZone } from "../../src/simulator/time-zone.ts";
import { deadlineMs } from "../support/deadline.ts";
import { expectedTimeMs } from "../support/expected-reading.ts";
import { fakeTimeLibrary } from "../support/fake-time.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { type Plant, skipWithoutBuild, startPlant } from "../support/plant.ts";
import { assertLiveMovesForward, SeenReadings, truthOf } from "../support/seen-readings.ts";
import { SkippingClock } from "../support/skipping-clock.ts";
import { until, waitUntil } from "../support/wait-until.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Plant seconds in one of ours. Slow enough that the gateway's clock, looked at each second, does not seem to jump. */
const SPEED = 60;
const ARRIVAL_MS = 60_000;
const skip = skipWithoutBuild || skipWithoutMosquitto;

/** Waveform days are spaced by their cadence in real time, so the plant has none; days are the same for every kind. */
const accelSensorsMax = 0;
const everyS = (seconds: number) => ({
  accCurrent: seconds,
  current: seconds,
  currentV2: seconds,
  loop: seconds,
  dryContact: seconds,
  rpm: seconds,
});

interface Yard {
  readonly plant: Plant;
  readonly clock: SkippingClock;
  readonly seen: SeenReadings;
}

async function openYard(
  t: TestContext,
  zone: string,
  simulator: SimulatorOptions,
  env: Readonly<Record<string, string>> = {},
): Promise<Yard> {
  const clock = new SkippingClock();
  const plant = await startPlant(t, {
    simulator: {
      clock,
      zone,
      sensors: 7,
      speed: SPEED,
      accelSensorsMax,
      cadenceS: everyS(60),
      ...simulator,
    },
    env: {
      GATEWAY_TIMEZONE: zone,
      GATEWAY_CONCURRENCY: "4",
      PUBLISH_WAVEFORMS: "never",
      ...env,
    },
  });
  return { plant, clock, seen: new SeenReadings(await plant.subscribe()) };
}

/** Every record of the truth came once, with the instant that the record carries. */
function assertOnceAndRight(
  { plant, seen }: Yard,
  truth: ReturnType<typeof truthOf>,
  fromMs: number,
) {
  for (const [id, { kind, record, sensor }] of truth) {
    const readings = seen.byId.get(id) ?? [];
    assert.equal(readings.length, 1, `${sensor} ${kind} came ${readings.length} times`);
    assert.equal(readings[0]?.timeMs, expectedTimeMs(kind, record), `${sensor} ${kind}`);
  }
  const ever = truthOf(plant.simulator, fromMs - 3 * DAY_MS, Number.POSITIVE_INFINITY);
  for (const id of seen.byId.keys()) assert.ok(ever.has(id), `${id} was invented`);
}

const EVE_MS = 5 * MINUTE_MS;
/** Minutes before the midnight that ends a day. */
const eveOf = (zone: string, day: string) => new TimeZone(zone).endOf(day) - EVE_MS;

const MIDNIGHTS = [
  { zone: "Asia/Kathmandu", day: "2026-11-20", hours: 24 },
  { zone: "America/St_Johns", day: "2026-11-01", hours: 25 },
  { zone: "America/St_Johns", day: "2026-03-08", hours: 23 },
  { zone: "Australia/Lord_Howe", day: "2026-10-04", hours: 23.5 },
] as const;

describe("days of the gateway", { skip, concurrency: true, timeout: deadlineMs(150_000) }, () => {
  for (const { zone, day, hours } of MIDNIGHTS) {
    it(`across the midnight after ${day}, a day of ${hours} h in ${zone}, every record arrives once, also late ones`, async (t) => {
      const startMs = eveOf(zone, day);
      const calendar = new TimeZone(zone);
      assert.equal((calendar.endOf(day) - calendar.startOf(day)) / HOUR_MS, hours);
      const yard = await openYard(
        t,
        zone,
        { startMs, historyDays: 2, cadenceS: everyS(300) },
        { BACKFILL_DAYS: "1" },
      );
      const { plant, clock, seen } = yard;
      // The evening lasts until the agent looks on. What is measured in it shows up after midnight.
      clock.stop();
      const late = plant.simulator.faults.add({ name: "late", ms: EVE_MS });
      const agent = plant.startAgent();
      await until("a first reading", () => seen.update().list[0]);
      clock.start();
      const endMs = calendar.endOf(day);
      await until("the new day", () => plant.simulator.clock.now() > endMs + EVE_MS || undefined);
      plant.simulator.faults.remove(late.id);
      const dayBefore = calendar.startOf(day) - 1;
      const truth = truthOf(plant.simulator, calendar.startOf(calendar.dayOf(dayBefore)));
      const days = new Set([...truth.values()].map((record) => record.day));
      assert.equal(days.size, 3, [...days].join());
      const evening = [...truth.values()].filter(
        ({ timeMs }) => timeMs > startMs && timeMs < endMs - MINUTE_MS,
      );
      assert.ok(evening.length >= 3, `${evening.length} late records`);
      await seen.waitFor(truth, ARRIVAL_MS);
      assertOnceAndRight(yard, truth, startMs - 2 * DAY_MS);
      assertLiveMovesForward(seen.list);
      assert.equal(await agent.stop(), 0);
    });
  }

  // Behind its gateway the box misses the new day, before it the running one: a box on UTC is either.
  for (const [zone, startMs] of [
    ["Pacific/Auckland", Date.UTC(2026, 10, 20, 20)],
    ["America/Mexico_City", Date.UTC(2026, 10, 20, 4)],
  ] as const) {
    it(`with GATEWAY_TIMEZONE left on UTC, a gateway in ${zone} is read by the offset in its records, also after a restart`, async (t) => {
      const yard = await openYard(
        t,
        zone,
        { startMs, historyDays: 0.7, cadenceS: everyS(300) },
        { BACKFILL_DAYS: "1", GATEWAY_TIMEZONE: "UTC" },
      );
      const { plant, clock, seen } = yard;
      const calendar = new TimeZone(zone);
      const fromMs = calendar.startOf(calendar.dayOf(startMs));
      const truthSoFar = () => truthOf(plant.simulator, fromMs);
      for (const times of ["first", "second"]) {
        clock.stop();
        const agent = plant.startAgent();
        await seen.waitFor(truthSoFar(), ARRIVAL_MS);
        const address = await agent.address;
        await until(`the ${times} start's reads`, async () => {
          const text = await (await fetch(`${address}/metrics`)).text();
          const reads = /^gateside_poll_duration_seconds_count(?:\{.*\})? (\d+)$/m.exec(text)?.[1];
          return Number(reads) > 30 || undefined;
        });
        clock.start();
        const sinceMs = plant.simulator.clock.now();
        const added = () => truthOf(plant.simulator, sinceMs).size;
        await until("new records", () => added() >= 8 || undefined);
        clock.stop();
        const truth = truthSoFar();
        await seen.waitFor(truth, 20_000);
        assertOnceAndRight(yard, truth, fromMs);
        assert.equal(await agent.stop(), 0);
      }
      assertLiveMovesForward(seen.list);
    });
  }

  it("a gap of three days is closed after the agent was down, and again after the gateway was", async (t) => {
    const startMs = eveOf("Asia/Kathmandu", "2026-11-10");
    const yard = await openYard(
      t,
      "Asia/Kathmandu",
      { startMs, historyDays: 0.2, cadenceS: everyS(1800), speed: 10 },
      { BACKFILL_DAYS: "7" },
    );
    const { plant, clock, seen } = yard;
    const fromMs = startMs - DAY_MS;
    const skipDays = (days: number) => clock.skip((days * DAY_MS) / 10);
    const first = plant.startAgent();
    await seen.waitFor(truthOf(plant.simulator, fromMs), ARRIVAL_MS);
    assert.equal(await first.stop(), 0);
    skipDays(3);
    const second = plant.startAgent();
    await seen.waitFor(truthOf(plant.simulator, fromMs), ARRIVAL_MS);
    // The gateway is gone for as long again, with the agent looking on.
    const away = plant.simulator.faults.add({ name: "close-without-answer" });
    await until(
      "the failure",
      () => second.log.some(({ msg }) => msg === "read failed") || undefined,
    );
    skipDays(3);
    plant.simulator.faults.remove(away.id);
    const truth = truthOf(plant.simulator, fromMs);
    assert.ok(new Set([...truth.values()].map(({ day }) => day)).size >= 7);
    await seen.waitFor(truth, ARRIVAL_MS);
    assertOnceAndRight(yard, truth, fromMs);
    assertLiveMovesForward(seen.list);
    assert.equal(await second.stop(), 0);
  });

  it("a gateway clock that is wrong and then set loses no record, and records keep their own time", async (t) => {
    const zone = "Australia/Lord_Howe";
    const startMs = new TimeZone(zone).startOf("2026-11-18") + 9 * HOUR_MS;
    const yard = await openYard(
      t,
      zone,
      { startMs, historyDays: 0.02, clockOffsetMs: -26 * HOUR_MS },
      { BACKFILL_DAYS: "2" },
    );
    const { plant, seen } = yard;
    const { simulator } = plant;
    const fromMs = startMs - 3 * DAY_MS;
    const agent = plant.startAgent();
    const allSoFar = () => truthOf(simulator, fromMs, startMs + 3 * DAY_MS);
    // The truth of all days takes longer than a look of ten a second leaves.
    const newRecords = (before: number) =>
      waitUntil("new records", () => allSoFar().size >= before + 10, 30_000, 500);
    // A day behind, right, half an hour ahead, two hours behind, right.
    for (const offsetMs of [0, 30 * MINUTE_MS, -2 * HOUR_MS, 0]) {
      await seen.waitFor(allSoFar(), ARRIVAL_MS);
      const before = allSoFar().size;
      await newRecords(before);
      await seen.waitFor(allSoFar(), ARRIVAL_MS);
      simulator.clock.setOffset(offsetMs);
    }
    const before = allSoFar().size;
    await newRecords(before);
    const truth = allSoFar();
    await seen.waitFor(truth, ARRIVAL_MS);
    assertOnceAndRight(yard, truth, fromMs);
    assertLiveMovesForward(seen.list);
    assert.equal(await agent.stop(), 0);
  });

  it("a box without a clock chip that boots in 1970 and learns the time later loses nothing and writes no wrong time", {
    skip: fakeTimeLibrary() === null && "libfaketime is not installed",
  }, async (t) => {
    const zone = "America/St_Johns";
    const startMs = eveOf(zone, "2026-11-19");
    const yard = await openYard(t, zone, { startMs, historyDays: 0.05 }, { BACKFILL_DAYS: "1" });
    const { plant, clock, seen } = yard;
    const fromMs = startMs - DAY_MS;
    clock.stop();
    const agent = plant.startAgent({
      LD_PRELOAD: fakeTimeLibrary() ?? "",
      FAKETIME: "@1970-01-01 00:00:10",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      NO_FAKE_STAT: "1",
    });
    await seen.waitFor(truthOf(plant.simulator, fromMs), ARRIVAL_MS);
    const status = await (await fetch(`${await agent.address}/api/v1/status`)).json();
    const { clock: state } = status as { clock: { isPlausible: boolean; skewMs: number } };
    assert.equal(state.isPlausible, false);
    assert.ok(state.skewMs > 50 * 365 * DAY_MS);
    clock.start();
    await until("new records", () => seen.missing(truthOf(plant.simulator, fromMs))[0]);
    assert.equal(await agent.kill(), "SIGKILL");

    // The next start knows the time, and the store of 1970 is still good.
    const later = plant.startAgent();
    await until(
      "the new day",
      () => plant.simulator.clock.now() > startMs + EVE_MS + 2 * MINUTE_MS || undefined,
    );
    const truth = truthOf(plant.simulator, fromMs);
    await seen.waitFor(truth, ARRIVAL_MS);
    assert.equal(await later.stop(), 0);
    for (const [id, { kind, record }] of truth)
      for (const { timeMs } of seen.byId.get(id) ?? [])
        assert.equal(timeMs, expectedTimeMs(kind, record));
    assertLiveMovesForward(seen.list);
  });
});
