import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { LiveReadBack } from "../../../../src/pipeline/publish/live-read-back.ts";
import type { Store, StoreOptions } from "../../../../src/pipeline/store/store.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import {
  append,
  mainOf,
  readingOf,
  START_MS,
  tempDirectory,
  tempStore,
} from "../../../support/temp-database.ts";

const MINUTE_MS = 60_000;
const EVER = Number.NEGATIVE_INFINITY;
const STREAM = { sensor: "1", kind: "rpm" } as const;

/** A store with readings of minutes 1 to 3 pending, as a restored one begins. */
async function restored(t: TestContext, options: Partial<StoreOptions> = {}) {
  const before = tempDirectory(t);
  const dataDir = tempDirectory(t);
  const former = tempStore(t, { dataDir: before, clock: new ManualClock(START_MS), ...options });
  await append(
    former,
    [1, 2, 3].map((minute) => readingOf("1", START_MS + minute * MINUTE_MS)),
  );
  await former.close();
  cpSync(before, dataDir, { recursive: true });
  const clock = new ManualClock(START_MS);
  const logger = new RecordingLogger();
  const store = tempStore(t, { dataDir, clock, liveProofMs: MINUTE_MS, logger, ...options });
  return { store, clock, logger };
}

function leased(
  store: Store,
  which: "live" | "backlog",
  lane: "json" | "plain" = "json",
): number[] {
  return store.outbox
    .lease(lane, which, 10)
    .map(({ reading }) => (reading.timeMs - START_MS) / MINUTE_MS);
}

test("start – what is pending goes live once its sensor and kind has been read; older backlog does not wait", async (t) => {
  const { store } = await restored(t);
  assert.deepEqual([leased(store, "live"), leased(store, "backlog")], [[], [1, 2]]);
  store.noteRead(STREAM, START_MS + 10 * MINUTE_MS);
  assert.deepEqual(leased(store, "live"), [], "a day after it has not been read");
  const changed = store.outbox.changed("json", new AbortController().signal);
  store.noteRead(STREAM, EVER);
  await changed;
  assert.deepEqual(leased(store, "live"), [3]);
});

test("start – the parts of a first read do not go live one by one", async (t) => {
  const { store } = await restored(t);
  await append(store, [readingOf("1", START_MS + 4 * MINUTE_MS)]);
  assert.deepEqual(leased(store, "live"), []);
  await append(store, [readingOf("1", START_MS + 5 * MINUTE_MS)]);
  store.noteRead(STREAM, EVER);
  assert.deepEqual(leased(store, "live"), [5]);
});

for (const [minute, live, backlog] of [
  [2, [3], [1, 2]],
  [3, [3], [1, 2]],
  [20, [], [1, 2, 3]],
  [null, [3], [1, 2]],
] as const)
  test(`start – with ${minute === null ? "no reading" : `a reading of minute ${minute}`} retained at the broker, what is not older than it goes live`, async (t) => {
    const { store } = await restored(t);
    const topics = {
      root: "gateside/s",
      reading: (sensor: string, kind: string) => `gateside/s/${sensor}/${kind}`,
    };
    const reader = new LiveReadBack({
      outbox: store.outbox,
      topics,
      marker: "gateside/s/agent/state",
    });
    assert.equal(reader.begin(), "gateside/s/+/+");
    reader.received("gateside/s/agent/state", Buffer.from("{}"));
    const time = minute === null ? null : new Date(START_MS + minute * MINUTE_MS).toISOString();
    if (time !== null) reader.received("gateside/s/1/rpm", Buffer.from(JSON.stringify({ time })));
    await reader.look(true);
    assert.deepEqual([leased(store, "live"), leased(store, "backlog")], [live, backlog]);
    assert.equal(reader.begin(), null);
    await append(store, [readingOf("1", START_MS + 10 * MINUTE_MS)]);
    assert.deepEqual(leased(store, "live"), minute === 20 ? [] : [10]);
  });

