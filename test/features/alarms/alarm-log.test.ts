import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import { EngineFailures } from "../../../src/core/engine-failures.ts";
import type { Site } from "../../../src/core/site.ts";
import { WaitTable } from "../../../src/features/machines/wait-table.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../../src/pipeline/store/store.ts";
import { alarmLogOf } from "../../support/alarm-log.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import {
  append,
  DAY_MS,
  keyOf,
  mainOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
  tempStore,
  uplinkOf,
} from "../../support/temp-database.ts";

const SITE: Site = {
  site: "plant-7",
  sensors: [
    {
      code: "2",
      type: 3,
      kinds: ["loop"],
      channels: { channel1: { unit: "bar", low: 0, high: 10 } },
      location: { company: 1, area: 2, machine: 40, point: 2 },
    },
    {
      code: "1",
      type: 6,
      kinds: ["rpm"],
      channels: {},
      location: { company: 1, area: 2, machine: 40, point: 1 },
    },
  ],
  machines: [{ id: 40, running: { sensor: "1", kind: "rpm", value: "rpm", above: 300 } }],
  alarms: [{ name: "speed", select: { values: ["rpm"] }, high: 3000, hysteresis: 100 }],
};

function open(dataDir: string): { store: Store; engine: FollowingEngine } {
  const store = openStore(
    storeOptions(dataDir, { site: () => "plant-7", uplinks: mainOf("json", "plain", "sparkplug") }),
  );
  const engine = new FollowingEngine(SITE);
  engine.load(alarmLogOf(store).saved());
  const newest = store.history.latest("1", "rpm");
  if (newest !== null) engine.prime("1", "rpm", newest);
  alarmLogOf(store).follower = engine;
  return { store, engine };
}

const rpms = (values: readonly number[], fromMs = START_MS) =>
  values.map((rpm, i) => readingOf("1", fromMs + i * 60_000, { values: { rpm } }));

const events = (store: Store) =>
  alarmLogOf(store)
    .events(null, 100)
    .map(({ payload }): Record<string, unknown> => JSON.parse(payload))
    .reverse();

test("alarm log – an event of a box whose clock is wrong is not too old for an uplink that drops old backlog", async (t) => {
  const uplinks = [uplinkOf("cloud", ["json"], { maxAgeHours: 4 })];
  const gatewayNow = () => START_MS + 60_000;
  const clock = new ManualClock(0);
  const options = storeOptions(tempDirectory(t), { clock, gatewayNow, uplinks });
  const store = openStore(options);
  t.after(() => store.close());
  alarmLogOf(store).follower = new FollowingEngine(SITE);
  await append(store, rpms([1500, 3100]));
  await store.retain();
  const outbox = store.outboxOf("cloud");
  assert.equal(outbox.depth("json").readings, 3);
  const kinds = outbox.lease("json", "live", 10).map(({ reading }): string => reading.kind);
  assert.deepEqual(kinds, ["event", "rpm"]);
});

test("alarm log – an event is stored with the reading that caused it, pending in the JSON lane, and in no query of readings", async (t) => {
  const { store } = open(tempDirectory(t));
  t.after(() => store.close());
  assert.equal(await append(store, rpms([1500, 3100, 2950, 2900])), 4);
  assert.deepEqual(
    events(store).map(({ state, measured, site }) => [state, measured, site]),
    [
      ["active", 3100, "plant-7"],
      ["cleared", 2900, "plant-7"],
    ],
  );
  const found = [...store.history.range({ fromMs: 0, toMs: START_MS + DAY_MS })];
  assert.deepEqual(
    found.map(({ kind }) => kind),
    ["rpm", "rpm", "rpm", "rpm"],
  );
  assert.deepEqual(
    store.history.streams().map(({ kind }) => kind),
    ["rpm"],
  );
  assert.equal(store.outbox.depth("json").readings, 6);
  assert.equal(store.outbox.depth("sparkplug").readings, 4);
  // Events go first and wait behind no history, in the order in which they came about.
  const first = store.outbox.lease("json", "live", 10);
  assert.deepEqual(
    first.map(({ reading: { kind, timeMs }, live }) => [kind as string, live, timeMs > START_MS]),
    [
      ["event", false, true],
      ["event", false, true],
      ["rpm", true, true],
    ],
  );
  assert.deepEqual(
    first
      .slice(0, 2)
      .map(({ reading: { id, values } }) => [id, (JSON.parse(values) as { id: string }).id]),
    events(store).map(({ id }) => [id, id]),
  );
  const owed = store.outbox.lease("json", "backlog", 100);
  assert.deepEqual(
    owed.map(({ reading: { kind } }) => kind),
    ["rpm", "rpm", "rpm"],
  );
  assert.equal(store.state().readings, 6);
});

