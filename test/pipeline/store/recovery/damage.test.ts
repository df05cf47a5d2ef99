import assert from "node:assert/strict";
import { existsSync, renameSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import type { Lane, OutboxEntry } from "../../../../src/core/delivery/delivery.ts";
import type { Clock } from "../../../../src/core/ports.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../../../src/pipeline/store/store.ts";
import { spoilPage } from "../../../support/damage.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import {
  append,
  type Cleanup,
  keyOf,
  mainOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
  tempStore,
  timesOf,
  uplinkOf,
  waveformOf,
} from "../../../support/temp-database.ts";

const LANES: readonly Lane[] = ["json", "waveform"];
const READINGS = 400;
const MEASUREMENTS = 5;

const CHANGE = {
  timeMs: START_MS,
  who: "HTTP_TOKEN",
  address: "",
  what: "POST /api/v1/reload",
  detail: "",
  outcome: "200",
};

const fileOf = (directory: string) => join(directory, "gateside.db");

/** A store that was closed in good order: sensor 1 with readings, sensor 2 with measurements, all owed. */
async function filled(t: Cleanup): Promise<string> {
  const directory = tempDirectory(t);
  const store = openStore(storeOptions(directory, { uplinks: mainOf(...LANES) }));
  const readings = Array.from({ length: READINGS }, (_, n) =>
    readingOf("1", START_MS + n * 1000, { padding: 500 }),
  );
  await append(store, readings);
  for (let n = 0; n < MEASUREMENTS; n++) {
    const time = START_MS + n * 60_000;
    const units = { rpm: "1" };
    await append(store, [
      readingOf("2", time, { kind: "accel", units, waveform: waveformOf(4096, 1) }),
    ]);
  }
  void store.audit.add(CHANGE);
  await store.close();
  return directory;
}

const spoil = (directory: string, name: string) => spoilPage(fileOf(directory), name);

function reopen(t: Cleanup, directory: string, onRecovered?: () => void): Store {
  const store = openStore(storeOptions(directory, { uplinks: mainOf(...LANES) }));
  if (onRecovered !== undefined) store.onRecovered(onRecovered);
  t.after(() => store.close());
  return store;
}

/** Delivers what a lane wants, through every disturbance, and reads the samples where it is their lane. */
async function drain(store: Store, lane: Lane): Promise<OutboxEntry[]> {
  const sent: OutboxEntry[] = [];
  for (let turn = 0; turn < 50; turn++) {
    const entries = [
      ...store.outbox.lease(lane, "live", 100),
      ...store.outbox.lease(lane, "backlog", 100),
    ];
    const done = store.outbox.settle(
      lane,
      entries.map((entry) => ({ entry, outcome: "sent" as const })),
    );
    await store.outbox.flush();
    await done;
    sent.push(...entries);
  }
  return sent;
}

for (const name of [
  "streams",
  "unit_sets",
  "readings",
  "readings_by_hour",
  "outbox",
  "live_marks",
  "gaps",
  "staged_waveforms",
  "sqlite_autoindex_streams_1",
]) {
  test(`damage – one page of ${name} after a clean stop affects neither the start nor pending readings`, async (t) => {
    const directory = await filled(t);
    spoil(directory, name);
    const store = reopen(t, directory);
    store.gaps.pendingGaps(10);
    const sent = await drain(store, "json");
    const ids = new Set(sent.map(({ reading }) => reading.id));
    const total = READINGS + MEASUREMENTS;
    // A page of readings holds a few of them; pages of everything else hold none.
    assert.ok(ids.size >= total - (name === "readings" ? 10 : 0), `${ids.size} of ${total}`);
    assert.equal(store.outbox.depth("json").readings, 0);
    assert.equal(store.audit.newest(9, null)[0]?.what, CHANGE.what, "who changed what is kept");
    for (const { reading } of sent) {
      assert.equal(reading.units, reading.sensor === "1" ? '{"rpm":"rpm"}' : '{"rpm":"1"}');
    }
    assert.ok(await append(store, [readingOf("1", START_MS + 9_000_000)]));
    await store.retain();
  });
}

test("damage – of a file that was cut short everything before the cut is saved", async (t) => {
  const directory = await filled(t);
  const file = fileOf(directory);
  truncateSync(file, Math.floor(statSync(file).size * 0.7));
  const store = reopen(t, directory);
  const { alarm, readings } = store.state();
  assert.match(alarm ?? "", /set aside/);
  assert.ok(readings > READINGS / 2, `${readings} of ${READINGS}`);
  const ids = new Set((await drain(store, "json")).map(({ reading }) => reading.id));
  assert.equal(ids.size, readings, "all of them are pending");
});

