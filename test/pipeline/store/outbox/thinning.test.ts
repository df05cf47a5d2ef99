/** What an uplink with `onChange` or `everyS` leaves out; the rest stays on the box. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutboxUplink } from "../../../../src/core/delivery/delivery.ts";
import type { Reading } from "../../../../src/core/reading.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../../../src/pipeline/store/store.ts";
import { alarmLogOf } from "../../../support/alarm-log.ts";
import { FollowingEngine } from "../../../support/following-engine.ts";
import {
  append,
  type Cleanup,
  dayOf,
  keyOf,
  mainOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
  uplinkOf,
} from "../../../support/temp-database.ts";

const MINUTE = 60_000;

type Thinned = Pick<Partial<OutboxUplink>, "onChange" | "everyS">;

interface Use {
  readonly store: Store;
  readonly counts: { notSelected: number };
  /** The gateway's clock, minutes after the start. */
  at(minute: number): void;
  /** What goes, in minutes after the start, as it becomes pending; sent at once. */
  sent(): Promise<number[]>;
  reopen(): Promise<void>;
}

function use(
  t: Cleanup,
  thinned: Thinned,
  lanes: readonly ("json" | "sparkplug")[] = ["json"],
): Use {
  const counts = { notSelected: 0 };
  let now = START_MS;
  const options = storeOptions(tempDirectory(t), {
    uplinks: [...mainOf("json"), uplinkOf("cloud", lanes, thinned)],
    gatewayNow: () => now,
    onNotSelected: (uplink, count) => {
      assert.equal(uplink, "cloud");
      counts.notSelected += count;
    },
  });
  let store = openStore(options);
  t.after(() => store.close());
  return {
    counts,
    get store() {
      return store;
    },
    at(minute) {
      now = START_MS + minute * MINUTE;
    },
    async reopen() {
      await store.close();
      store = openStore(options);
    },
    async sent() {
      const outbox = store.outboxOf("cloud");
      const times: number[] = [];
      for (const which of ["live", "backlog"] as const) {
        const entries = outbox.lease("json", which, 1000);
        times.push(...entries.map(({ reading }) => (reading.timeMs - START_MS) / MINUTE));
        await outbox.settle(
          "json",
          entries.map((entry) => ({ entry, outcome: "sent" })),
        );
        await outbox.flush();
      }
      return times.sort((a, b) => a - b);
    },
  };
}

const rpm = (minute: number, value: number, more: Partial<Reading> = {}) =>
  readingOf("1", START_MS + minute * MINUTE, { values: { rpm: value }, ...more });

async function each(used: Use, readings: readonly Reading[]): Promise<number[]> {
  const all: number[] = [];
  for (const reading of readings) {
    await append(used.store, [reading]);
    all.push(...(await used.sent()));
  }
  return all;
}

test("thinning – a reading goes when its value differs enough from the one last sent, not from the one before", async (t) => {
  const used = use(t, { onChange: { values: { rpm: 10 } } });
  const readings = [1000, 1004, 1008, 1010, 1001, 1000.001, 1000].map((value, i) => rpm(i, value));
  assert.deepEqual(await each(used, readings), [0, 3, 5 + 1]);
  assert.equal(used.counts.notSelected, 4);
  assert.equal(used.store.outbox.depth("json").readings, 7);
  assert.deepEqual(used.store.gapsOf("cloud").pendingGaps(10), []);
});

test("thinning – all that one response leaves out is counted", async (t) => {
  const used = use(t, { onChange: { values: { rpm: 10 } } });
  await append(
    used.store,
    [1000, 1001, 1002, 1003].map((value, i) => rpm(i, value)),
  );
  assert.deepEqual(await used.sent(), [0]);
  assert.equal(used.counts.notSelected, 3);
});

test("thinning – sums that floating point misses by a hair count; a difference of nothing never does", async (t) => {
  const used = use(t, { onChange: { values: { rpm: 0.1 } } });
  assert.deepEqual(
    await each(
      used,
      [0.1, 0.2, 0.3, 0.4].map((value, i) => rpm(i, value)),
    ),
    [0, 1, 2, 3],
  );
  const zero = use(t, { onChange: { values: { rpm: 0 } } });
  assert.deepEqual(
    await each(
      zero,
      [5, 5, 5.0001].map((value, i) => rpm(i, value)),
    ),
    [0, 2],
  );
});

