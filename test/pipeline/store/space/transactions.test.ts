/** What a full buffer counts and accepts, while a transaction runs and after one that failed. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Tx } from "../../../../src/core/tx.ts";
import { DamagedRows } from "../../../../src/pipeline/store/database/damaged-rows.ts";
import { Meta } from "../../../../src/pipeline/store/database/meta.ts";
import type { LaneQueue } from "../../../../src/pipeline/store/outbox/lane-queue.ts";
import { StoredProgress } from "../../../../src/pipeline/store/readings/stored-progress.ts";
import { DroppedCounts } from "../../../../src/pipeline/store/space/dropped-counts.ts";
import { Shedding } from "../../../../src/pipeline/store/space/shedding.ts";
import { openQueue } from "../../../support/write-queue.ts";

function open(t: TestContext) {
  const { db, queue } = openQueue(t);
  const fail = (write: (tx: Tx) => void) => {
    const failing = (tx: Tx) => {
      write(tx);
      throw new Error("a bug");
    };
    assert.throws(() => queue.direct("fails", failing));
  };
  return { db, queue, fail, meta: new Meta(db, queue) };
}

test("dropped counts – several of one transaction are all kept, and told once they are on disk; of one that fails, none", (t) => {
  const { meta, queue, fail } = open(t);
  const told: [string, number][] = [];
  const counts = new DroppedCounts(
    meta,
    (reason, count) => told.push([reason, count]),
    new DamagedRows(),
  );
  counts.load();
  const restarted = () => {
    const again = new DroppedCounts(meta, undefined, new DamagedRows());
    again.load();
    return again.counts;
  };
  fail((tx) => counts.add(tx, "buffer_full", 100));
  assert.deepEqual(counts.counts, {});
  queue.direct("drop", (tx) => {
    counts.add(tx, "buffer_full", 2);
    counts.add(tx, "waveform_buffer_full", 1);
    counts.add(tx, "buffer_full", 3);
    // Found by a read between two slices.
    counts.note("damaged", 1);
    assert.deepEqual(counts.counts, { damaged: 1 });
  });
  assert.deepEqual(counts.counts, { damaged: 1, buffer_full: 5, waveform_buffer_full: 1 });
  assert.deepEqual(told, [
    ["damaged", 1],
    ["buffer_full", 5],
    ["waveform_buffer_full", 1],
  ]);
  assert.deepEqual(restarted(), { buffer_full: 5, waveform_buffer_full: 1 });
  queue.direct("drop", (tx) => counts.add(tx, "buffer_full", 1));
  assert.deepEqual(restarted(), { damaged: 1, buffer_full: 6, waveform_buffer_full: 1 });
});

/** An uplink that fills the buffer without delivering; the buffer may have space. */
function openShedding(t: TestContext) {
  const store = open(t);
  const pages = { all: 100, free: 0 };
  const main = { lane: "json", pending: 100, name: "json", uplink: { name: "main" } };
  const lanes = { all: [main as unknown as LaneQueue], delivering: () => new Set<string>() };
  const pending = { depth: () => ({ readings: 100, oldestTimeMs: 5000 }) };
  const create = () => {
    const shedding = new Shedding({
      lanes,
      pending,
      readings: { count: 100 },
      monitor: { pages: () => pages, pagesAllowed: () => 100 },
      meta: store.meta,
    });
    shedding.load();
    return shedding;
  };
  return { ...store, pages, create, shedding: create() };
}

test("floor – holds from the write that raises it on, never falls with another one, and is on disk with its transaction", (t) => {
  const { queue, fail, create, shedding } = openShedding(t);
  assert.equal(shedding.current(), null);
  queue.direct("drop", (tx) => {
    shedding.raise(tx, 1000);
    assert.equal(shedding.current()?.floorMs, 1000);
    shedding.raise(tx, 900);
    assert.equal(shedding.current()?.floorMs, 1000);
  });
  fail((tx) => {
    shedding.raise(tx, 2000);
    shedding.raise(tx, 3000);
    assert.equal(shedding.current()?.floorMs, 3000);
  });
  assert.equal(shedding.current()?.floorMs, 1000);
  assert.equal(create().current()?.floorMs, 1000);
});

test("floor – ends in a transaction, once there is space and not before; if that fails, it stays", (t) => {
  const { queue, fail, pages, create, shedding } = openShedding(t);
  queue.direct("drop", (tx) => shedding.raise(tx, 1000));
  assert.equal(shedding.isOver, false);
  pages.free = 50;
  assert.equal(shedding.isOver, true);
  fail((tx) => {
    shedding.end(tx);
    assert.equal(shedding.current(), null);
  });
  assert.equal(shedding.current()?.floorMs, 1000);
  pages.free = 0;
  queue.direct("full again", (tx) => shedding.end(tx));
  assert.equal(shedding.current()?.floorMs, 1000);
  pages.free = 50;
  queue.direct("end", (tx) => shedding.end(tx));
  assert.equal(shedding.current(), null);
  assert.equal(create().current(), null);
  assert.equal(shedding.isOver, false);
});

test("floor – between two attempts it rises to what is older than everything pending; the retry writes it", (t) => {
  const { queue, create, shedding } = openShedding(t);
  assert.equal(shedding.refuse(5000), false);
  assert.equal(shedding.refuse(null), false);
  assert.equal(shedding.refuse(4000), true);
  assert.equal(shedding.current()?.floorMs, 4999);
  assert.equal(shedding.refuse(4000), false, "once");
  queue.direct("retry", () => shedding.keep());
  assert.equal(create().current()?.floorMs, 4999);
});

test("progress – is that of the disk: seen once it is committed, gone once its day is", (t) => {
  const { db, queue, fail } = open(t);
  const progress = new StoredProgress(db);
  const day = "2026-11-20";
  const read = (checkpoint: string) => ({ checkpoint, records: 1 });
  assert.equal(progress.of(1, day), null);
  queue.direct("store", (tx) => {
    progress.write(tx, 1, day, read("one"));
    assert.equal(progress.of(1, day)?.checkpoint, "one", "its own transaction sees the row");
  });
  fail((tx) => progress.write(tx, 1, day, read("two")));
  assert.equal(progress.of(1, day)?.checkpoint, "one");
  fail((tx) => progress.deleteBefore(tx, "2026-11-21"));
  assert.equal(progress.of(1, day)?.checkpoint, "one");
  queue.direct("delete", (tx) => progress.deleteBefore(tx, "2026-11-21"));
  assert.equal(progress.of(1, day), null);
});
