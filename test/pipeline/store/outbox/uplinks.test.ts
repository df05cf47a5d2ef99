import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import type { OutboxEntry } from "../../../../src/core/delivery/delivery.ts";
import { APPLICATION_ID } from "../../../../src/pipeline/store/database/migrate.ts";
import { sql as RELEASED_SCHEMA } from "../../../../src/pipeline/store/database/migrations/001-readings.ts";
import { ELSEWHERE_SQL } from "../../../../src/pipeline/store/outbox/lane-chores.ts";
import { laneChangesAhead } from "../../../../src/pipeline/store/read-only-store.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../../../src/pipeline/store/store.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import {
  append,
  mainOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
  tempStore,
  timesOf,
  uplinkOf,
} from "../../../support/temp-database.ts";

const HOUR = 3_600_000;
const hours = (sensor: string, ...at: number[]) =>
  at.map((hour) => readingOf(sensor, START_MS + hour * HOUR));
const times = (...at: number[]) => at.map((hour) => START_MS + hour * HOUR);
const CLOUD = uplinkOf("cloud", ["json"]);
const [MAIN] = mainOf("json") as [ReturnType<typeof uplinkOf>];

async function send(store: Store, uplink: string, which: "live" | "backlog" = "backlog") {
  const outbox = store.outboxOf(uplink);
  const entries: OutboxEntry[] = outbox.lease("json", which, 1000);
  const done = outbox.settle(
    "json",
    entries.map((entry) => ({ entry, outcome: "sent" as const })),
  );
  await store.outbox.flush();
  await done;
  return timesOf(entries);
}
const depth = (store: Store, uplink: string) => store.outboxOf(uplink).depth("json").readings;
const gaps = (store: Store, uplink?: string) =>
  (uplink === undefined ? store.gaps : store.gapsOf(uplink))
    .pendingGaps(99)
    .map(({ sensor, count, reason, uplink: whose }) => [sensor, count, reason, whose ?? ""]);

test("uplinks – one that delivers nothing keeps its own readings and costs another none", async (t) => {
  const store = tempStore(t, { uplinks: [MAIN, CLOUD] });
  await append(store, hours("1", 0, 1, 2));
  assert.deepEqual(await send(store, "main", "live"), times(2));
  assert.deepEqual(await send(store, "main"), times(0, 1));
  assert.equal(depth(store, "main"), 0);
  assert.equal(depth(store, "cloud"), 3);
  assert.deepEqual(Object.keys(store.state().lanes), ["json", "cloud/json"]);
});

test("uplinks – the outbox of a store is that of main, wherever main stands among the uplinks", async (t) => {
  const store = tempStore(t, { uplinks: [CLOUD, MAIN] });
  await append(store, hours("1", 0, 1));
  const entries = store.outbox.lease("json", "live", 9);
  const done = store.outbox.settle(
    "json",
    entries.map((entry) => ({ entry, outcome: "sent" as const })),
  );
  await store.outbox.flush();
  await done;
  assert.equal(depth(store, "main"), 1);
  assert.equal(depth(store, "cloud"), 2);
  assert.deepEqual(Object.keys(store.state().lanes), ["cloud/json", "json"]);
});

test("uplinks – a selection determines what is pending, and which values of it", async (t) => {
  const select = { kinds: ["rpm" as const], sensors: ["1*"], values: ["rpm", "b*"] };
  const store = tempStore(t, { uplinks: [MAIN, uplinkOf("cloud", ["json"], { select })] });
  await append(store, [
    readingOf("10", START_MS, { values: { rpm: 1, other: 2 }, units: { rpm: "rpm", other: "V" } }),
    readingOf("10", START_MS + 1, { values: { other: 2 } }),
  ]);
  await append(store, hours("20", 0));
  await append(store, [readingOf("10", START_MS, { kind: "loop" })]);
  assert.equal(depth(store, "main"), 4);
  const [entry, ...rest] = store.outboxOf("cloud").lease("json", "live", 9);
  assert.deepEqual(rest, []);
  assert.equal(entry?.reading.values, '{"rpm":1}');
  assert.equal(entry?.reading.units, '{"rpm":"rpm"}');
});

