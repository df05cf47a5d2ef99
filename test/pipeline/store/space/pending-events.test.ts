/** Events of alarms in a full buffer: given up last, and none without being told. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayClock } from "../../../../src/pipeline/poll/gateway-clock.ts";
import { alarmLogOf } from "../../../support/alarm-log.ts";
import { FollowingEngine } from "../../../support/following-engine.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { append, DAY_MS, readingOf, START_MS, tempStore } from "../../../support/temp-database.ts";

const MINUTE_MS = 60_000;
const SITE = {
  site: "plant-7",
  sensors: [
    {
      code: "1",
      type: 6,
      kinds: ["rpm" as const],
      channels: {},
      location: { company: 1, area: 2, machine: 40, point: 1 },
    },
  ],
  machines: [],
  alarms: [{ name: "speed", select: { values: ["rpm"] }, high: 3000, hysteresis: 100 }],
};

/** An agent's clocks: the monotonic one has fractions of a millisecond. */
function openAt(t: Parameters<typeof tempStore>[0], bufferMaxMb: number) {
  const clock = new ManualClock(START_MS + DAY_MS);
  const gateway = new GatewayClock(clock);
  gateway.observe(clock.now());
  const store = tempStore(t, { bufferMaxMb, clock, gatewayNow: () => gateway.now() });
  const engine = new FollowingEngine(SITE);
  alarmLogOf(store).follower = engine;
  // With their readings: those that a full buffer does not accept cause none.
  let written = 0;
  alarmLogOf(store).onEvents = (events) => {
    written += events.length;
  };
  let minutes = 0;
  /** Each reading raises or clears the alarm. */
  const change = async (count: number) => {
    const readings = Array.from({ length: count }, (_, n) =>
      readingOf("1", START_MS + (minutes + n) * MINUTE_MS, {
        values: { rpm: (minutes + n) % 2 === 0 ? 3500 : 1000 },
      }),
    );
    minutes += count;
    await clock.advance(1234.375);
    await append(store, readings);
  };
  const fill = async (count: number) => {
    const readings = Array.from({ length: count }, (_, n) =>
      readingOf("2", START_MS + (minutes + n) * MINUTE_MS, { padding: 1000 }),
    );
    minutes += count;
    await clock.advance(777.125);
    await append(store, readings);
    await store.retain();
  };
  return { store, change, fill, written: () => written };
}

const isEvent = ({ kind }: { readonly kind: string }) => kind === "event";

test("a full buffer – gives up no pending event while there are readings, whatever their ages", async (t) => {
  const { store, change, fill, written } = openAt(t, 8);
  for (let round = 0; round < 12; round++) {
    await change(20);
    await fill(900);
  }
  assert.ok((store.state().dropped["buffer_full"] ?? 0) > 2000);
  assert.deepEqual(store.gaps.pendingGaps(1000).filter(isEvent), []);
  const sent = store.outbox.lease("json", "live", 10_000).map(({ reading }) => reading);
  const events = sent.filter(isEvent);
  assert.equal(events.length, written());
  assert.ok(events.every(({ timeMs }) => Number.isInteger(timeMs)));
});

test("a full buffer – of events alone gives up the oldest, each counted and told", async (t) => {
  const { store, change, written } = openAt(t, 3);
  for (let round = 0; round < 12; round++) {
    await change(200);
    await store.retain();
  }
  const gaps = store.gaps.pendingGaps(1000);
  const told = gaps.filter(isEvent).reduce((sum, { count }) => sum + count, 0);
  const pending = store.outbox.lease("json", "live", 100_000).map(({ reading }) => reading);
  assert.ok(told > 0);
  assert.equal(pending.filter(isEvent).length + told, written());
  const all = gaps.reduce((sum, { count }) => sum + count, 0);
  assert.equal(store.state().dropped["buffer_full"], all);
});
