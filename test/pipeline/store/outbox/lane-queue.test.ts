/** The few numbers that memory holds of a lane. */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { LaneQueue, type Slot } from "../../../../src/pipeline/store/outbox/lane-queue.ts";
import { LaneUplink } from "../../../../src/pipeline/store/outbox/lane-uplink.ts";
import { type Place } from "../../../../src/pipeline/store/outbox/stream-queue.ts";
import { uplinkOf } from "../../../support/temp-database.ts";
import { Transactions } from "../../../support/tx.ts";

const HOUR_MS = 3_600_000;
const open = () => new LaneQueue("json", 1, new LaneUplink(uplinkOf("main", ["json"])));
const placeOf = (seq: number, timeMs = 0): Place => ({
  stream: 1,
  hour: Math.floor(timeMs / HOUR_MS),
  timeMs,
  seq,
});
const slotOf = (place: Place): Slot => ({
  place,
  live: false,
  isSettled: false,
});

test("lane queue – the backlog of a stream is what is neither leased nor about to go live", () => {
  const lane = open();
  const stream = lane.stream(1);
  assert.equal(lane.hasBacklog(stream), false);
  stream.pending = 2;
  stream.candidate = placeOf(2);
  assert.equal(lane.hasBacklog(stream), true);
  const old = slotOf(placeOf(1));
  lane.lease(old);
  lane.lease(old);
  assert.equal(lane.hasBacklog(stream), false, "one is leased, the other waits to go live");
  const live = slotOf(placeOf(2));
  lane.lease(live);
  assert.equal(lane.hasBacklog(stream), false, "both are leased");
  assert.equal(lane.endLease(slotOf(placeOf(1))), false, "not by this lease");
  assert.equal(lane.endLease(old), true);
  assert.equal(lane.endLease(old), false, "once");
  assert.equal(lane.hasBacklog(stream), true);
});

test("lane queue – a backlog is not read while the broker refuses it, while it is parked, or once nothing follows", () => {
  const lane = open();
  const stream = lane.stream(1);
  assert.equal(lane.isReadable(stream, 0), false);
  stream.pending = 1;
  assert.equal(lane.isReadable(stream, 0), true);
  stream.isParked = true;
  assert.equal(lane.isReadable(stream, 0), false);
  stream.isParked = false;
  stream.isExhausted = true;
  assert.equal(lane.isReadable(stream, 0), false);
  stream.isExhausted = false;
  const waitMs = stream.historyRefusal.add(1000);
  assert.equal(lane.isReadable(stream, 999 + waitMs), false);
  assert.equal(lane.isReadable(stream, 1000 + waitMs), true);
});

test("lane queue – a refusal lasts longer each time; it counts once in its wait, and is never tried again at once", () => {
  const { liveRefusal } = open().stream(1);
  assert.equal(liveRefusal.isOver(0), true);
  assert.equal(liveRefusal.hasten(7), 0);
  let now = 100;
  for (const mostMs of [5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]) {
    const waitMs = liveRefusal.add(now);
    assert.ok(waitMs >= mostMs / 2 && waitMs <= mostMs, `${waitMs}`);
    assert.equal(liveRefusal.add(now + waitMs - 1), 0);
    now += waitMs;
  }
  liveRefusal.add(now);
  assert.equal(liveRefusal.hasten(now + 2_000), 3_000);
  assert.equal(liveRefusal.hasten(now + 9_000), 0);
  assert.equal(liveRefusal.isOver(now + 4_999), false);
  assert.equal(liveRefusal.isOver(now + 5_000), true);
  liveRefusal.add(now + 5_000);
  liveRefusal.clear();
  assert.equal(liveRefusal.isOver(now + 5_000), true);
  assert.ok(liveRefusal.add(now + 5_000) <= 5_000, "as the first time");
});