test("uplinks – without history only the newest of a sensor is pending", async (t) => {
  const store = tempStore(t, { uplinks: [MAIN, uplinkOf("cloud", ["json"], { history: false })] });
  await append(store, hours("1", 0, 2));
  await append(store, hours("1", 1));
  assert.deepEqual(await send(store, "cloud"), []);
  assert.deepEqual(await send(store, "cloud", "live"), times(2));
  assert.equal(depth(store, "cloud"), 0);
});

test("uplinks – for one added later everything stored is pending, once, even if the process ends meanwhile", async (t) => {
  const directory = tempDirectory(t);
  let store = openStore(storeOptions(directory));
  await append(store, hours("1", 0, 1, 2));
  await append(store, hours("2", 1));
  assert.equal((await send(store, "main", "live")).length, 2);
  store.setUplinks([MAIN, CLOUD]);
  await append(store, hours("1", 3));
  await store.close();
  store = openStore(storeOptions(directory, { uplinks: [MAIN, CLOUD] }));
  await store.retain();
  assert.equal(depth(store, "cloud"), 5);
  assert.deepEqual((await send(store, "cloud", "live")).sort(), times(1, 3));
  assert.deepEqual((await send(store, "cloud")).sort(), times(0, 1, 2));
  await store.retain();
  await store.close();
  store = openStore(storeOptions(directory, { uplinks: [MAIN, CLOUD] }));
  await store.retain();
  assert.equal(depth(store, "cloud"), 0);
  await store.close();
});

test("uplinks – one that begins now gets its first new reading, and a late one is not live there", async (t) => {
  const store = tempStore(t);
  await append(store, hours("1", 0, 2));
  store.setUplinks([MAIN, { ...CLOUD, startFrom: "now" }]);
  await store.retain();
  assert.equal(depth(store, "cloud"), 0);
  await append(store, hours("1", 1));
  assert.deepEqual(await send(store, "cloud", "live"), []);
  assert.deepEqual(await send(store, "cloud"), times(1));
  await append(store, hours("1", 3));
  assert.deepEqual(await send(store, "cloud", "live"), times(3));
});

test("uplinks – one that is added, or returns, publishes nothing live before the newest reading stored by then", async (t) => {
  for (const history of [true, false]) {
    const store = tempStore(t, { uplinks: [MAIN] });
    const cloud = uplinkOf("cloud", ["json"], { history });
    await append(store, hours("1", 0, 5));
    store.setUplinks([MAIN, cloud]);
    // Late ones that are stored before the chores have filed what was there.
    await append(store, hours("1", 2, 3));
    assert.deepEqual(await send(store, "cloud", "live"), []);
    await store.retain();
    assert.deepEqual(await send(store, "cloud", "live"), times(5));
    assert.deepEqual(await send(store, "cloud"), history ? times(0, 2, 3) : []);
    await append(store, hours("1", 6));
    assert.deepEqual(await send(store, "cloud", "live"), times(6));
  }
});

test("uplinks – one that returns publishes nothing live that is older than what was shown, even if that is no longer stored", async (t) => {
  for (const history of [true, false]) {
    const directory = tempDirectory(t);
    const cloud = uplinkOf("cloud", ["json"], { history });
    const options = { uplinks: [MAIN, cloud] };
    const former = openStore(storeOptions(directory, options));
    await append(former, hours("1", 0, 1, 2, 4, 5));
    assert.deepEqual(await send(former, "main", "live"), times(5));
    assert.deepEqual(await send(former, "cloud", "live"), times(5));
    former.setUplinks([MAIN]);
    await former.close();
    // As on a full disk, where delivered readings are deleted to make space.
    const db = new Sqlite(join(directory, "gateside.db"));
    assert.equal(db.prepare("DELETE FROM readings WHERE time_ms = ?").run(times(5)).changes, 1);
    db.close();
    const store = openStore(storeOptions(directory, options));
    t.after(() => store.close());
    await store.retain();
    assert.deepEqual(await send(store, "cloud", "live"), []);
    await append(store, hours("1", 3));
    assert.deepEqual(await send(store, "cloud", "live"), []);
    assert.deepEqual(await send(store, "cloud"), history ? times(0, 1, 2, 3, 4) : []);
    await append(store, hours("1", 6));
    assert.deepEqual(await send(store, "cloud", "live"), times(6));
  }
});