test("start – a broker that lets nothing be read proves nothing; after a minute what is pending goes out as history", async (t) => {
  const { store, clock } = await restored(t);
  const topics = { root: "r", reading: (sensor: string, kind: string) => `r/${sensor}/${kind}` };
  const reader = new LiveReadBack({ outbox: store.outbox, topics, marker: "r/agent/state" });
  reader.begin();
  await reader.look(true);
  await clock.advance(MINUTE_MS - 1);
  assert.deepEqual([leased(store, "live"), leased(store, "backlog")], [[], [1, 2]]);
  const changed = store.outbox.changed("json", new AbortController().signal);
  await clock.advance(1);
  await changed;
  assert.deepEqual([leased(store, "live"), leased(store, "backlog")], [[], [3]]);
  await append(store, [readingOf("1", START_MS)]);
  store.noteRead(STREAM, EVER);
  assert.deepEqual(leased(store, "live"), [], "an older one that comes late is none");
  await append(store, [readingOf("1", START_MS + 4 * MINUTE_MS)]);
  assert.deepEqual(leased(store, "live"), [4]);
});

test("start – bands go live with the record that they are of, once that has been read; those of an older one do not", async (t) => {
  const store = tempStore(t, { clock: new ManualClock(START_MS), liveProofMs: MINUTE_MS });
  const at = (kind: "accel" | "bands", minute: number) =>
    readingOf("1", START_MS + minute * MINUTE_MS, { kind });
  await append(store, [at("accel", 1), at("accel", 2), at("bands", 1)]);
  assert.deepEqual(leased(store, "live"), []);
  store.noteRead({ sensor: "1", kind: "accel" }, EVER);
  assert.deepEqual(leased(store, "live"), [2], "of the older record nothing is live");
  await append(store, [at("bands", 2)]);
  assert.deepEqual(leased(store, "live"), [2]);
});

test("start – in a lane without history what waits for its proof is told after a minute, and given up an hour later: counted, and as a gap", async (t) => {
  const { store, clock, logger } = await restored(t, { uplinks: mainOf("plain") });
  const waiting = () =>
    logger.lines.filter(({ message }) => /readings (wait|are not)/.test(message));
  await clock.advance(MINUTE_MS);
  assert.deepEqual(leased(store, "live", "plain"), []);
  assert.equal(waiting().length, 1);
  assert.match(logger.text, /readings wait to go live until their sensors are read/);
  await clock.advance(60 * MINUTE_MS - 1);
  assert.deepEqual(leased(store, "live", "plain"), []);
  assert.equal(store.outbox.depth("plain").readings, 1);
  const changed = store.outbox.changed("plain", new AbortController().signal);
  await clock.advance(1);
  await changed;
  assert.deepEqual(leased(store, "live", "plain"), []);
  await store.outbox.flush();
  assert.equal(store.outbox.depth("plain").readings, 0);
  assert.match(logger.text, /readings are not sent: newer ones may be live/);
  const timeMs = START_MS + 3 * MINUTE_MS;
  const gaps = store.gaps.pendingGaps(9);
  assert.deepEqual(
    gaps.map(({ fromMs, toMs, count, reason }) => [fromMs, toMs, count, reason]),
    [[timeMs, timeMs, 1, "unproven"]],
  );
  assert.deepEqual(store.state().dropped, { unproven: 1 });
  await append(store, [readingOf("1", START_MS + 4 * MINUTE_MS)]);
  store.noteRead(STREAM, EVER);
  assert.deepEqual(leased(store, "live", "plain"), [4]);
});

test("start – what a lane without history gives up is no gap where another of its uplink brings it as history", async (t) => {
  const { store, clock } = await restored(t, { uplinks: mainOf("json", "plain") });
  await clock.advance(61 * MINUTE_MS);
  assert.deepEqual(leased(store, "live", "plain"), []);
  await store.outbox.flush();
  assert.equal(store.outbox.depth("plain").readings, 0);
  leased(store, "live");
  assert.deepEqual(leased(store, "backlog"), [1, 2, 3]);
  assert.deepEqual([store.gaps.pendingGaps(9), store.state().dropped], [[], {}]);
});

test("start – in a lane without history what was read within the hour goes live", async (t) => {
  const { store, clock, logger } = await restored(t, { uplinks: mainOf("plain") });
  await clock.advance(59 * MINUTE_MS);
  store.noteRead(STREAM, EVER);
  assert.deepEqual(leased(store, "live", "plain"), [3]);
  await clock.advance(2 * MINUTE_MS);
  assert.doesNotMatch(logger.text, /readings are not sent/);
});
