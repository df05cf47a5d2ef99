/** What always stays, and what goes when room is short. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import type { Reading, Waveform } from "../../../src/core/reading.ts";
import type { Site } from "../../../src/core/site.ts";
import { PINS_MAX, type Pins } from "../../../src/features/kept/pins.ts";
import { rollBack } from "../../../src/pipeline/store/database/rollback.ts";
import type { MeasuredMachines } from "../../../src/pipeline/store/keeping.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import type { Store, StoreOptions } from "../../../src/pipeline/store/store.ts";
import { alarmLogOf } from "../../support/alarm-log.ts";
import { spoilPage } from "../../support/damage.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import {
  append,
  type Cleanup,
  DAY_MS,
  mainOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
  waveformOf,
} from "../../support/temp-database.ts";
import { keepBy, pinsOf } from "./support.ts";

const HOUR_MS = 3_600_000;
const SITE: Site = {
  site: "plant-7",
  sensors: [
    {
      code: "1",
      type: 3,
      kinds: ["accel"],
      channels: { channel1: { axis: "H" } },
      location: { company: 1, area: 2, machine: 40, point: 1 },
    },
    {
      code: "9",
      type: 6,
      kinds: ["rpm"],
      channels: {},
      location: { company: 1, area: 2, machine: 40, point: 2 },
    },
  ],
  machines: [{ id: 40 }],
  alarms: [
    { name: "hot", select: { values: ["temperature"] }, high: 80, hysteresis: 5 },
    { name: "fast", select: { values: ["rpm"] }, high: 3000, hysteresis: 100 },
    {
      name: "change",
      select: { values: ["channel1_vel_rms"] },
      baseline: { readings: 5, deviations: 4 },
    },
  ],
};

/** Samples that no packing makes smaller. */
function noise(samples: number): Waveform {
  let state = 1;
  const values = Int16Array.from({ length: samples }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 16) - 32_768;
  });
  return { ...waveformOf(1, 1), channels: [{ channel: 1, axis: "H", samples: values }] };
}

/** A measurement at this hour. */
const measured = (hour: number, more: Partial<Reading> = {}, samples = 16): Reading =>
  readingOf("1", START_MS + hour * HOUR_MS, {
    kind: "accel",
    values: { channel1_vel_rms: 1 + (hour % 5) / 100, temperature: 40 },
    units: { channel1_vel_rms: "mm/s", temperature: "degC" },
    waveform: noise(samples),
    ...more,
  });

const MACHINES: MeasuredMachines = {
  at: () => ({ running: null, isRunning: true, speedRpm: null }),
  isAwaited: () => false,
  usualRpm: () => null,
  together: (sensor) => (sensor === "9" ? ["9", "1"] : [sensor]),
  refresh: () => Promise.resolve(),
};

interface Opened {
  readonly store: Store;
  readonly pins: Pins;
  readonly clock: ManualClock;
  readonly directory: string;
}

function open(t: Cleanup, options: Partial<StoreOptions> = {}, clock = new ManualClock(START_MS)) {
  const directory = options.dataDir ?? tempDirectory(t);
  const keep = keepBy(MACHINES);
  const store = openStore(storeOptions(directory, { clock, uplinks: mainOf(), keep, ...options }));
  t.after(() => store.close());
  const engine = new FollowingEngine(SITE);
  engine.load(alarmLogOf(store).saved());
  alarmLogOf(store).follower = engine;
  const pins = pinsOf(store, options.waveformDays !== 0);
  return { store, pins, clock, directory } satisfies Opened;
}

/** Hours of the measurements that have samples, with the reasons why. */
const keptOf = (store: Store) =>
  Object.fromEntries(
    store.measurements
      .list({ sensor: "1", fromMs: 0, toMs: 1e14, limit: 10_000 })
      .map(({ timeMs, kept }) => [
        (timeMs - START_MS) / HOUR_MS,
        kept
          .map(({ why }) => why)
          .sort()
          .join(),
      ]),
  );

/** Lets days pass, and retention with them. */
async function age({ store, clock }: Pick<Opened, "store" | "clock">, days: number): Promise<void> {
  await clock.advance(days * DAY_MS);
  await store.retain();
}