test("alarm log – events that were not accepted are leased again, first, and delivered ones are gone", async (t) => {
  const { store } = open(tempDirectory(t));
  t.after(() => store.close());
  await append(store, rpms([1500, 3100, 2900, 3100]));
  const states = (max: number) =>
    store.outbox.lease("json", "live", max).map((entry) => ({
      entry,
      state: String((JSON.parse(entry.reading.values) as { state?: string }).state),
    }));
  const [raised, ...rest] = states(2);
  assert.deepEqual([raised?.state, ...rest.map(({ state }) => state)], ["active", "cleared"]);
  assert.ok(raised);
  await store.outbox.settle("json", [{ entry: raised.entry, outcome: "sent" }]);
  store.outbox.release("json");
  assert.deepEqual(
    states(10).map(({ state }) => state),
    ["cleared", "active", "undefined"],
  );
});

test("alarm log – bad values are counted in a row: a good one between them starts again, also within one response", async (t) => {
  const { store } = open(tempDirectory(t));
  t.after(() => store.close());
  const bad = { channel1: { quality: "bad", reason: "wire_break" } } as const;
  const loops = (codes: string, fromMs: number) =>
    Array.from(codes, (code, i) =>
      readingOf("2", fromMs + i * 60_000, {
        kind: "loop",
        values: { channel1: code === "b" ? null : 5 },
        ...(code === "b" ? { quality: bad } : {}),
      }),
    );
  await append(store, loops("bbgbbg", START_MS));
  assert.deepEqual(events(store), []);
  await append(store, loops("bbbg", START_MS + 3_600_000));
  assert.deepEqual(
    events(store).map(({ alarm, state, time }) => [alarm, state, Date.parse(String(time))]),
    [
      ["bad_quality", "active", START_MS + 3_720_000],
      ["bad_quality", "cleared", START_MS + 3_780_000],
    ],
  );
});

test("alarm log – readings say whether their machine was running", async (t) => {
  const { store } = open(tempDirectory(t));
  t.after(() => store.close());
  const loop = (minute: number) =>
    readingOf("2", START_MS + minute * 60_000, { kind: "loop", values: { channel1: 5 } });
  await append(store, [loop(0)]);
  await append(store, rpms([0, 1500], START_MS + 60_000));
  await append(store, [loop(1.5), loop(2)]);
  const query = { sensor: "2", fromMs: 0, toMs: START_MS + DAY_MS };
  const states = [...store.history.range(query)].map(
    ({ attributes }): unknown =>
      (JSON.parse(attributes) as Record<string, unknown>)["machine_state"],
  );
  assert.deepEqual(states, [undefined, "standing", "running"]);
  const own = [...store.history.range({ ...query, sensor: "1" })];
  assert.ok(own.every(({ attributes }) => !attributes.includes("machine_state")));
});

test("alarm log – a response that is discarded or read again gives no event, and a restart continues where it was", async (t) => {
  const directory = tempDirectory(t);
  const first = open(directory);
  const writer = first.store.readings.begin({ sensor: "1", kind: "rpm", day: "2026-11-20" });
  for (const reading of rpms([3100])) await writer.add(reading);
  writer.discard();
  await append(first.store, rpms([3100]));
  await append(first.store, rpms([3100]));
  await first.store.close();
  const second = open(directory);
  t.after(() => second.store.close());
  await append(second.store, rpms([3100]));
  await append(second.store, rpms([3050, 2000], START_MS + 60_000));
  assert.deepEqual(
    events(second.store).map(({ state }) => state),
    ["active", "cleared"],
  );
});

