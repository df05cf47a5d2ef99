import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Tx } from "../../../../src/core/tx.ts";
import { silentLogger } from "../../../../src/lib/logger.ts";
import { Streams } from "../../../../src/pipeline/store/database/streams.ts";
import { SqliteGapLog } from "../../../../src/pipeline/store/outbox/gap-log.ts";
import { mainOf, START_MS, uplinkOf } from "../../../support/temp-database.ts";
import { openQueue } from "../../../support/write-queue.ts";

test("gap log – additions to a gap while it is being sent are sent afterwards, and counted once", async (t) => {
  const { db, queue } = openQueue(t);
  const lost: number[] = [];
  const streams = new Streams(db);
  const gaps = new SqliteGapLog(
    {
      db,
      queue,
      streams,
      logger: silentLogger,
      hasBetween: () => false,
      onLost: (_uplink, _reason, count) => lost.push(count),
    },
    mainOf("json"),
  );
  const stream = streams.intern("1", "rpm");
  queue.direct("file the stream", () => streams.write(stream));
  const own = gaps.of("main");
  const counts = () => own.pendingGaps(9).map(({ gapId, count }) => ({ gapId, count }));

  const add = (tx: Tx, n: number) => gaps.add(tx, stream.stream, START_MS + n, "disk_full", "main");
  queue.direct("give up three", (tx) => [0, 1, 2].forEach((n) => add(tx, n)));
  const settling: Promise<void>[] = [];
  await queue.enqueue(
    {
      what: "give up five more",
      rows: 5,
      *run(tx) {
        for (let n = 3; n < 8; n++) add(tx, n);
        // Here the publisher comes in between.
        const [{ gapId, count } = { gapId: -1, count: 0 }] = counts();
        assert.equal(count, 3);
        settling.push(turn().then(() => own.settleGaps([gapId])));
        yield;
      },
    },
    0,
  );
  await Promise.all(settling);
  assert.deepEqual(lost, [3, 5]);
  const rest = counts();
  assert.deepEqual(
    rest.map(({ count }) => count),
    [5],
  );
  own.settleGaps(rest.map(({ gapId }) => gapId));
  assert.deepEqual(counts(), []);
});

test("gap log – what is lost after a gap was handed out is another gap: none is told with times that were told before", (t) => {
  const { db, queue } = openQueue(t);
  const streams = new Streams(db);
  const gaps = new SqliteGapLog(
    { db, queue, streams, logger: silentLogger, hasBetween: () => false, onLost: () => {} },
    mainOf("json"),
  );
  const stream = streams.intern("1", "rpm");
  queue.direct("file the stream", () => streams.write(stream));
  const lose = (...minutes: number[]) =>
    queue.direct("give up", (tx) =>
      minutes.forEach((n) => gaps.add(tx, stream.stream, START_MS + n, "disk_full", "main")),
    );
  const told = () =>
    gaps
      .pendingGaps(9)
      .map(({ fromMs, toMs, count }) => [fromMs - START_MS, toMs - START_MS, count]);
  lose(0, 1, 2);
  lose(3, 3);
  assert.deepEqual(told(), [[0, 3, 5]]);
  lose(4, 5);
  assert.deepEqual(told(), [
    [0, 3, 5],
    [4, 5, 2],
  ]);
});

test("gap log – an uplink without a topic for gaps has its own published by the first that has one", (t) => {
  const { db, queue } = openQueue(t);
  const streams = new Streams(db);
  const gaps = new SqliteGapLog(
    { db, queue, streams, logger: silentLogger, hasBetween: () => false },
    [
      uplinkOf("scada", ["sparkplug", "sparkplugWaveform"]),
      uplinkOf("cloud", ["json", "waveform"]),
      uplinkOf("panel", ["plain"]),
    ],
  );
  const stream = streams.intern("1", "rpm");
  const uplinks = ["scada", "cloud", "panel", "removed"];
  queue.direct("give up", (tx) => {
    streams.write(stream);
    for (const uplink of uplinks) gaps.add(tx, stream.stream, START_MS, "disk_full", uplink);
  });
  const toldBy = (uplink: string) =>
    gaps
      .of(uplink)
      .pendingGaps(9)
      .map((gap) => gap.uplink);
  assert.deepEqual(uplinks.map(toldBy), [
    ["scada"],
    ["scada", "cloud", "removed"],
    ["panel"],
    ["removed"],
  ]);
});

test("gap log – that it is empty is looked up once; a gap that is written meanwhile is found after its commit", async (t) => {
  const { db, queue } = openQueue(t);
  const streams = new Streams(db);
  const gaps = new SqliteGapLog(
    {
      db,
      queue,
      streams,
      logger: silentLogger,
      hasBetween: () => false,
    },
    mainOf("json"),
  );
  const stream = streams.intern("1", "rpm");
  queue.direct("file the stream", () => streams.write(stream));
  const own = gaps.of("main");
  const count = () => own.pendingGaps(9).length;
  assert.equal(count(), 0);
  await queue.enqueue(
    {
      what: "give up one",
      rows: 1,
      *run(tx) {
        gaps.add(tx, stream.stream, START_MS, "disk_full", "main");
        assert.equal(count(), 0);
        yield;
        assert.equal(count(), 0);
      },
    },
    0,
  );
  assert.equal(count(), 1);
  own.settleGaps(own.pendingGaps(9).map(({ gapId }) => gapId));
  assert.equal(count(), 0);
  // As after a damaged file was replaced by a copy of what could be read.
  db.writer.exec(
    `INSERT INTO gaps (stream, from_ms, to_ms, count, reason, uplink) VALUES (${stream.stream}, 1, 1, 1, 'damaged', 'main')`,
  );
  assert.equal(count(), 0);
  gaps.load();
  assert.equal(count(), 1);
});