test("thinning – a changed text, quality or missing value goes, and so does everything after a while; what is not listed always goes", async (t) => {
  const used = use(t, { onChange: { values: { "*_zone": 0, rpm: 10 }, atLeastEveryS: 600 } });
  const zone = (minute: number, text: string, quality: Reading["quality"] = {}) =>
    rpm(minute, 1000, { values: { rpm: 1000, a_zone: text, other: minute }, quality });
  const bad = { rpm: { quality: "bad", reason: "missing" } } as const;
  const readings = [
    zone(0, "A"),
    zone(1, "A"),
    zone(2, "B"),
    zone(3, "B"),
    zone(4, "B", bad),
    zone(5, "B", bad),
    zone(14, "B", bad),
    zone(15, "B", bad),
    rpm(16, 0, { values: { other: 1 } }),
    rpm(17, 0, { values: { other: 1 } }),
  ];
  assert.deepEqual(await each(used, readings), [0, 2, 4, 14, 16, 17]);
});

test("thinning – of each period the newest goes once a later one begins, or an interval after its end; across a restart too", async (t) => {
  const used = use(t, { everyS: 900 }, ["json", "sparkplug"]);
  const readings = Array.from({ length: 18 }, (_, i) => rpm(i * 5, i));
  assert.deepEqual(await each(used, readings.slice(0, 5)), [10]);
  await used.reopen();
  assert.deepEqual(await each(used, readings.slice(5)), [25, 40, 55, 70]);
  assert.equal(used.counts.notSelected, 12);
  used.at(94);
  await used.store.retain();
  assert.deepEqual(await used.sent(), []);
  // The interval of this sensor is five minutes.
  used.at(95);
  await used.store.retain();
  assert.deepEqual(await used.sent(), [85]);
  await used.store.retain();
  assert.deepEqual(await used.sent(), []);
  assert.equal(used.store.outboxOf("cloud").depth("sparkplug").readings, 6);
});

test("thinning – three readings show the interval of a sensor", async (t) => {
  const used = use(t, { everyS: 900 });
  await append(used.store, [rpm(0, 0), rpm(5, 1), rpm(10, 2)]);
  used.at(20);
  await used.store.retain();
  assert.deepEqual(await used.sent(), [10]);
});

test("thinning – the interval of irregular readings is the median of nine steps, whatever hours they lie in", async (t) => {
  const used = use(t, { everyS: 900 });
  const minutes = [59, 60, 61, 62, 63, 64, 74, 84, 94, 104];
  await append(
    used.store,
    minutes.map((minute) => rpm(minute, minute)),
  );
  assert.deepEqual(await used.sent(), [59, 74, 84]);
  used.at(105);
  await used.store.retain();
  assert.deepEqual(await used.sent(), [], "its next one may be late by an interval");
  used.at(106);
  await used.store.retain();
  assert.deepEqual(await used.sent(), [104]);
});

test("thinning – what was held goes live once its period is over", async (t) => {
  const used = use(t, { everyS: 900 });
  await append(used.store, [rpm(0, 0), rpm(5, 1)]);
  used.at(60);
  await used.store.retain();
  const live = used.store.outboxOf("cloud").lease("json", "live", 9);
  assert.deepEqual(
    live.map(({ reading }) => reading.timeMs),
    [START_MS + 5 * MINUTE],
  );
});

test("thinning – what is dated in the future always goes, and what follows is judged without it", async (t) => {
  const used = use(t, { onChange: { values: { rpm: 10 } } });
  const future = { attributes: { flags: ["time_in_future"] } };
  const readings = [rpm(0, 1000), rpm(1, 1020, future), rpm(2, 1001, future), rpm(3, 1010)];
  assert.deepEqual(await each(used, readings), [0, 1, 2, 3]);
  assert.equal(used.counts.notSelected, 0);
});

test("thinning – both: first the newest of a period, then whether that differs", async (t) => {
  const used = use(t, { everyS: 600, onChange: { values: { rpm: 10 } } });
  const values = [0, 50, 1, 52, 2, 30, 3, 31, 4, 60, 5, 0];
  const readings = values.map((value, i) => rpm(i * 5, value));
  // The newest of the periods: 50, 52, 30, 31, 60; the last is not over.
  assert.deepEqual(await each(used, readings), [5, 25, 45]);
  assert.equal(used.counts.notSelected, 6 + 2);
});