test("uplinks – one that is added with selected values begins live with the newest reading that has one of them", async (t) => {
  for (const history of [true, false]) {
    const store = tempStore(t, { uplinks: [MAIN] });
    await append(store, hours("1", 0, 1, 2));
    const [other] = hours("1", 3);
    assert.ok(other);
    await append(store, [{ ...other, values: { current: 2 }, units: { current: "A" } }]);
    const cloud = uplinkOf("cloud", ["json"], { history, select: { values: ["rpm"] } });
    store.setUplinks([MAIN, cloud]);
    await store.retain();
    assert.deepEqual(await send(store, "cloud", "live"), times(2));
    assert.deepEqual(await send(store, "cloud"), history ? times(0, 1) : []);
  }
});

test("uplinks – of one that is added with selected values at most fifty readings are searched for one that may go live", async (t) => {
  const select = { values: ["torque"] };
  for (const without of [49, 50]) {
    const store = tempStore(t);
    const [first, ...others] = hours("1", ...Array(without + 1).keys());
    assert.ok(first);
    await append(store, [{ ...first, values: { torque: 1 } }, ...others]);
    store.setUplinks([MAIN, uplinkOf("cloud", ["json"], { select })]);
    await store.retain();
    assert.deepEqual(await send(store, "cloud", "live"), without < 50 ? times(0) : []);
  }
});

test("uplinks – one that is removed drops its pending readings, counted and reported by another", async (t) => {
  const directory = tempDirectory(t);
  const options = { uplinks: [MAIN, CLOUD] };
  let store = openStore(storeOptions(directory, options));
  await append(store, hours("1", ...Array(300).keys()));
  assert.deepEqual(
    store.setUplinks([MAIN]).map(({ what }) => what),
    ["uplink_removed"],
  );
  assert.deepEqual(Object.keys(store.state().lanes), ["json"]);
  // Ended before anything was removed: the next start goes on with it.
  await store.close();
  store = openStore(storeOptions(directory));
  await store.retain();
  assert.deepEqual(gaps(store, "main"), [["1", 300, "uplink_removed", "cloud"]]);
  assert.equal(store.state().dropped["uplink_removed"], 300);
  assert.equal(depth(store, "main"), 300);
  await store.close();
  const db = new Sqlite(join(directory, "gateside.db"), { readonly: true });
  assert.deepEqual(db.prepare("SELECT DISTINCT uplink FROM lanes").pluck().all(), ["main"]);
  db.close();
});