test("kept – the measurements at which alarms rose, of another kind the machine's newest before, that completed a baseline, and that people pinned stay beside the day's best", async (t) => {
  const opened = open(t);
  const { store, pins } = opened;
  for (let hour = 0; hour < 24; hour++) {
    const isHot = hour === 7 || hour === 8;
    const values = { channel1_vel_rms: 1 + (hour % 5) / 100, temperature: isHot ? 90 : 40 };
    await append(store, [measured(hour, { values })]);
    if (hour !== 13) continue;
    const timeMs = START_MS + 13.5 * HOUR_MS;
    await append(store, [readingOf("9", timeMs, { values: { rpm: 4000 } })]);
  }
  const pinned = measured(20);
  assert.equal(await pins.set("1", pinned.id, "before the repair"), "done");
  assert.equal(await pins.set("1", pinned.id, "after"), "done");
  const young = keptOf(store);
  assert.equal(Object.keys(young).length, 24);
  assert.deepEqual(
    Object.entries(young).filter(([, why]) => why !== ""),
    [
      ["4", "baseline"],
      ["7", "alarm"],
      ["13", "alarm"],
      ["20", "pin"],
    ],
  );
  await age(opened, 60);
  assert.deepEqual(keptOf(store), {
    4: "baseline",
    7: "alarm",
    13: "alarm",
    20: "pin",
    23: "ladder",
  });
  const pin = store.measurements.find("1", pinned.id);
  assert.deepEqual(pin?.kept, [{ why: "pin", note: "after" }]);
  assert.equal(store.measurements.readingOf("1", pinned.id)?.id, pinned.id);
  const file = store.waveforms.read(pin?.channels[0]?.fileId ?? 0);
  assert.deepEqual(file?.samples, pinned.waveform?.channels[0]?.samples);
  assert.equal(store.history.latest("1", "accel"), null, "the reading itself has aged");

  assert.equal(await pins.set("1", pinned.id, null), "done");
  assert.equal(await pins.set("1", pinned.id, null), "done", "repeated");
  await age(opened, 1);
  assert.equal(store.measurements.find("1", pinned.id), null);
  assert.equal(await pins.set("1", pinned.id, null), "unknown");
});

test("kept – an alarm of another kind keeps a measurement up to a week before it, and none that is older", async (t) => {
  for (const [hours, why] of [
    [7 * 24, "alarm"],
    [7 * 24 + 1, ""],
  ] as const) {
    const opened = open(t);
    await append(opened.store, [measured(0)]);
    const timeMs = START_MS + hours * HOUR_MS;
    await append(opened.store, [readingOf("9", timeMs, { values: { rpm: 4000 } })]);
    assert.deepEqual(keptOf(opened.store), { 0: why });
  }
});

test("kept – nothing is thinned while nobody has confirmed the clock", async (t) => {
  let isConfirmed = false;
  const opened = open(t, { isClockConfirmed: () => isConfirmed });
  for (let hour = 0; hour < 48; hour++) await append(opened.store, [measured(hour)]);
  await age(opened, 400);
  assert.equal(Object.keys(keptOf(opened.store)).length, 48);
  isConfirmed = true;
  await age(opened, 1);
  assert.deepEqual(keptOf(opened.store), { 4: "baseline", 47: "ladder" });
});

test("kept – with WAVEFORM_DAYS=0 nothing is kept, and nothing can be pinned", async (t) => {
  const opened = open(t, { waveformDays: 0 });
  await append(opened.store, [measured(0)]);
  assert.equal(await opened.pins.set("1", measured(0).id, ""), "gone");
  await age(opened, 2);
  assert.deepEqual(keptOf(opened.store), {});
});

test("kept – over the quarter the ladder goes first, days before weeks, then alarms but the first of each; pins never", async (t) => {
  // A quarter of 8 MB holds some 60 measurements of 32 kB.
  const opened = open(t, { bufferMaxMb: 8, historyDays: 400 });
  const { store, clock, pins } = opened;
  const samples = 16_000;
  let pinnedLater = "";
  for (let day = 0; day < 150; day++) {
    const values = { channel1_vel_rms: 1, temperature: day % 2 === 0 ? 90 : 40 };
    const isHot = day < 20;
    await append(store, [
      measured(day * 24, isHot ? { values } : {}, samples),
      measured(day * 24 + 1, {}, samples),
    ]);
    if (day === 3) assert.equal(await pins.set("1", measured(day * 24).id, ""), "done");
    // One that is kept already, as the best of its day.
    if (day === 40) {
      const [best = ""] = Object.entries(keptOf(store)).find(([, why]) => why === "ladder") ?? [];
      pinnedLater = best;
      assert.equal(await pins.set("1", measured(Number(best), {}, samples).id, ""), "done");
    }
    await age({ store, clock }, 1);
  }
  const kept = keptOf(store);
  const { kept: state } = store.state();
  assert.ok(state.bytes <= state.limitBytes, `${state.bytes} of ${state.limitBytes}`);
  assert.equal(state.isFull, false);
  const of = (why: string) => Object.keys(kept).filter((hour) => kept[Number(hour)]?.includes(why));
  assert.deepEqual(of("pin"), [pinnedLater, "72"]);
  assert.ok(of("alarm").includes("0"), "the first of the alarm");
  const [oldest = 0] = of("ladder")
    .filter((hour) => hour !== pinnedLater)
    .map(Number);
  assert.ok(oldest >= 24 * 60, "the oldest days went first");
  assert.ok(of("alarm").length >= 8, "alarms stay while days can go");
});