test("thinning – days that are read later are thinned by themselves, and disturb the newest ones as little as one response disturbs another", async (t) => {
  const used = use(t, { everyS: 900 });
  const before = (minute: number) => readingOf("1", START_MS - 1440 * MINUTE + minute * MINUTE);
  await append(
    used.store,
    [0, 5, 10, 15].map((minute) => rpm(minute, minute)),
  );
  assert.deepEqual(await used.sent(), [10]);
  const day = keyOf("1", "rpm", dayOf(START_MS - 1440 * MINUTE));
  await append(used.store, [0, 5, 10, 15, 20, 30].map(before), day);
  assert.deepEqual(await used.sent(), [-1430, -1420]);
  await append(
    used.store,
    [20, 25].map((minute) => rpm(minute, minute)),
  );
  assert.deepEqual(await used.sent(), []);
  // Late within a period that was sent with a newer one.
  await append(used.store, [before(7)], day);
  await append(used.store, [rpm(30, 30)]);
  used.at(31);
  await used.store.retain();
  assert.deepEqual(await used.sent(), [-1410, 25]);
  const { notSelected } = used.counts;
  await used.store.retain();
  assert.equal(used.counts.notSelected, notSelected, "counted once");

  const changed = use(t, { onChange: { values: { rpm: 10 } } });
  await append(changed.store, [rpm(0, 1000), rpm(1, 1001)]);
  await append(changed.store, [before(0), before(1), before(2)], day);
  await append(changed.store, [rpm(2, 1002), rpm(3, 1010)]);
  assert.deepEqual(await changed.sent(), [-1440, 0, 3]);
});

test("thinning – alarm events go, and the readings that raise and clear them, each once", async (t) => {
  const site = {
    site: "plant-7",
    sensors: [{ code: "1", type: 6, kinds: ["rpm"] as const, channels: {} }],
    alarms: [{ name: "speed", select: { values: ["rpm"] }, high: 3000, hysteresis: 100 }],
  };
  const values = [1500, 1501, 3100, 3101, 2000, 2001];
  const thinned = { everyS: 86_400, onChange: { values: { rpm: 100_000 } } };
  for (const inOne of [true, false]) {
    const used = use(t, thinned);
    alarmLogOf(used.store).follower = new FollowingEngine(site as never);
    const readings = values.map((value, i) => rpm(i, value));
    if (inOne) await append(used.store, readings);
    else for (const reading of readings) await append(used.store, [reading]);
    const outbox = used.store.outboxOf("cloud");
    const entries = [...outbox.lease("json", "live", 100), ...outbox.lease("json", "backlog", 100)];
    const of = (isEvent: boolean) =>
      entries.filter(({ reading }) => (String(reading.kind) === "event") === isEvent);
    assert.equal(of(true).length, 2);
    const sent = of(false).map(({ reading }) => (reading.timeMs - START_MS) / MINUTE);
    assert.deepEqual(sent.sort(), [2, 4]);
    // The last one is held.
    assert.equal(used.counts.notSelected, 3, String(inOne));
  }
});

test("thinning – an uplink that is added later gets of what is stored at least one in each of its times", async (t) => {
  const used = use(t, {});
  const readings = Array.from({ length: 12 }, (_, i) => rpm(i * 5, i === 2 ? 1020 : 1000));
  await append(used.store, readings);
  const onChange = { values: { rpm: 10 }, atLeastEveryS: 900 };
  used.store.setUplinks([...mainOf("json"), uplinkOf("late", ["json"], { onChange })]);
  await used.store.retain();
  const outbox = used.store.outboxOf("late");
  const entries = [...outbox.lease("json", "live", 100), ...outbox.lease("json", "backlog", 100)];
  const minutes = entries.map(({ reading }) => (reading.timeMs - START_MS) / MINUTE);
  assert.deepEqual(
    minutes.sort((a, b) => a - b),
    [5, 10, 25, 40, 55],
  );
});

test("thinning – an uplink that is added later gets what is stored, thinned; one that is removed leaves nothing behind", async (t) => {
  const thinned = uplinkOf("late", ["json"], { everyS: 900 });
  const used = use(t, {});
  await append(
    used.store,
    Array.from({ length: 12 }, (_, i) => rpm(i * 5, i)),
  );
  const [main, cloud] = [mainOf("json"), uplinkOf("cloud", ["json"])];
  used.store.setUplinks([...main, cloud, thinned]);
  await used.store.retain();
  const entries = [
    ...used.store.outboxOf("late").lease("json", "live", 100),
    ...used.store.outboxOf("late").lease("json", "backlog", 100),
  ];
  const times = entries.map(({ reading }) => (reading.timeMs - START_MS) / MINUTE);
  assert.deepEqual(
    times.sort((a, b) => a - b),
    [10, 25, 40, 55],
  );
  await append(used.store, [rpm(60, 1)]);
  used.store.setUplinks([...main, cloud]);
  await used.store.retain();
  assert.equal(used.store.meta.get("thinned:late:1"), null);
});