test("damage – a page of samples that cannot be read is repaired, and their readings are sent", async (t) => {
  const directory = await filled(t);
  spoil(directory, "waveforms");
  let recovered = 0;
  const store = reopen(t, directory, () => {
    recovered += 1;
  });
  const [first] = store.outbox.lease("waveform", "live", 1);
  const fileId = first?.reading.waveforms[0]?.fileId ?? 0;
  for (let n = 1; n <= fileId; n++) {
    try {
      store.waveforms.read(n);
    } catch (error) {
      assert.equal((error as { isRetryable?: unknown }).isRetryable, true);
    }
  }
  assert.equal(recovered, 1, "the poller learns that days are to be read again");
  for (let n = 1; n <= fileId; n++) store.waveforms.read(n);
  assert.equal((await drain(store, "json")).length, READINGS + MEASUREMENTS);
});

test("damage – samples with damaged bytes are treated as deleted", async (t) => {
  const directory = await filled(t);
  const db = new Sqlite(fileOf(directory));
  db.exec("UPDATE waveforms SET samples = x'00ff00ff' WHERE file_id = 1");
  db.close();
  const logger = new RecordingLogger();
  const counted: string[] = [];
  const store = openStore(
    storeOptions(directory, {
      uplinks: mainOf(...LANES),
      logger,
      onDropped: (reason, count) => counted.push(`${reason} ${count}`),
      onDamaged: (table) => counted.push(table),
    }),
  );
  t.after(() => store.close());
  for (let turn = 0; turn < 3; turn++) assert.equal(store.waveforms.read(1), null);
  assert.notEqual(store.waveforms.read(2), null);
  assert.deepEqual(
    counted,
    ["waveforms", "damaged_samples 1"],
    "once, however often it is asked for",
  );
  assert.equal(store.state().dropped["damaged_samples"], 1);
  assert.equal(logger.lines.filter(({ level }) => level === "error").length, 1);
});

test("damage – progress of the copy of a large store is reported to whoever waits, and logged", async (t) => {
  const directory = await filled(t);
  spoil(directory, "outbox");
  const logger = new RecordingLogger();
  // A disk that takes a second for each step.
  const clock = new ManualClock(START_MS);
  let steps = 0;
  const slow: Clock = {
    now: () => clock.now(),
    monotonic: () => 1_000 * ++steps,
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
  let calls = 0;
  const onProgress = () => void (calls += 1);
  const options = storeOptions(directory, {
    uplinks: mainOf(...LANES),
    logger,
    clock: slow,
    onProgress,
  });
  const store = openStore(options);
  t.after(() => store.close());
  assert.ok(store.state().alarm !== null, "it was copied");
  assert.ok(calls >= 4, `${calls} times`);
  assert.match(
    logger.text,
    /"table":"\w+","rows":\d+\},"message":"copying what can be read from the damaged/,
  );
});

test("damage – if sensors can no longer be distinguished, no reading is assigned to another one", async (t) => {
  const directory = await filled(t);
  spoil(directory, "streams");
  spoil(directory, "sqlite_autoindex_streams_1");
  const store = reopen(t, directory);
  await append(store, [readingOf("9", START_MS)]);
  const sent = await drain(store, "json");
  assert.deepEqual(
    sent.map(({ reading }) => reading.sensor),
    ["9"],
  );
  assert.equal(store.readings.progress(keyOf("1")), null, "the others are read again");
  assert.equal(await append(store, [readingOf("1", START_MS)]), 1);
});

test("damage – lost live marks let no live topic go back in time", async (t) => {
  const directory = await filled(t);
  const before = openStore(storeOptions(directory, { uplinks: mainOf(...LANES) }));
  const live = before.outbox.lease("json", "live", 10);
  const done = before.outbox.settle(
    "json",
    live.map((entry) => ({ entry, outcome: "sent" as const })),
  );
  await before.outbox.flush();
  await done;
  await before.close();
  spoil(directory, "live_marks");
  const store = reopen(t, directory);
  assert.deepEqual(store.outbox.lease("json", "live", 10), []);
  const next = START_MS + READINGS * 1000;
  await append(store, [readingOf("1", next)]);
  assert.deepEqual(timesOf(store.outbox.lease("json", "live", 10)), [next]);
});

