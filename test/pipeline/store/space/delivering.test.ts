/** A full buffer while uplinks deliver: what they are owed waits, and only the others lose something. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as immediate } from "node:timers/promises";
import { StoreFailure } from "../../../../src/pipeline/store/database/store-failure.ts";
import type { Store } from "../../../../src/pipeline/store/store.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import {
  append,
  readingOf,
  START_MS,
  tempDirectory,
  tempStore,
  uplinkOf,
} from "../../../support/temp-database.ts";

const MINUTE_MS = 60_000;

const minutesOf = (sensor: string, from: number, count: number, padding = 1000) =>
  Array.from({ length: count }, (_, n) =>
    readingOf(sensor, START_MS + (from + n) * MINUTE_MS, { padding }),
  );

/** Sends at most `max` of what an uplink is owed; adds their ids. */
async function deliver(store: Store, uplink: string, max: number, ids = new Set<string>()) {
  const outbox = store.outboxOf(uplink);
  const entries = [
    ...outbox.lease("json", "live", max),
    ...outbox.lease("json", "backlog", max),
  ].slice(0, max);
  const done = outbox.settle(
    "json",
    entries.map((entry) => ({ entry, outcome: "sent" as const })),
  );
  outbox.release("json");
  await store.outbox.flush();
  await done;
  for (const { reading } of entries) ids.add(reading.id);
  return ids;
}

/** Reads a day again and again, as the poller does, while the uplinks deliver; returns how often it had to wait. */
async function readUntilStored(
  store: Store,
  readings: ReturnType<typeof minutesOf>,
  whileWaiting: () => Promise<unknown>,
): Promise<number> {
  for (let waits = 0; waits < 200; waits++) {
    const isStored = await append(store, readings).then(
      () => true,
      (error: unknown) => {
        assert.ok(error instanceof StoreFailure && error.code === "full", String(error));
        return false;
      },
    );
    if (isStored) return waits;
    assert.equal(store.readings.isWaitingForDelivery(), true);
    for (let n = 0; store.readings.isWaitingForDelivery(); n++) {
      assert.ok(n < 100, "what was delivered makes no room");
      await whileWaiting();
    }
  }
  assert.fail("it never fitted");
}

const gapsOf = (store: Store, uplink: string) =>
  store
    .gapsOf(uplink)
    .pendingGaps(10_000)
    .filter((gap) => (gap.uplink ?? uplink) === uplink)
    .reduce((sum, { count }) => sum + count, 0);

test("a full buffer – a first start that is larger is read in parts while its uplink delivers: nothing is given up", async (t) => {
  const logger = new RecordingLogger();
  const store = tempStore(t, { bufferMaxMb: 8, clock: new ManualClock(START_MS), logger });
  const sent = new Set<string>();
  await append(store, minutesOf("2", 0, 1));
  await deliver(store, "main", 1, sent);
  const all = minutesOf("1", 0, 9000);
  const waits = await readUntilStored(store, all, () => deliver(store, "main", 200, sent));
  assert.ok(waits >= 1, `${waits} waits`);
  while (store.outbox.depth("json").readings > 0) await deliver(store, "main", 500, sent);
  assert.equal(sent.size, all.length + 1);
  assert.deepEqual(store.state().dropped, {});
  assert.deepEqual(store.gaps.pendingGaps(1), []);
  assert.equal(logger.text.match(/reading pauses until there is space/g)?.length, 1);
});

test("a full buffer – of two readings, one of which still fits, that one is stored", async (t) => {
  const big = (minute: number) =>
    readingOf("1", START_MS + minute * MINUTE_MS, { padding: 100_000 });
  const filledWith = async (count: number) => {
    const store = tempStore(t, { bufferMaxMb: 8, clock: new ManualClock(START_MS) });
    await append(store, minutesOf("2", 0, 1));
    await deliver(store, "main", 1);
    let stored = 0;
    for (let isFull = false; !isFull && stored < count; )
      await append(store, [big(stored + 1)]).then(
        () => (stored += 1),
        () => (isFull = true),
      );
    return { store, stored };
  };
  const { stored } = await filledWith(100);
  assert.ok(stored > 1 && stored < 100, `${stored} fit`);
  const { store } = await filledWith(stored - 1);
  await assert.rejects(append(store, [big(stored), big(stored + 1)]));
  assert.equal(store.outbox.depth("json").readings, stored);
});