test("gap log – a gap whose transaction failed does not grow: its number belongs to another one later", (t) => {
  const { db, queue } = openQueue(t);
  const streams = new Streams(db);
  const lost: (string | number)[][] = [];
  const gaps = new SqliteGapLog(
    {
      db,
      queue,
      streams,
      logger: silentLogger,
      hasBetween: () => false,
      onLost: (...given) => lost.push(given),
    },
    mainOf("json"),
  );
  const [one, other] = ["1", "2"].map((sensor) => streams.intern(sensor, "rpm"));
  assert.ok(one && other);
  queue.direct("file the streams", () => [one, other].forEach((stream) => streams.write(stream)));
  const add = (tx: Tx, { stream }: { readonly stream: number }, n: number, uplink = "main") =>
    gaps.add(tx, stream, START_MS + n, "buffer_full", uplink);
  const failing = (tx: Tx) => {
    add(tx, one, 1);
    throw new Error("a bug");
  };
  assert.throws(() => queue.direct("fails", failing));
  queue.direct("another", (tx) => add(tx, other, 2));
  queue.direct("again", (tx) => {
    add(tx, one, 3);
    add(tx, one, 4);
    add(tx, one, 5, "cloud");
  });
  const seen = gaps
    .pendingGaps(9)
    .map(({ sensor, fromMs, toMs, count }) => [sensor, fromMs - START_MS, toMs - START_MS, count]);
  assert.deepEqual(seen, [
    ["2", 2, 2, 1],
    ["1", 3, 4, 2],
    ["1", 5, 5, 1],
  ]);
  assert.deepEqual(lost, [
    ["main", "buffer_full", 1],
    ["main", "buffer_full", 2],
    ["cloud", "buffer_full", 1],
  ]);
});

test("gap log – a gap whose growth was rolled back ends where it ended before: a delivered reading is never within it", (t) => {
  const { db, queue } = openQueue(t);
  const streams = new Streams(db);
  const delivered: number[] = [];
  const gaps = new SqliteGapLog(
    {
      db,
      queue,
      streams,
      logger: silentLogger,
      hasBetween: (_stream, afterMs, beforeMs) =>
        delivered.some((timeMs) => timeMs > afterMs && timeMs < beforeMs),
    },
    mainOf("json"),
  );
  const stream = streams.intern("1", "rpm");
  queue.direct("file the stream", () => streams.write(stream));
  const add = (tx: Tx, n: number) =>
    gaps.add(tx, stream.stream, START_MS + n, "buffer_full", "main");
  queue.direct("drop", (tx) => add(tx, 1));
  const failing = (tx: Tx) => {
    add(tx, 5);
    throw new Error("a bug");
  };
  assert.throws(() => queue.direct("fails", failing));
  delivered.push(START_MS + 3);
  queue.direct("drop", (tx) => add(tx, 6));
  const spans = gaps.pendingGaps(9).map(({ fromMs, toMs }) => [fromMs - START_MS, toMs - START_MS]);
  assert.deepEqual(spans, [
    [1, 1],
    [6, 6],
  ]);
});

test("gap log – the newest of a sensor, or of all, are shown, and what still grows goes on growing", (t) => {
  const { db, queue } = openQueue(t);
  const streams = new Streams(db);
  const parts = { db, queue, streams, logger: silentLogger, hasBetween: () => false };
  const gaps = new SqliteGapLog(parts, mainOf("json"));
  const [one, other] = [streams.intern("0012", "rpm"), streams.intern("7", "rpm")];
  queue.direct("file the streams", () => [one, other].forEach((stream) => streams.write(stream)));
  const lose = ({ stream }: { readonly stream: number }, n: number, reason = "disk_full") =>
    queue.direct("give up one", (tx) => gaps.add(tx, stream, START_MS + n, reason, "main"));
  lose(one, 1);
  for (let n = 0; n < 20; n += 1) lose(other, n, `reason ${n}`);
  const shown = (max: number, sensor: string | null) =>
    gaps
      .newestGaps(max, sensor)
      .map(({ sensor: code, count, fromMs }) => [code, count, fromMs - START_MS]);
  assert.deepEqual(shown(2, null), [
    ["7", 1, 19],
    ["7", 1, 18],
  ]);
  assert.deepEqual(shown(2, "12"), [["0012", 1, 1]]);
  lose(one, 2);
  assert.deepEqual(shown(2, "12"), [["0012", 2, 1]]);
  gaps.settleGaps(gaps.newestGaps(1, null).map(({ gapId }) => gapId));
  assert.deepEqual(shown(1, null), [["7", 1, 18]]);
});