test("damage – an interrupted copy begins again from the damaged file", async (t) => {
  const directory = await filled(t);
  const damaged = `${fileOf(directory)}.corrupt-2026-11-21T00-00-00-000Z`;
  renameSync(fileOf(directory), damaged);
  // What a process leaves that was ended while it copied: a new file with little in it, and the note.
  const half = openStore(storeOptions(directory));
  await half.close();
  writeFileSync(`${fileOf(directory)}.saving`, "gateside.db.corrupt-2026-11-21T00-00-00-000Z");
  const store = reopen(t, directory);
  assert.equal(store.state().readings, READINGS + MEASUREMENTS);
  assert.ok(existsSync(damaged));
  assert.ok(!existsSync(`${fileOf(directory)}.saving`));
  await store.close();
  const again = reopen(t, directory);
  assert.equal(again.state().alarm, null);
  assert.equal(again.state().readings, READINGS + MEASUREMENTS);
});

test("damage – found while the buffer is full, it leaves nothing that could be read without its deliveries", async (t) => {
  const directory = tempDirectory(t);
  const logger = new RecordingLogger();
  const later = { ...uplinkOf("cloud", ["json"]), startFrom: "now" as const };
  const open = () =>
    openStore(
      storeOptions(directory, { uplinks: [...mainOf("json"), later], bufferMaxMb: 8, logger }),
    );
  let store = openStore(storeOptions(directory, { bufferMaxMb: 8 }));
  for (let n = 0; Object.keys(store.state().dropped).length === 0; n += 2000) {
    const readings = Array.from({ length: 2000 }, (_, i) => readingOf("1", START_MS + n + i));
    await append(store, readings);
  }
  await store.close();
  // New uplinks have nothing pending, until nobody knows what was.
  store = open();
  t.after(() => store.close());
  // What stays in memory from the start is not read again.
  store.started();
  spoil(directory, "outbox");
  let recovered = 0;
  store.onRecovered(() => {
    recovered += 1;
  });
  for (let n = 0; n < 1000 && recovered === 0; n++) store.outbox.lease("json", "backlog", 100);
  assert.equal(recovered, 1);
  assert.doesNotMatch(logger.text, /could not be read/);
  assert.ok(store.state().readings > 0);
  for (const uplink of ["main", "cloud"]) {
    assert.equal(store.outboxOf(uplink).depth("json").readings, store.state().readings, uplink);
  }
});

test("damage – a response that skipped what was lost meanwhile is not recorded as read", async (t) => {
  const directory = await filled(t);
  let recovered = 0;
  const store = reopen(t, directory, () => {
    recovered += 1;
  });
  const writer = store.readings.begin(keyOf("1"));
  await writer.add(readingOf("1", START_MS + 9_000_000));
  spoil(directory, "gaps");
  // Found by whoever comes to the page, and believed the second time.
  store.gaps.pendingGaps(10);
  assert.equal(recovered, 0);
  store.gaps.pendingGaps(10);
  assert.equal(recovered, 1);
  assert.equal(store.readings.progress(keyOf("1")), null);
  await assert.rejects(() => writer.commit({ checkpoint: "prefix", records: READINGS + 1 }));
  assert.equal(store.readings.progress(keyOf("1")), null);
});

test("damage – waveforms dropped inside a full transaction are counted, and the response is stored", async (t) => {
  const logger = new RecordingLogger();
  const store = tempStore(t, { uplinks: mainOf(...LANES), bufferMaxMb: 8, logger });
  const count = 800;
  const noise = waveformOf(8192, 1);
  let seed = 7;
  for (const { samples } of noise.channels) {
    for (let i = 0; i < samples.length; i++) {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) | 0;
      samples[i] = seed >> 16;
    }
  }
  let stored = 0;
  for (let n = 0; n < count; n += 10) {
    const readings = Array.from({ length: 10 }, (_, i) =>
      readingOf("2", START_MS + (n + i) * 60_000, { kind: "accel", waveform: noise }),
    );
    stored += await append(store, readings);
  }
  assert.equal(stored, count);
  const { dropped, lanes } = store.state();
  const given = dropped["waveform_buffer_full"] ?? 0;
  assert.ok(given > 0, JSON.stringify(dropped));
  assert.equal((lanes.waveform?.readings ?? 0) + given, count);
  assert.equal(lanes.json?.readings, count, "readings outlast samples");
  assert.match(logger.text, /undelivered waveforms are dropped/);
});