test("a full buffer – half a minute after the last acknowledgement an uplink no longer delivers, and the oldest go", async (t) => {
  const clock = new ManualClock(START_MS);
  const store = tempStore(t, { bufferMaxMb: 8, clock });
  await append(store, minutesOf("2", 0, 1));
  await deliver(store, "main", 1);
  const all = minutesOf("1", 1, 8000);
  await assert.rejects(append(store, all));
  assert.deepEqual(store.state().dropped, {});
  await clock.advance(30_001);
  assert.equal(store.readings.isWaitingForDelivery(), false);
  await append(store, all);
  const dropped = store.state().dropped["buffer_full"] ?? 0;
  assert.ok(dropped > 0);
  assert.equal(gapsOf(store, "main"), dropped);
  assert.equal(store.outbox.depth("json").readings + dropped, all.length);
});

test("a full buffer – while space is freed for new readings the store counts as writable, and says no fault", async (t) => {
  const store = tempStore(t, { bufferMaxMb: 8, clock: new ManualClock(START_MS) });
  const seen: unknown[] = [];
  let isOver = false;
  const looking = (async () => {
    for (; !isOver; await immediate()) {
      const { alarm, isWritable } = store.state();
      if (alarm !== null || !isWritable || store.writeFailure !== null) seen.push(alarm);
    }
  })();
  for (let part = 0; part < 20; part++) await append(store, minutesOf("1", part * 400, 400));
  isOver = true;
  await looking;
  assert.ok((store.state().dropped["buffer_full"] ?? 0) > 0);
  assert.deepEqual(seen, []);
});

test("a full buffer – an uplink whose slow broker takes states and descriptions delivers", async (t) => {
  const clock = new ManualClock(START_MS);
  const store = tempStore(t, { bufferMaxMb: 8, clock });
  await append(store, minutesOf("2", 0, 1));
  await deliver(store, "main", 1);
  await clock.advance(20_000);
  store.outbox.accepted();
  await clock.advance(20_000);
  await assert.rejects(append(store, minutesOf("1", 1, 8000)));
  assert.equal(store.readings.isWaitingForDelivery(), true);
  const { alarm, dropped, isWritable } = store.state();
  assert.deepEqual(dropped, {});
  assert.equal(isWritable, true, "only reading pauses");
  assert.match(
    alarm ?? "",
    /^the buffer is full: reading pauses until more readings are delivered/,
  );
  assert.equal(store.writeFailure, null);
});

test("a full buffer – right after a start, before sessions are open and acknowledge something, nothing is given up; one without a session does not stay spared", async (t) => {
  const clock = new ManualClock(START_MS);
  const uplinks = ["main", "slow", "dead"].map((name) => uplinkOf(name, ["json"]));
  const store = tempStore(t, { bufferMaxMb: 8, clock, uplinks, startGraceMs: 30_000 });
  const all = minutesOf("1", 0, 8000);
  await assert.rejects(append(store, all));
  assert.equal(store.readings.isWaitingForDelivery(), true);
  assert.deepEqual(store.state().dropped, {});
  store.outboxOf("slow").lease("json", "backlog", 10);
  await deliver(store, "main", 500);
  await append(store, minutesOf("2", 0, 3000)).catch(() => {});
  assert.equal(gapsOf(store, "dead"), 0, "its session may open yet");
  await clock.advance(6_000);
  await append(store, minutesOf("2", 0, 3000)).catch(() => {});
  assert.equal(gapsOf(store, "main"), 0);
  assert.equal(gapsOf(store, "slow"), 0, "its acknowledgements may come yet");
  store.outboxOf("slow").release("json");
  await deliver(store, "slow", 500);
  await append(store, minutesOf("2", 0, 3000)).catch(() => {});
  assert.ok(gapsOf(store, "dead") > 0);
  assert.equal(gapsOf(store, "slow") + gapsOf(store, "main"), 0);
});

test("a full buffer – what a dead uplink is owed makes room for a healthy one, which loses nothing of a flood", async (t) => {
  const store = tempStore(t, {
    bufferMaxMb: 8,
    clock: new ManualClock(START_MS),
    uplinks: [uplinkOf("main", ["json"]), uplinkOf("dead", ["json"])],
  });
  const sent = new Set<string>();
  let minutes = 0;
  const all = (uplink: string) => store.outboxOf(uplink).depth("json").readings;
  while (gapsOf(store, "dead") === 0) {
    await append(store, minutesOf("1", minutes, 300));
    minutes += 300;
    while (all("main") > 0) await deliver(store, "main", 300, sent);
    await store.retain();
  }
  // Thousands at once: the dead one's backlog goes while the healthy one is still owed all of them.
  await readUntilStored(store, minutesOf("1", minutes, 4000), () =>
    deliver(store, "main", 200, sent),
  );
  while (all("main") > 0) await deliver(store, "main", 500, sent);
  assert.equal(sent.size, minutes + 4000);
  assert.equal(gapsOf(store, "main"), 0);
  assert.equal(gapsOf(store, "dead") + all("dead"), minutes + 4000, "each is pending or told");
});