test("alarm log – acknowledgements and notes on alarms are kept, newest first", (t) => {
  const { store } = open(tempDirectory(t));
  t.after(() => store.close());
  const action = {
    timeMs: 1,
    who: "anna",
    source: "http",
    what: "shelve",
    subject: "1/speed/rpm",
    detail: "{}",
    outcome: "done",
  };
  void alarmLogOf(store).audit(action);
  void alarmLogOf(store).audit({ ...action, what: "unshelve" });
  assert.deepEqual(
    alarmLogOf(store)
      .actions(10)
      .map(({ what }) => what),
    ["unshelve", "shelve"],
  );
  // However many are refused, what was done stays.
  for (let i = 0; i < 1_010; i++)
    void alarmLogOf(store).audit({ ...action, outcome: "no such alarm" });
  const kept = alarmLogOf(store).actions(5_000);
  assert.equal(kept.length, 1_002);
  assert.deepEqual(
    kept.slice(-2).map(({ what }) => what),
    ["unshelve", "shelve"],
  );
});

/** Overwrites the first page of a table. */
function spoil(directory: string, table: string): void {
  const file = join(directory, "gateside.db");
  const db = new Sqlite(file);
  const row = db
    .prepare<[string], { rootpage: number }>("SELECT rootpage FROM sqlite_master WHERE name = ?")
    .get(table);
  db.close();
  assert.ok(row);
  const bytes = readFileSync(file);
  const pageBytes = bytes.readUInt16BE(16);
  bytes.fill(0xa5, (row.rootpage - 1) * pageBytes, row.rootpage * pageBytes);
  writeFileSync(file, bytes);
}

for (const table of ["alarm_states", "alarm_samples", "alarm_actions", "outbox"]) {
  test(`alarm log – a damaged page of ${table} does not prevent a start, and the loss is reported`, async (t) => {
    const directory = tempDirectory(t);
    const before = open(directory);
    await append(before.store, rpms([1500, 3100]));
    const published = events(before.store);
    await before.store.close();
    spoil(directory, table);
    const { store, engine } = open(directory);
    t.after(() => store.close());
    const [event] = store.outbox.lease("json", "live", 1);
    assert.equal(event?.reading.id, published[0]?.["id"], "the event is still owed");
    const isKept = table !== "alarm_states";
    assert.equal([...engine.alarms()].length, isKept ? 1 : 0);
    assert.equal(/states of some alarms were lost/.test(store.state().alarm ?? ""), !isKept);
    await append(store, rpms([3200], START_MS + 600_000));
    assert.equal(events(store).length, isKept ? 1 : 2);
  });
}

test("alarm log – a recreated store takes over what the engine remembers", async (t) => {
  const { store: damaged, engine } = open(tempDirectory(t));
  t.after(() => damaged.close());
  await append(damaged, rpms([1500, 3100]));
  const directory = tempDirectory(t);
  const { store: fresh } = open(directory);
  await alarmLogOf(fresh).apply("states", () => engine.saved(), true);
  // What an answer brings in the same transaction is newer.
  alarmLogOf(fresh).follower = engine;
  const answer = fresh.readings.begin(keyOf("1", "rpm", "2026-11-21"));
  for (const reading of rpms([2800, 3300], START_MS + 600_000)) void answer.add(reading);
  await Promise.all([
    answer.commit({ checkpoint: null, records: 2 }),
    alarmLogOf(fresh).apply("states", () => engine.saved(), true),
  ]);
  await fresh.close();
  const after = open(directory);
  t.after(() => after.store.close());
  assert.deepEqual(
    [...after.engine.alarms()].map(({ state }) => state.raised?.id),
    [...engine.alarms()].map(({ state }) => state.raised?.id),
  );
});

