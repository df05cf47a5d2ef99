/** For whom a full buffer accepts nothing old any more: uplinks that fill it and deliver nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lane } from "../../../../src/core/delivery/delivery.ts";
import { LaneQueue } from "../../../../src/pipeline/store/outbox/lane-queue.ts";
import { LaneUplink } from "../../../../src/pipeline/store/outbox/lane-uplink.ts";
import { Shedding } from "../../../../src/pipeline/store/space/shedding.ts";
import { START_MS, uplinkOf } from "../../../support/temp-database.ts";

const READINGS = 400;

/** Of 400 stored readings each lane has as many pending as it says, the oldest at `oldestMs`. */
function sheddingOf(
  lanes: readonly (readonly [uplink: string, lane: Lane, pending: number, oldestMs?: number])[],
  delivering: readonly string[] = [],
) {
  const oldest = new Map<LaneQueue, number>();
  const all = lanes.map(([name, lane, pending, oldestMs = START_MS], i) => {
    const history = lane !== "plain";
    const queue = new LaneQueue(lane, i + 1, new LaneUplink(uplinkOf(name, [lane], { history })));
    queue.stream(1).pending = pending;
    oldest.set(queue, oldestMs);
    return queue;
  });
  const kept = new Map([["given_up_until_ms", String(START_MS - 1000)]]);
  const shedding = new Shedding({
    lanes: { all, delivering: () => new Set(delivering) },
    pending: {
      depth: (lane) => ({ readings: lane.pending, oldestTimeMs: oldest.get(lane) ?? null }),
    },
    readings: { count: READINGS },
    monitor: { pages: () => ({ all: 100, free: 0 }), pagesAllowed: () => 100 },
    meta: {
      get: (name) => kept.get(name) ?? null,
      put: (name, value) => void kept.set(name, value),
    },
  });
  shedding.load();
  return shedding;
}
const uplinksOf = (shedding: Shedding) => {
  const shed = shedding.current();
  return shed === null ? null : [...shed.uplinks];
};

test("a full buffer refuses old readings for uplinks that have at least a quarter of it pending and deliver nothing", () => {
  const lanes = [
    ["filling", "json", READINGS],
    ["a quarter", "json", READINGS / 4],
    ["less", "json", READINGS / 4 - 1],
    ["delivering", "json", READINGS],
    ["samples", "waveform", READINGS],
  ] as const;
  assert.deepEqual(uplinksOf(sheddingOf(lanes, ["delivering"])), ["filling", "a quarter"]);
  assert.equal(
    uplinksOf(sheddingOf(lanes.slice(3), ["delivering"])),
    null,
    "nobody who fills it delivers nothing",
  );
});

test("a full buffer refuses nothing while more than a twentieth of it is delivered and can be removed", () => {
  assert.deepEqual(uplinksOf(sheddingOf([["main", "json", 0.95 * READINGS]])), ["main"]);
  const one = sheddingOf([["main", "json", 0.95 * READINGS - 1]]);
  assert.equal(uplinksOf(one), null);
  assert.equal(one.isExhausted, false);
  one.searched();
  assert.deepEqual(uplinksOf(one), ["main"], "once a search has found none of them");
  assert.equal(one.isExhausted, true);
  one.searchAgain();
  assert.equal(one.isExhausted, false);
});

test("a full buffer drops what wants in below everything pending; a lane of newest readings has no old ones", () => {
  const lanes = [
    ["main", "json", READINGS, START_MS + 50],
    ["other", "json", READINGS / 2, START_MS + 20],
    ["live", "plain", 1, START_MS],
    ["samples", "waveform", 1, START_MS],
  ] as const;
  const shedding = sheddingOf(lanes);
  const floorMs = () => shedding.current()?.floorMs;
  assert.equal(shedding.refuse(null), false);
  assert.equal(shedding.refuse(START_MS + 20), false, "not older than the oldest");
  assert.equal(floorMs(), START_MS - 1000);
  assert.equal(shedding.refuse(START_MS + 19), true);
  assert.equal(floorMs(), START_MS + 19, "everything that is pending is above it");
  assert.equal(shedding.refuse(START_MS), false, "that is the floor already");
  assert.equal(sheddingOf([["live", "plain", READINGS]]).refuse(0), false);
  assert.equal(sheddingOf(lanes, ["main", "other", "live"]).refuse(0), false);
});
