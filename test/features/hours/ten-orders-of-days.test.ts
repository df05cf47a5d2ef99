/** Hours, day rows and standstills are of the readings: not of when each was read, nor of restarts. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { RunningSignal } from "../../../src/core/machine.ts";
import type { Reading } from "../../../src/core/reading.ts";
import type { Site } from "../../../src/core/site.ts";
import { ReplaceableSite } from "../../../src/core/site-source.ts";
import { inOneGo } from "../../../src/core/steps.ts";
import { DAY_MS, HOUR_MS } from "../../../src/core/time-units.ts";
import { StandingSince } from "../../../src/features/condition/standing-since.ts";
import { DayMedianJob } from "../../../src/features/hours/day-median-job.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { historyPages } from "../../../src/pipeline/store/readings/history-pages.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import { RandomSequence } from "../../../src/simulator/random.ts";
import { machinesOf } from "../../support/machines-of.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import {
  append,
  dayOf,
  keyOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
} from "../../support/temp-database.ts";

const SIGNAL: RunningSignal = { sensor: "2", kind: "rpm", value: "rpm", above: 300 };
const SITE: Site = {
  site: "s",
  sensors: [
    {
      code: "1",
      type: 3,
      kinds: ["accel"],
      channels: { channel1: { axis: "H" } },
      location: { company: 1, area: 1, machine: 40, point: 1 },
    },
    { code: "2", type: 6, kinds: ["rpm"], channels: {} },
  ],
  machines: [{ id: 40, running: SIGNAL }],
};
const DAY = START_MS / DAY_MS;
const DAYS = 3;
const SPANS = [{ sensor: "2", fromMs: Number.MIN_SAFE_INTEGER, toMs: Number.MAX_SAFE_INTEGER }];

/** It stands from 8 to 12 each day, and from 20 on in the last. Four hours of one sensor are read together. */
function responses(): Reading[][] {
  const all: Reading[][] = [];
  for (let from = 0; from < 24 * DAYS; from += 4) {
    const hours = [from, from + 1, from + 2, from + 3];
    const stands = (hour: number) => (hour % 24 >= 8 && hour % 24 < 12) || hour >= 24 * DAYS - 4;
    const accel = (hour: number) => ({
      kind: "accel" as const,
      values: { channel1_vel_rms: stands(hour) ? 0.1 : 2 + (hour % 7) / 10 },
      units: { channel1_vel_rms: "mm/s" },
    });
    const at = (hour: number) => START_MS + hour * HOUR_MS;
    all.push(hours.map((hour) => readingOf("1", at(hour) + 600_000, accel(hour))));
    const signal = [0, 10, 20, 30, 40, 50];
    all.push(
      hours.flatMap((hour) =>
        signal.map((minute) =>
          readingOf("2", at(hour) + minute * 60_000, { values: { rpm: stands(hour) ? 0 : 1480 } }),
        ),
      ),
    );
  }
  return all;
}

/** @param seed of the order and of the restarts; 0: in order of time, without any */
async function livedIn(t: TestContext, seed: number) {
  const random = new RandomSequence(seed);
  const clock = new ManualClock(START_MS + (DAYS + 2) * DAY_MS);
  const directory = tempDirectory(t);
  const open = () => {
    const store = openStore(storeOptions(directory, { clock, historyDays: 30, uplinks: [] }));
    const site = new ReplaceableSite(SITE);
    const machines = machinesOf(site, store, clock);
    inOneGo(machines.begin());
    store.steps.list = [machines];
    const job = new DayMedianJob({
      site,
      wait: machines.wait,
      history: store.history,
      rows: store.dayMedians,
      historyDays: 30,
      clock,
      gatewayNow: () => clock.now(),
      isClockConfirmed: () => true,
      rest: () => Promise.resolve(),
      logger: silentLogger,
    });
    return { store, job, since: new StandingSince(historyPages(store.history)) };
  };
  let now = open();
  t.after(() => now.store.close());
  const look = async () => {
    await now.job.look(new AbortController().signal);
    return now.since.of(40, SIGNAL, SPANS, clock.now());
  };
  const left = responses();
  while (left.length > 0) {
    const at = seed === 0 ? 0 : Math.floor(random.next() * left.length);
    const [readings = []] = left.splice(at, 1);
    const [{ sensor, kind, timeMs } = { sensor: "", kind: "rpm" as const, timeMs: 0 }] = readings;
    await append(now.store, readings, keyOf(sensor, kind, dayOf(timeMs)));
    for (const reading of readings) now.since.stored(reading);
    if (seed > 0 && random.next() < 0.3) await look();
    // Files the hours that are over.
    if (seed > 0 && random.next() < 0.2) await now.store.retain();
    if (seed > 0 && random.next() < 0.1) {
      await now.store.close();
      now = open();
    }
  }
  const standing = await look();
  const range = { fromMs: START_MS, toMs: START_MS + DAYS * DAY_MS, values: null };
  const points = (span: "hours" | "days") =>
    [...now.store.hours.points({ sensor: "1", kind: "accel", span, ...range })].map((point) => {
      const [sum] = point.series;
      return { ...point, series: { ...sum, mean: Number(sum?.mean.toPrecision(12)) } };
    });
  const rows = now.store.dayMedians.of("1", "accel", DAY, DAY + DAYS);
  return { rows, standing, hours: points("hours"), days: points("days") };
}

test("ten orders of arrival of the same readings, with restarts between, leave the same hours, day rows and standstill", async (t) => {
  const inOrder = await livedIn(t, 0);
  const counts = inOrder.rows.map(({ values }) => values["channel1_vel_rms"]?.count);
  assert.deepEqual(counts, [20, 20, 16]);
  assert.deepEqual([inOrder.hours.length, inOrder.days.length], [24 * DAYS, DAYS]);
  const standsFromMs = START_MS + (24 * DAYS - 4) * HOUR_MS;
  assert.deepEqual(inOrder.standing, { timeMs: standsFromMs, isAtLeast: false });
  for (let seed = 1; seed <= 10; seed++)
    assert.deepEqual(await livedIn(t, seed), inOrder, `order ${seed}`);
});