test("uplinks – what is left elsewhere of a reading that is dropped is looked up, not searched in the whole outbox", async (t) => {
  const directory = tempDirectory(t);
  const store = openStore(storeOptions(directory, { uplinks: [MAIN, CLOUD] }));
  await store.close();
  const db = new Sqlite(join(directory, "gateside.db"), { readonly: true });
  t.after(() => db.close());
  const plan = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${ELSEWHERE_SQL}`);
  const steps = plan.all("cloud", 1, 1, 1, 1, 1).map(({ detail }) => detail);
  assert.match(steps.join("\n"), /SEARCH o USING PRIMARY KEY \(lane=\? AND hour=\? AND stream=\?/);
});

test("uplinks – the removal of one is a warning in the log as soon as it loses a single reading", async (t) => {
  for (const [lost, level] of [
    [0, "info"],
    [1, "warn"],
  ] as const) {
    const logger = new RecordingLogger();
    const store = tempStore(t, { logger, uplinks: [MAIN, CLOUD] });
    await append(store, hours("1", ...Array(lost).keys()));
    logger.lines.length = 0;
    store.setUplinks([MAIN]);
    assert.deepEqual(
      logger.lines.map((line) => line.level),
      [level],
    );
  }
});

test("uplinks – a backlog older than one allows is dropped only for it, and reported there", async (t) => {
  const clock = new ManualClock(START_MS + 10 * HOUR);
  const short = uplinkOf("cloud", ["json"], { maxAgeHours: 4 });
  const store = tempStore(t, { clock, uplinks: [MAIN, short] });
  await append(store, hours("1", 0, 5, 7, 8));
  // Before retention has looked, too.
  assert.deepEqual(await send(store, "cloud"), times(7));
  await store.retain();
  assert.equal(depth(store, "main"), 4);
  assert.equal(depth(store, "cloud"), 1);
  assert.deepEqual(gaps(store, "cloud"), [["1", 2, "too_old", "cloud"]]);
  assert.deepEqual(gaps(store, "main"), []);
});

test("uplinks – backlog ages by the gateway's clock: a box whose clock is wrong drops nothing that is new", async (t) => {
  const clock = new ManualClock(START_MS + 40 * HOUR);
  let gatewayMs: number | null = null;
  const short = uplinkOf("cloud", ["json"], { maxAgeHours: 4 });
  const gatewayNow = () => gatewayMs;
  let isConfirmed = false;
  const isClockConfirmed = () => isConfirmed;
  const store = tempStore(t, { clock, gatewayNow, isClockConfirmed, uplinks: [MAIN, short] });
  await append(store, hours("1", 0, 5, 7, 8));
  // The first response will show what time it is.
  await store.retain();
  assert.equal(depth(store, "cloud"), 4);
  gatewayMs = START_MS + 10 * HOUR;
  await store.retain();
  assert.equal(depth(store, "cloud"), 4, "nor is anything dropped by a time that nobody confirmed");
  isConfirmed = true;
  await store.retain();
  assert.deepEqual(gaps(store, "cloud"), [["1", 2, "too_old", "cloud"]]);
  assert.deepEqual(await send(store, "cloud"), times(7));
  assert.deepEqual(await send(store, "cloud", "live"), times(8));
});

test("uplinks – if the gateway never reports its time, backlog ages by the box's clock after a while", async (t) => {
  const clock = new ManualClock(START_MS + 10 * HOUR);
  const short = uplinkOf("cloud", ["json"], { maxAgeHours: 4 });
  const store = tempStore(t, { clock, gatewayNow: () => null, uplinks: [MAIN, short] });
  await append(store, hours("1", 5, 7, 8));
  await clock.advance(11 * 60_000);
  await store.retain();
  assert.deepEqual(gaps(store, "cloud"), [["1", 1, "too_old", "cloud"]]);
  assert.equal(store.state().dropped["too_old"], 1);
});

test("uplinks – a delivery that waits for its commit, or for its acknowledgement, is not dropped as too old", async (t) => {
  const clock = new ManualClock(START_MS + 10 * HOUR);
  const short = uplinkOf("cloud", ["json"], { maxAgeHours: 4 });
  const store = tempStore(t, { clock, uplinks: [MAIN, short], commitPaceMs: 4000 });
  await append(store, hours("1", 6, 7, 8));
  const outbox = store.outboxOf("cloud");
  const [first, second] = outbox.lease("json", "backlog", 2);
  assert.ok(first && second);
  void outbox.settle("json", [{ entry: first, outcome: "sent" }]);
  clock.set(START_MS + 12 * HOUR);
  await store.retain();
  assert.deepEqual(gaps(store, "cloud"), []);
  // What is not acknowledged after all is.
  outbox.release("json");
  await store.outbox.flush();
  await store.retain();
  assert.deepEqual(gaps(store, "cloud"), [["1", 1, "too_old", "cloud"]]);
  assert.equal(depth(store, "cloud"), 1);
});

test("uplinks – what was pending in an old format is pending in the one that replaces it", async (t) => {
  const directory = tempDirectory(t);
  let store = openStore(storeOptions(directory));
  await append(store, hours("1", 0, 1, 2));
  await send(store, "main", "live");
  await store.close();
  store = openStore(storeOptions(directory, { uplinks: mainOf("sparkplug") }));
  await store.retain();
  assert.deepEqual(timesOf(store.outbox.lease("sparkplug", "backlog", 9)), times(0, 1));
  assert.deepEqual(gaps(store), []);
  await store.close();
});

test("uplinks – the effect of a format change on pending readings is previewed, while the store is open", async (t) => {
  const directory = tempDirectory(t);
  const store = openStore(storeOptions(directory));
  await append(store, hours("1", 0, 1, 2));
  const movesTo = (...formats: ("json" | "plain" | "sparkplug")[]) =>
    laneChangesAhead(directory, mainOf(...formats)).map(({ what, lane, ...rest }) => [
      what,
      lane,
      "readings" in rest ? rest.readings : 0,
    ]);
  assert.deepEqual(
    movesTo("sparkplug").filter(([, lane]) => lane === "json"),
    [["carried", "json", 3]],
  );
  assert.deepEqual(
    laneChangesAhead(directory, []).filter(({ lane }) => lane === "json"),
    [{ what: "uplink_removed", uplink: "main", lane: "json", readings: 3 }],
  );
  assert.equal(depth(store, "main"), 3, "nothing was changed");
  // One that is still being filled is there; one that is being removed is not.
  const ofCloud = () =>
    laneChangesAhead(directory, [MAIN]).map(({ uplink, what }) => [uplink, what]);
  store.setUplinks([MAIN, CLOUD]);
  assert.deepEqual(ofCloud(), [["cloud", "uplink_removed"]]);
  store.setUplinks([MAIN]);
  assert.deepEqual(ofCloud(), []);
  await store.close();
});

test("uplinks – of a backlog that plain cannot carry, the newest is pending there and the rest is reported", async (t) => {
  const directory = tempDirectory(t);
  let store = openStore(storeOptions(directory));
  await append(store, hours("1", 0, 1, 2));
  await append(store, hours("2", 1));
  await store.close();
  store = openStore(storeOptions(directory, { uplinks: mainOf("plain") }));
  // A newer one takes the place of the newest, which is not lost with that.
  await append(store, hours("2", 3));
  await store.retain();
  assert.deepEqual(timesOf(store.outbox.lease("plain", "live", 9)).sort(), times(2, 3));
  assert.deepEqual(gaps(store), [["1", 2, "format_off", ""]]);
  await store.close();
});

test("uplinks – a store of 0.1 keeps its pending readings, with nothing lost or sent twice", async (t) => {
  const directory = tempDirectory(t);
  releasedStore(directory);
  const store = tempStore(t, {
    dataDir: directory,
    uplinks: [...mainOf("json", "sparkplug"), { ...CLOUD, startFrom: "stored" }],
  });
  assert.equal(store.outbox.depth("json").readings, 2);
  assert.equal(store.outbox.depth("sparkplug").readings, 3);
  assert.deepEqual(await send(store, "main", "live"), times(2));
  assert.deepEqual(await send(store, "main"), times(1));
  assert.deepEqual(gaps(store, "main"), [["1", 4, "buffer_full", "main"]]);
  await store.retain();
  assert.equal(depth(store, "cloud"), 3);
});

/** Three readings: the first is delivered as JSON, all are owed to Sparkplug; a gap waits. */
function releasedStore(directory: string): void {
  mkdirSync(directory, { recursive: true });
  const db = new Sqlite(join(directory, "gateside.db"));
  db.pragma("auto_vacuum = INCREMENTAL");
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.exec(RELEASED_SCHEMA);
  db.pragma("user_version = 1");
  db.exec(`INSERT INTO streams VALUES (1, '1', 'rpm'); INSERT INTO unit_sets VALUES (1, '{}');
    INSERT INTO gaps (stream, from_ms, to_ms, count, reason) VALUES (1, 0, 1, 4, 'buffer_full')`);
  for (const [n, timeMs] of times(0, 1, 2).entries()) {
    db.prepare(
      `INSERT INTO readings (stream, time_ms, id, is_future, stored_at_ms, unit_set, "values", quality, attributes, raw)
       VALUES (1, ?, ?, 0, ?, 1, '{"rpm":1}', '{}', '{}', '{}')`,
    ).run(timeMs, Buffer.alloc(16, n + 1), timeMs);
    const row = [Math.trunc(timeMs / HOUR), 1, timeMs, n + 1, 0];
    const insert = db.prepare("INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?)");
    if (n > 0) insert.run(0, ...row);
    insert.run(3, ...row);
  }
  db.prepare("INSERT INTO live_marks VALUES (0, 1, ?)").run(START_MS);
  db.pragma("journal_mode = WAL");
  db.close();
}
