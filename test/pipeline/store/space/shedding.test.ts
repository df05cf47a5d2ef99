/** What a full buffer gives up, whatever comes in and in which order: the oldest, those that are just coming in included. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import fc from "fast-check";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../../../src/pipeline/store/store.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import {
  append,
  DAY_MS,
  dayOf,
  keyOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
} from "../../../support/temp-database.ts";

const MINUTE_MS = 60_000;
/** Holds about 1,000 readings of 1 kB. */
const BUFFER_MB = 3;
const RUNS = 10;
const SENSORS = ["1", "2", "3"];

/** An answer: readings of one sensor, a minute apart. */
interface Answer {
  readonly what: "answer";
  readonly sensor: string;
  readonly fromMinute: number;
  readonly minutes: number;
}
type Step =
  | Answer
  | { readonly what: "look" }
  | { readonly what: "restart" }
  /** A publisher takes some in hand and, the broker being away, gives them back. */
  | { readonly what: "lease"; readonly max: number }
  | { readonly what: "release" };

const answer: fc.Arbitrary<Answer> = fc.record({
  what: fc.constant("answer" as const),
  sensor: fc.constantFrom(...SENSORS),
  fromMinute: fc.integer({ min: 0, max: 2000 }),
  minutes: fc.integer({ min: 50, max: 250 }),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: answer },
  { weight: 3, arbitrary: fc.record({ what: fc.constant("look" as const) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("restart" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant("lease" as const),
      max: fc.integer({ min: 1, max: 40 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("release" as const) }) },
);
/** Steps of one round begin together: their transactions are shared, and slices of the looks come between. */
const rounds = fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), {
  minLength: 6,
  maxLength: 10,
});

function readingsOf({ sensor, fromMinute, minutes }: Answer) {
  return Array.from({ length: minutes }, (_, n) =>
    readingOf(sensor, START_MS + (fromMinute + n) * MINUTE_MS, { padding: 1000 }),
  );
}

function take(store: Store, max: number) {
  return [
    ...store.outbox.lease("json", "live", max),
    ...store.outbox.lease("json", "backlog", max),
  ].map(({ reading }) => ({ id: reading.id, sensor: reading.sensor, timeMs: reading.timeMs }));
}

const droppedOf = (store: Store) => store.state().dropped["buffer_full"] ?? 0;

/** Whether something is given up on arrival: what is kept across restarts. */
function isShedding(dataDir: string): boolean {
  const db = new Sqlite(join(dataDir, "gateside.db"), { readonly: true });
  const value = db.prepare("SELECT value FROM meta WHERE name = 'given_up_until_ms'").pluck().get();
  db.close();
  return value !== undefined && value !== "";
}

/** Plays the rounds and returns what came in, what is still owed, what is reported as lost, and what a publisher had in hand. */
async function play(dataDir: string, all: readonly (readonly Step[])[]) {
  const options = storeOptions(dataDir, {
    bufferMaxMb: BUFFER_MB,
    clock: new ManualClock(START_MS + 2 * DAY_MS),
  });
  let store = openStore(options);
  const came = new Map<
    string,
    { readonly sensor: string; readonly timeMs: number; after: number }
  >();
  let reliefs = 0;
  const inHand = new Set<string>();
  const run = async (one: Step): Promise<void> => {
    if (one.what === "look") await store.retain();
    if (one.what === "release") store.outbox.release("json");
    if (one.what === "lease") for (const { id } of take(store, one.max)) inHand.add(id);
    if (one.what !== "answer") return;
    const readings = readingsOf(one);
    for (const { id, sensor, timeMs } of readings)
      if (!came.has(id)) came.set(id, { sensor, timeMs, after: Number.POSITIVE_INFINITY });
    const first = readings[0]?.timeMs ?? START_MS;
    await append(store, readings, keyOf(one.sensor, "rpm", dayOf(first)));
  };
  for (const round of all) {
    const droppedBefore = droppedOf(store);
    const wasFull = isShedding(dataDir);
    await Promise.all(round.map(run));
    // A check that finds space accepts everything again, and so may the answers of its round.
    const wasFilled = wasFull || droppedOf(store) > droppedBefore;
    if (wasFilled && !isShedding(dataDir)) reliefs += 1;
    for (const one of came.values()) one.after = Math.min(one.after, reliefs);
    if (!round.some(({ what }) => what === "restart")) continue;
    await store.close();
    store = openStore(options);
  }
  const reported = store.gaps.pendingGaps(100_000).reduce((sum, { count }) => sum + count, 0);
  const dropped = droppedOf(store);
  store.outbox.release("json");
  const owed = new Set(take(store, 100_000).map(({ id }) => id));
  await store.close();
  return { came, owed, reported, dropped, inHand };
}

test("a full buffer keeps nothing of a stream older than the newest reading it dropped, until there is space again", async (t) => {
  let full = 0;
  await fc.assert(
    fc.asyncProperty(rounds, async (all) => {
      const { came, owed, reported, dropped, inHand } = await play(tempDirectory(t), all);
      const lost = [...came].filter(([id]) => !owed.has(id));
      assert.equal(reported, lost.length, "each lost reading is reported once");
      assert.equal(dropped, lost.length, "and counted");
      if (lost.length > 0) full += 1;
      for (const sensor of SENSORS) {
        const [newest] = lost
          .map(([, one]) => one)
          .filter((one) => one.sensor === sensor)
          .sort((a, b) => b.timeMs - a.timeMs);
        if (newest === undefined) continue;
        const older = [...came].filter(
          ([id, one]) =>
            one.sensor === sensor &&
            owed.has(id) &&
            !inHand.has(id) &&
            one.timeMs < newest.timeMs &&
            one.after <= newest.after,
        );
        assert.equal(older.length, 0, `${sensor}: ${older.length} older ones are kept`);
      }
    }),
    // Shrinking would take minutes; the steps of the first failure are printed.
    { numRuns: RUNS, endOnFailure: true, includeErrorInReport: true },
  );
  assert.ok(full >= 3, `only ${full} runs filled the buffer`);
});

test("of a response that begins before all that is stored, what is older gives way, though one reading is dated in the future", async (t) => {
  const dayMs = START_MS + 2 * DAY_MS;
  const options = { bufferMaxMb: BUFFER_MB, clock: new ManualClock(dayMs) };
  const store = openStore(storeOptions(tempDirectory(t), options));
  t.after(() => store.close());
  const recent = { what: "answer", sensor: "1", fromMinute: 1500, minutes: 800 } as const;
  assert.equal(await append(store, readingsOf(recent)), 800);
  const old = readingsOf({ what: "answer", sensor: "2", fromMinute: 0, minutes: 500 });
  const future = readingOf("2", dayMs + DAY_MS, {
    padding: 1000,
    attributes: { flags: ["time_in_future"] },
  });
  const newer = readingsOf({ what: "answer", sensor: "2", fromMinute: 1600, minutes: 1 });
  await append(store, [future, ...old, ...newer], keyOf("2", "rpm", dayOf(START_MS)));
  const owed = take(store, 100_000);
  assert.equal(owed.filter(({ sensor }) => sensor === "1").length, 800);
  assert.equal(owed.filter(({ sensor }) => sensor === "2").length, 2);
  assert.equal(store.state().dropped["buffer_full"], 500);
});
