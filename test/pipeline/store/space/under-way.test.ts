/** A full buffer while deliveries are under way: what is counted as lost was not sent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as immediate } from "node:timers/promises";
import type { Lane, OutboxEntry } from "../../../../src/core/delivery/delivery.ts";
import type { Store } from "../../../../src/pipeline/store/store.ts";
import { KEEP } from "../../../support/keep.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import {
  append,
  mainOf,
  readingOf,
  START_MS,
  tempStore,
  waveformOf,
} from "../../../support/temp-database.ts";

const MINUTE = 60_000;
const PADDING = { padding: 1000 };

async function deliver(store: Store, lane: Lane, entries: readonly OutboxEntry[]): Promise<void> {
  const done = store.outbox.settle(
    lane,
    entries.map((entry) => ({ entry, outcome: "sent" as const })),
  );
  await store.outbox.flush();
  await done;
}

test("retention – what a running transaction drops is not leased before its commit", async (t) => {
  const store = tempStore(t, { bufferMaxMb: 8, clock: new ManualClock(START_MS) });
  let minutes = 0;
  let stored = 0;
  const more = async (count: number) => {
    const from = START_MS + minutes * MINUTE;
    minutes += count;
    stored += await append(
      store,
      Array.from({ length: count }, (_, i) => readingOf("1", from + i * MINUTE, PADDING)),
    );
  };
  while ((store.state().dropped["buffer_full"] ?? 0) === 0) {
    await more(300);
    await store.retain();
  }
  // Every slice of a transaction takes longer than the event loop may wait: it runs between all of them.
  let now = 0;
  t.mock.method(performance, "now", () => {
    now += 1000;
    return now;
  });
  const sent = new Set<OutboxEntry>();
  // A pass gives up nothing while something is leased: in one of the rounds the lease follows just after that check.
  for (let turns = 0; turns < 12; turns++) {
    store.outbox.release("json");
    sent.clear();
    await more(300);
    let isOver = false;
    const pass = store.retain().finally(() => {
      isOver = true;
    });
    for (let turn = 0; !isOver; turn++) {
      const entries = turn < turns ? [] : store.outbox.lease("json", "backlog", 100);
      for (const entry of entries) sent.add(entry);
      await immediate();
    }
    await pass;
  }
  const delivered = sent.size;
  await deliver(store, "json", [...sent]);
  const dropped = store.state().dropped["buffer_full"] ?? 0;
  const { readings } = store.outbox.depth("json");
  assert.equal(dropped + delivered + readings, stored, "each is sent, pending or lost");
  assert.ok(delivered > 0);
});

test("retention – what is stored in the transaction that frees space is pending, samples too, and stays", {
  skip: KEEP === undefined && "samples are given up where none are kept",
}, async (t) => {
  let free = 500 << 20;
  const store = tempStore(t, {
    keep: KEEP,
    uplinks: mainOf("json", "waveform"),
    diskFreeMinMb: 256,
    diskFreeBytes: () => free,
    clock: new ManualClock(START_MS),
    // A response waits for the next commit.
    commitWindowMs: MINUTE,
  });
  const storeNow = async (from: number, count: number) => {
    const waveform = waveformOf(512, 1);
    const storing = append(
      store,
      Array.from({ length: count }, (_, i) =>
        readingOf("1", START_MS + (from + i) * MINUTE, { kind: "accel", waveform, ...PADDING }),
      ),
    );
    await immediate();
    await store.retain();
    assert.equal(await storing, count);
  };
  const sendAll = async (lane: Lane) => {
    const entries = (["live", "backlog"] as const).flatMap((which) =>
      store.outbox.lease(lane, which, 100),
    );
    for (const { reading } of entries)
      for (const { fileId } of reading.waveforms) assert.ok(store.waveforms.read(fileId));
    await deliver(store, lane, entries);
    return entries.length;
  };
  await storeNow(0, 50);
  assert.deepEqual([await sendAll("json"), await sendAll("waveform")], [50, 50]);
  free = 100 << 20;
  await storeNow(50, 1);
  assert.ok(store.state().readings < 10, "delivered readings made room");
  assert.deepEqual([await sendAll("json"), await sendAll("waveform")], [1, 1]);
  assert.deepEqual(store.state().dropped, {});
});

test("retention – a waveform that is being sent is not dropped", async (t) => {
  const store = tempStore(t, {
    bufferMaxMb: 8,
    uplinks: mainOf("json", "waveform"),
    clock: new ManualClock(START_MS),
  });
  const measure = (minute: number) =>
    append(store, [
      readingOf("7", START_MS + minute * MINUTE, { kind: "accel", waveform: waveformOf(4096) }),
    ]);
  await measure(0);
  await measure(1);
  const leased = store.outbox.lease("waveform", "live", 1);
  assert.equal(leased.length, 1);
  let minutes = 10;
  while (store.state().dropped["waveform_buffer_full"] === undefined) {
    const from = START_MS + minutes * MINUTE;
    await append(
      store,
      Array.from({ length: 300 }, (_, i) => readingOf("1", from + i * MINUTE, PADDING)),
    );
    minutes += 300;
    await store.retain();
  }
  assert.equal(store.state().dropped["waveform_buffer_full"], 1);
  const [ref] = leased[0]?.reading.waveforms ?? [];
  assert.ok(ref && store.waveforms.read(ref.fileId), "its samples can still be sent");
  await deliver(store, "waveform", leased);
  assert.equal(store.outbox.depth("waveform").readings, 0);
});

test("retention – what an undone transaction dropped counts once in the metric of its uplink", async (t) => {
  let lost = 0;
  const store = tempStore(t, {
    bufferMaxMb: 8,
    clock: new ManualClock(START_MS),
    onLost: (_uplink, _reason, count) => {
      lost += count;
    },
  });
  const of = (sensor: string, from: number, count: number) =>
    append(
      store,
      Array.from({ length: count }, (_, i) =>
        readingOf(sensor, START_MS + (from + i) * MINUTE, PADDING),
      ),
    );
  let minutes = 1000;
  while ((store.state().dropped["buffer_full"] ?? 0) === 0) {
    await of("1", minutes, 300);
    minutes += 300;
    await store.retain();
  }
  // Too old for a full buffer, in one transaction with responses for which there is no space.
  for (let n = 0; n < 5; n++) {
    await Promise.all([of("2", n * 50, 50), of("3", minutes, 300), of("4", minutes, 300)]);
    minutes += 300;
  }
  assert.ok(lost > 250);
  assert.equal(lost, store.state().dropped["buffer_full"]);
});

test("retention – the metric of an uplink equals its gap records, however quickly a small buffer overflows", async (t) => {
  let lost = 0;
  const store = tempStore(t, {
    bufferMaxMb: 8,
    clock: new ManualClock(START_MS),
    onLost: (_uplink, _reason, count) => {
      lost += count;
    },
  });
  const of = (sensor: string) =>
    append(
      store,
      Array.from({ length: 4000 }, (_, n) => readingOf(sensor, START_MS + n * MINUTE, PADDING)),
    );
  await Promise.all(["1", "2", "3"].map(of));
  const told = store.gaps.pendingGaps(10_000).reduce((sum, { count }) => sum + count, 0);
  assert.ok(told > 3000, String(told));
  assert.equal(lost, told);
  assert.equal(store.state().dropped["buffer_full"], told);
});