test("alarm log – events are announced once for each transaction, after their rows, and never if it fails", async (t) => {
  const { store, engine } = open(tempDirectory(t));
  t.after(() => store.close());
  const heard: unknown[] = [];
  alarmLogOf(store).onEvents = (told) => {
    heard.push([store.outbox.depth("json").readings, told.map(({ state }) => state)]);
  };
  const failing = alarmLogOf(store).apply(
    "fails",
    (tx) => {
      engine.follow(tx, "1", "rpm", [followed(0, 3500)]);
      throw new Error("a bug");
    },
    true,
  );
  await assert.rejects(failing);
  assert.deepEqual(heard, []);
  assert.deepEqual(engine.active("1"), []);
  // Two jobs of one transaction.
  await Promise.all(
    [1, 2].map((n) =>
      alarmLogOf(store).apply(
        `job ${n}`,
        (tx) => engine.follow(tx, "1", "rpm", [followed(n, n === 1 ? 3500 : 1000)]),
        true,
      ),
    ),
  );
  assert.deepEqual(heard, [[2, ["active", "cleared"]]]);
});

const followed = (minute: number, rpm: number) => ({
  id: `${minute}`.padStart(32, "0"),
  timeMs: START_MS + minute * 60_000,
  isFuture: false,
  values: { rpm },
  quality: {},
});

test("alarm log – a failure of the rules is counted, stands until the same sensor's alarms work, and is told again after that", async (t) => {
  const lines: unknown[] = [];
  const logger = { ...silentLogger, error: (fields: object) => void lines.push(fields) };
  const counted: string[] = [];
  const clock = new ManualClock(START_MS);
  const failures = new EngineFailures({ clock, logger }, (engine) => void counted.push(engine));
  const store = openStore(storeOptions(tempDirectory(t)));
  alarmLogOf(store, failures);
  t.after(() => store.close());
  let fault: Error | null = null;
  const engine = new FollowingEngine(SITE);
  alarmLogOf(store).follower = {
    isFollowed: () => true,
    machineStateFor: () => null,
    follow(tx, sensor, kind, readings) {
      if (fault !== null) throw fault;
      return engine.follow(tx, sensor, kind, readings);
    },
  };
  let minute = 0;
  const one = (sensor: string) =>
    append(store, [readingOf(sensor, START_MS + (minute += 1) * 60_000)]);
  fault = new Error("a passing fault");
  await one("1");
  await one("1");
  const stands = { engine: "alarms", lastError: "a passing fault", sinceMs: START_MS };
  assert.deepEqual(failures.standing, [stands]);
  fault = null;
  await one("2");
  assert.deepEqual(failures.standing, [stands], "of another sensor");
  await one("1");
  assert.equal(failures.standing.length, 0);
  fault = new Error("another fault");
  await one("1");
  assert.deepEqual(
    failures.standing.map(({ lastError }) => lastError),
    ["another fault"],
  );
  assert.deepEqual([lines.length, counted.length], [2, 3]);
});

test("alarm log – a full disk while alarms follow is no failure of the rules: readings, progress and alarms are stored together or not at all", async (t) => {
  const counted: string[] = [];
  const clock = new ManualClock(START_MS);
  const failures = new EngineFailures({ clock, logger: silentLogger }, (engine) =>
    counted.push(engine),
  );
  const store = tempStore(t, { bufferMaxMb: 8 });
  alarmLogOf(store, failures);
  const waiting = new WaitTable(store.tables.db);
  let textBytes = 16 << 20;
  alarmLogOf(store).follower = {
    isFollowed: () => true,
    machineStateFor: () => null,
    follow() {
      const text = "x".repeat(textBytes);
      waiting.add("alarm/1/rpm", {
        number: 1,
        timeMs: START_MS,
        sinceMs: START_MS,
        text,
      });
      return { events: [], states: [], samples: [], forgotten: [] };
    },
  };
  const reading = readingOf("1", START_MS);
  await assert.rejects(append(store, [reading], keyOf("1"), "read"), { code: "full" });
  assert.equal(store.readings.progress(keyOf("1")), null, "nothing of the day counts as read");
  textBytes = 10;
  assert.equal(await append(store, [reading], keyOf("1"), "read"), 1);
  assert.equal(store.readings.progress(keyOf("1"))?.checkpoint, "read");
  assert.deepEqual(counted, []);
});