test("a full buffer – a dead uplink never pauses the reading for a healthy one", async (t) => {
  const store = tempStore(t, {
    bufferMaxMb: 8,
    clock: new ManualClock(START_MS),
    uplinks: [uplinkOf("main", ["json"]), uplinkOf("dead", ["json"])],
  });
  for (let minute = 0; minute < 10_000; minute += 300) {
    await append(store, minutesOf("1", minute, 300));
    await deliver(store, "main", 600);
    if (minute % 900 === 0) await store.retain();
    await immediate();
  }
  assert.equal(gapsOf(store, "main"), 0);
  assert.ok(gapsOf(store, "dead") > 2000);
});

test("a full buffer – of two dead uplinks the one with the larger backlog gives up what it alone is owed", async (t) => {
  const only = (kinds: readonly string[]) => ({ select: { sensors: kinds } });
  const store = tempStore(t, {
    bufferMaxMb: 8,
    clock: new ManualClock(START_MS),
    uplinks: [
      uplinkOf("main", ["json"], only(["3"])),
      uplinkOf("large", ["json"]),
      uplinkOf("small", ["json"], only(["2"])),
    ],
  });
  // The small one's are the oldest of all.
  await append(store, minutesOf("2", 0, 500));
  for (let minute = 500; minute < 9_000; minute += 250) {
    await append(store, minutesOf("1", minute, 250));
    await append(store, minutesOf("3", minute, 1));
    await deliver(store, "main", 1);
    await store.retain();
  }
  assert.equal(gapsOf(store, "main"), 0);
  assert.equal(gapsOf(store, "small"), 0);
  assert.ok(gapsOf(store, "large") > 2000);
  assert.equal(store.outboxOf("small").depth("json").readings, 500);
});

test("a full buffer – no gap spans a reading that was delivered, also if the newest ones went out first during a flood", async (t) => {
  const clock = new ManualClock(START_MS);
  const store = tempStore(t, { bufferMaxMb: 8, clock });
  const deliveredMs = new Set<number>();
  const outbox = store.outboxOf("main");
  for (let minutes = 0; minutes < 9000; minutes += 500) {
    await append(store, minutesOf("1", minutes, 500));
    // Only the newest of each response is sent before the uplink is away again.
    if (minutes % 1500 === 0 && minutes < 6000) {
      const live = outbox.lease("json", "live", 1);
      const done = outbox.settle(
        "json",
        live.map((entry) => ({ entry, outcome: "sent" as const })),
      );
      outbox.release("json");
      await store.outbox.flush();
      await done;
      for (const { reading } of live) deliveredMs.add(reading.timeMs);
      await clock.advance(31_000);
    }
  }
  const gaps = store.gapsOf("main").pendingGaps(10_000);
  const lost = gaps.reduce((sum, { count }) => sum + count, 0);
  assert.ok(lost > 500 && deliveredMs.size >= 3, `${lost} lost, ${deliveredMs.size} delivered`);
  for (const { fromMs, toMs, count } of gaps) {
    assert.equal(count, (toMs - fromMs) / MINUTE_MS + 1);
    for (const timeMs of deliveredMs) assert.ok(timeMs < fromMs || timeMs > toMs);
  }
  assert.ok(gaps.length <= deliveredMs.size + 1, `${gaps.length} records`);
});

test("a full buffer – of two thousand sensors that never delivered gives up the oldest to the last page, and the rest is delivered after a start", async (t) => {
  const dataDir = tempDirectory(t);
  const options = { dataDir, bufferMaxMb: 8 };
  const first = tempStore(t, { ...options, clock: new ManualClock(START_MS) });
  const sensors = Array.from({ length: 2000 }, (_, n) => String(10_000 + n));
  const dropped = () => first.state().dropped["buffer_full"] ?? 0;
  let minute = 0;
  for (; dropped() < 3000; minute += 5) {
    for (let from = 0; from < sensors.length; from += 100) {
      const answers = sensors
        .slice(from, from + 100)
        .map((sensor) => append(first, minutesOf(sensor, minute, 5, 0)));
      await Promise.all(answers);
    }
  }
  await first.close();

  const clock = new ManualClock(START_MS + minute * MINUTE_MS);
  const store = tempStore(t, { ...options, clock, startGraceMs: 30_000 });
  const before = store.state().dropped;
  const pending = store.outbox.depth("json").readings;
  const sent = new Set<string>();
  while (store.outbox.depth("json").readings > 0) {
    const count = sent.size;
    await deliver(store, "main", 500, sent);
    assert.ok(sent.size > count);
  }
  assert.equal(sent.size, pending);
  assert.deepEqual(store.state().dropped, before);
});