test("lane queue – a read that has passed a row goes back to it, by hour, time and number, and never forward", () => {
  const stream = open().stream(1);
  const at = { ...placeOf(5, 2 * HOUR_MS + 500) };
  const cursorAfter = (to: Place) => {
    stream.cursor = at;
    stream.isExhausted = true;
    stream.rewind(to);
    assert.equal(stream.isExhausted, false);
    return stream.cursor;
  };
  const ahead = [
    placeOf(1, 3 * HOUR_MS),
    placeOf(1, at.timeMs + 1),
    placeOf(6, at.timeMs),
    { ...at, hour: at.hour + 1, timeMs: at.timeMs - 1 },
  ];
  for (const to of ahead) assert.deepEqual(cursorAfter(to), at);
  const behind = [
    at,
    placeOf(9, at.timeMs - 1),
    placeOf(4, at.timeMs),
    placeOf(9, HOUR_MS),
    { ...at, hour: at.hour - 1, timeMs: at.timeMs + 1 },
  ];
  for (const to of behind) assert.deepEqual(cursorAfter(to), { ...to, seq: to.seq - 1 });
});

test("lane queue – a row that goes is that of its number, time and stream: a number given up may be another reading's", () => {
  const lane = open();
  const stream = lane.stream(1);
  const row = placeOf(3, 1000);
  const others = [
    { ...row, seq: 4 },
    { ...row, timeMs: 2000 },
    { ...row, stream: 2 },
  ];
  stream.candidate = row;
  const slot = slotOf(row);
  lane.lease(slot);
  for (const other of others) {
    stream.dropCandidate(other);
    lane.leave(slotOf(other));
    assert.equal(stream.candidate, row);
    assert.equal(lane.holds(slot), true);
  }
  lane.leave(slotOf(row));
  assert.equal(stream.candidate, null);
  assert.equal(lane.holds(slot), false);
  assert.equal(stream.leased, 0);
});

test("lane queue – a row that is being dropped is taken until its transaction is over", () => {
  const lane = open();
  const transactions = new Transactions();
  lane.withdraw(transactions.now, placeOf(1));
  assert.deepEqual([lane.isTaken(1), lane.isLeased(1), lane.isTaken(2)], [true, false, false]);
  transactions.commit();
  assert.equal(lane.isTaken(1), false);
  const { version } = lane;
  const stream = lane.stream(1);
  stream.cursor = placeOf(7);
  lane.withdraw(transactions.now, placeOf(1));
  transactions.rollBack();
  assert.equal(lane.isTaken(1), false);
  assert.deepEqual(stream.cursor, placeOf(0), "a read may have passed it");
  assert.notEqual(lane.version, version);
});

test("lane queue – after the disk is read again nothing is leased, parked, being dropped or settled", () => {
  const lane = open();
  const stream = lane.stream(1);
  stream.pending = 4;
  lane.lease(slotOf(placeOf(1)));
  lane.withdraw(new Transactions().now, placeOf(2));
  lane.parked.set(3, placeOf(3));
  lane.settled = 1;
  assert.deepEqual([lane.undelivered, lane.leasedCount], [3, 1]);
  lane.forgetLeases();
  assert.deepEqual([lane.undelivered, lane.leasedCount, stream.leased], [4, 0, 0]);
  assert.deepEqual([lane.isTaken(1), lane.isTaken(2), lane.parked.size], [false, false, 0]);
});

test("lane queue – who waits for news is woken once, leaves no listener behind, and does not wait for what it has not seen", async () => {
  const lane = open();
  const { signal } = new AbortController();
  const listeners = () => getEventListeners(signal, "abort").length;
  await lane.waitForNews(signal);
  assert.equal(listeners(), 0, "nobody has looked yet");
  lane.seenVersion = lane.version;
  const waiting = [lane.waitForNews(signal), lane.waitForNews(signal)];
  assert.equal(listeners(), 2);
  lane.wake();
  await Promise.all(waiting);
  assert.equal(listeners(), 0);
  lane.seenVersion = lane.version;
  await lane.waitForNews(AbortSignal.abort());
  const aborting = new AbortController();
  const ended = lane.waitForNews(aborting.signal);
  const other = lane.waitForNews(signal);
  aborting.abort();
  await ended;
  lane.wake();
  await other;
});