test("kept – what must stay fills the quarter: new alarms are not kept and status says so, a pin is refused; a 501st pin too", async (t) => {
  const opened = open(t, { bufferMaxMb: 8, historyDays: 400 });
  const { store, pins } = opened;
  const samples = 16_000;
  let outcome = "done";
  let count = 0;
  for (let hour = 0; hour < 24 * 6 && outcome === "done"; hour++) {
    await append(store, [measured(hour, {}, samples)]);
    outcome = await pins.set("1", measured(hour, {}, samples).id, "");
    if (outcome === "done") count += 1;
  }
  assert.equal(outcome, "full");
  assert.ok(count > 40 && count < 65, `${count} pins`);
  const values = { channel1_vel_rms: 1, temperature: 90 };
  await append(store, [measured(24 * 7, { values }, samples)]);
  await age(opened, 60);
  assert.equal(store.state().kept.isFull, true);
  assert.equal(Object.values(keptOf(store)).filter((why) => why.includes("pin")).length, count);
  assert.ok(!Object.values(keptOf(store)).some((why) => why.includes("alarm")));

  const other = open(t);
  const many = Array.from({ length: PINS_MAX }, (_, n) => measured(n / 60));
  await append(other.store, many);
  for (const { id } of many) assert.equal(await other.pins.set("1", id, ""), "done");
  const last = measured(1000 / 60);
  await append(other.store, [last]);
  assert.equal(await other.pins.set("1", last.id, ""), "full");
  assert.equal(await other.pins.set("1", measured(0).id, "again"), "done");
});

test("kept – a full buffer takes young samples, but never a pin, and leaves one measurement of each day", async (t) => {
  const { store, pins } = open(t, { bufferMaxMb: 8, historyDays: 400 });
  const samples = 8_000;
  const pinned = measured(5, {}, samples);
  for (let hour = 0; hour < 24 * 5; hour++) {
    for (const minute of [0, 0.2, 0.4, 0.6, 0.8])
      await append(store, [measured(hour + minute, {}, samples)]);
    if (hour === 5) assert.equal(await pins.set("1", pinned.id, ""), "done");
    await store.retain();
  }
  const kept = keptOf(store);
  assert.equal(kept[5]?.includes("pin"), true);
  const days = new Set(Object.keys(kept).map((hour) => Math.floor(Number(hour) / 24)));
  assert.deepEqual([...days].sort(), [0, 1, 2, 3, 4]);
  const firstDay = Object.entries(kept).filter(([hour]) => Number(hour) < 24);
  // A pin, a baseline and one of the day.
  assert.equal(firstDay.length, 3, JSON.stringify(firstDay));
});

test("kept – a damaged store's copy has them, and so has a store that went back to 0.2 and forwards again", async (t) => {
  const opened = open(t);
  const { clock, directory } = opened;
  for (let hour = 0; hour < 48; hour++) await append(opened.store, [measured(hour)]);
  await opened.pins.set("1", measured(3).id, "stays");
  await age(opened, 60);
  for (let hour = 0; hour < 300; hour++)
    await append(opened.store, [readingOf("9", clock.now() + hour * 1000, { padding: 900 })]);
  const before = keptOf(opened.store);
  assert.deepEqual(before, { 3: "pin", 4: "baseline", 23: "ladder", 47: "ladder" });
  await opened.store.close();

  spoilPage(join(directory, "gateside.db"), "lanes");
  const repaired = open(t, { dataDir: directory }, clock);
  assert.match(repaired.store.state().alarm ?? "", /damaged|copied/);
  assert.deepEqual(keptOf(repaired.store), before);
  const pin = repaired.store.measurements.find("1", measured(3).id);
  assert.equal(repaired.store.waveforms.has(pin?.channels[0]?.fileId ?? 0), true);
  await repaired.store.close();

  rollBack(directory, 5);
  const db = new Sqlite(join(directory, "gateside.db"));
  assert.equal(db.prepare("SELECT count(*) FROM kept_samples").pluck().get(), 4);
  db.close();
  const again = open(t, { dataDir: directory }, clock);
  assert.deepEqual(keptOf(again.store), before);
});
