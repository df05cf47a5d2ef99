import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Growth } from "../../../../src/pipeline/store/space/growth.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import type { Store, StoreOptions } from "../../../../src/pipeline/store/store.ts";
import { deadlineMs } from "../../../support/deadline.ts";
import { KEEP } from "../../../support/keep.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
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
  timesOf,
  uplinkOf,
  waveformOf,
} from "../../../support/temp-database.ts";

const MINUTE = 60_000;
const MIB = 1 << 20;

async function deliver(store: Store, max = Number.POSITIVE_INFINITY): Promise<number> {
  let sent = 0;
  while (sent < max) {
    const entries = [
      ...store.outbox.lease("json", "live", 100),
      ...store.outbox.lease("json", "backlog", Math.min(100, max - sent)),
    ];
    if (entries.length === 0) break;
    sent += entries.length;
    const done = store.outbox.settle(
      "json",
      entries.map((entry) => ({ entry, outcome: "sent" as const })),
    );
    await store.outbox.flush();
    await done;
  }
  return sent;
}

const filesBytes = (directory: string) =>
  readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);

/** Appends `mb` of readings of 1 kB, a minute apart, from `from` on. */
async function fill(store: Store, mb: number, from = 0): Promise<number> {
  const count = mb * 900;
  for (let n = 0; n < count; n += 300) {
    const readings = Array.from({ length: 300 }, (_, i) => {
      const at = START_MS + (from + n + i) * MINUTE;
      return readingOf("1", at, { padding: 1000 });
    });
    await append(store, readings);
    await store.retain();
  }
  return count;
}

test("retention – a pending reading stays however old it is; delivered ones are deleted after their days", async (t) => {
  const clock = new ManualClock(START_MS + 40 * DAY_MS);
  const store = tempStore(t, { clock, commitWindowMs: 0 });
  await append(store, [readingOf("1", START_MS)]);
  await append(store, [readingOf("2", START_MS)]);
  await append(store, [readingOf("1", START_MS + 20 * DAY_MS)]);
  const entries = store.outbox.lease("json", "live", 9);
  const sent = entries.filter(({ reading }) => reading.sensor === "2");
  const done = store.outbox.settle(
    "json",
    sent.map((entry) => ({ entry, outcome: "sent" as const })),
  );
  await store.outbox.flush();
  await done;
  store.outbox.release("json");
  assert.notEqual(store.history.latest("2", "rpm"), null);
  await store.retain();
  assert.equal(store.history.latest("2", "rpm"), null);
  assert.equal(store.outbox.depth("json").readings, 2);
  assert.equal(store.state().readings, 2);
});

for (const isPending of [false, true])
  test(`retention – under a clock years ahead that nobody confirmed, 540 ${isPending ? "pending" : "delivered"} readings stay; once it is confirmed they go`, async (t) => {
    const directory = tempDirectory(t);
    const clock = new ManualClock(START_MS);
    const aged = { ...uplinkOf("cloud", ["json"]), maxAgeHours: 24 };
    const uplinks = isPending ? [...mainOf("json"), aged] : mainOf("json");
    const shared = { clock, uplinks, gatewayNow: () => null };
    const before = openStore(storeOptions(directory, shared));
    await append(
      before,
      Array.from({ length: 540 }, (_, n) => readingOf("1", START_MS + n * MINUTE)),
    );
    await deliver(before);
    await before.close();

    let isConfirmed = false;
    clock.set(START_MS + 5 * 365 * DAY_MS);
    const isClockConfirmed = () => isConfirmed;
    const store = openStore(storeOptions(directory, { ...shared, isClockConfirmed }));
    t.after(() => store.close());
    for (let hour = 0; hour < 3; hour++) {
      await store.retain();
      await clock.advance(61 * MINUTE);
    }
    await store.retain();
    assert.equal(store.state().readings, 540);
    assert.equal(store.state().lanes["cloud/json"]?.readings, isPending ? 540 : undefined);
    isConfirmed = true;
    for (let hour = 0; hour < 3; hour++) {
      await store.retain();
      await clock.advance(61 * MINUTE);
    }
    await store.retain();
    assert.equal(store.state().readings, 0);
  });

test("retention – what was removed is not stored again, also across restarts", async (t) => {
  const directory = tempDirectory(t);
  const clock = new ManualClock(START_MS + 40 * DAY_MS);
  const readings = [readingOf("1", START_MS), readingOf("1", START_MS, { salt: "twin" })];
  const options = { clock, commitWindowMs: 0 };
  let store = openStore(storeOptions(directory, options));
  await append(store, readings);
  await deliver(store);
  await store.retain();
  assert.equal(store.state().readings, 0);
  assert.equal(await append(store, readings), 0);
  await store.close();
  store = openStore(storeOptions(directory, options));
  t.after(() => store.close());
  assert.equal(await append(store, readings), 0);
  assert.equal(store.readings.canReread(keyOf("1")), true);
  assert.equal(await append(store, [readingOf("1", START_MS, { salt: "late" })]), 1);
});

test("retention – samples are deleted after their days, but not while they are pending; the day's best stay", async (t) => {
  const clock = new ManualClock(START_MS + 10 * DAY_MS);
  const uplinks = mainOf("json", "waveform");
  const store = tempStore(t, { clock, uplinks, commitWindowMs: 0, keep: KEEP });
  const measured = (timeMs: number) =>
    readingOf("1", timeMs, { kind: "accel", waveform: waveformOf(16) });
  await append(store, [measured(START_MS), measured(START_MS + MINUTE)]);
  const range = { sensor: "1", kind: "accel", fromMs: 0, toMs: clock.now() } as const;
  const [fileId = 0, best = 0] = [...store.history.range(range)].map(
    ({ waveforms }) => waveforms[0]?.fileId,
  );
  await store.retain();
  assert.notEqual(store.waveforms.read(fileId), null);
  assert.equal(store.waveforms.has(fileId), true);
  const entries = [
    ...store.outbox.lease("waveform", "live", 1),
    ...store.outbox.lease("waveform", "backlog", 1),
  ];
  assert.equal(entries.length, 2);
  const done = store.outbox.settle(
    "waveform",
    entries.map((entry) => ({ entry, outcome: "sent" as const })),
  );
  await store.outbox.flush();
  await done;
  await clock.advance(11 * MINUTE);
  await store.retain();
  assert.equal(store.waveforms.read(fileId), null);
  assert.equal(store.waveforms.has(fileId), false);
  assert.equal(store.waveforms.has(best), KEEP !== undefined);
  assert.notEqual(store.history.latest("1", "accel"), null);
});

test("retention – while delivered readings remain no pending one is dropped, and the files stay within the limit", async (t) => {
  const directory = tempDirectory(t);
  const store = tempStore(t, {
    dataDir: directory,
    bufferMaxMb: 8,
    clock: new ManualClock(START_MS),
  });
  const delivered = await fill(store, 4);
  await deliver(store);
  const owed = await fill(store, 4, delivered);
  assert.equal(store.outbox.depth("json").readings, owed);
  assert.deepEqual(store.state().dropped, {});
  assert.ok(store.state().readings < delivered + owed);
  assert.ok(filesBytes(directory) <= 8 * MIB, String(filesBytes(directory)));
});

test("retention – a full buffer drops the oldest pending readings, each reported, and keeps the newest", async (t) => {
  const directory = tempDirectory(t);
  const dropped: number[] = [];
  const store = tempStore(t, {
    dataDir: directory,
    bufferMaxMb: 8,
    clock: new ManualClock(START_MS),
    onDropped: (_, count) => dropped.push(count),
  });
  const count = await fill(store, 16);
  const depth = store.outbox.depth("json");
  const given = count - depth.readings;
  assert.ok(given > 0 && depth.readings > 2000, `${given} of ${count} given up`);
  assert.ok(filesBytes(directory) <= 8 * MIB, String(filesBytes(directory)));
  assert.equal(store.state().dropped["buffer_full"], given);
  assert.equal(
    dropped.reduce((a, b) => a + b, 0),
    given,
  );
  const gaps = store.gaps.pendingGaps(1000);
  assert.equal(
    gaps.reduce((sum, gap) => sum + gap.count, 0),
    given,
  );
  assert.equal(gaps.length, 1, "neighbours share a record");
  assert.equal(gaps[0]?.fromMs, START_MS);
  assert.equal(gaps[0]?.toMs, START_MS + (given - 1) * MINUTE);
  assert.equal(depth.oldestTimeMs, START_MS + given * MINUTE);
  assert.deepEqual(timesOf(store.outbox.lease("json", "live", 1)), [
    START_MS + (count - 1) * MINUTE,
  ]);
  assert.equal(
    await append(store, [readingOf("1", START_MS, { padding: 1000 })]),
    0,
    "not fetched again",
  );
  store.gaps.settleGaps(gaps.map(({ gapId }) => gapId));
  assert.deepEqual(store.gaps.pendingGaps(1), []);
});

test("retention – samples are deleted before pending readings", async (t) => {
  const store = tempStore(t, {
    bufferMaxMb: 8,
    uplinks: mainOf("json", "waveform"),
    clock: new ManualClock(START_MS),
  });
  const noise = () => Int16Array.from({ length: 20_000 }, () => Math.random() * 65536 - 32768);
  for (let n = 0; n < 250; n++) {
    const waveform = {
      ...waveformOf(1),
      channels: [{ channel: 1, axis: "H" as const, samples: noise() }],
    };
    await append(store, [readingOf("1", START_MS + n * MINUTE, { kind: "accel", waveform })]);
    if (n % 10 === 0) await store.retain();
  }
  await store.retain();
  assert.equal(store.outbox.depth("json").readings, 250);
  const { dropped, lanes } = store.state();
  assert.deepEqual(Object.keys(dropped), ["waveform_buffer_full"]);
  assert.equal((lanes.waveform?.readings ?? 0) + (dropped["waveform_buffer_full"] ?? 0), 250);
  assert.deepEqual(store.gaps.pendingGaps(1), []);
});

test("retention – a reading dropped while in flight lets nothing older go live, also across restarts", async (t) => {
  const options = storeOptions(tempDirectory(t), {
    bufferMaxMb: 8,
    uplinks: mainOf("json", "waveform"),
    clock: new ManualClock(START_MS),
  });
  let store = openStore(options);
  const measure = (minute: number) =>
    append(store, [
      readingOf("7", START_MS + minute * MINUTE, { kind: "accel", waveform: waveformOf(4096) }),
    ]);
  await measure(60);
  assert.equal(store.outbox.lease("waveform", "live", 1).length, 1);
  // The connection broke before the acknowledgement: it may have arrived.
  store.outbox.release("waveform");
  await fill(store, 8);
  assert.deepEqual(store.state().dropped["waveform_buffer_full"], 1);
  await measure(50);
  assert.deepEqual(store.outbox.lease("waveform", "live", 1), []);
  await store.close();
  store = openStore(options);
  t.after(() => store.close());
  assert.deepEqual(store.outbox.lease("waveform", "live", 1), []);
  await measure(8 * 900 + 1);
  assert.equal(store.outbox.lease("waveform", "live", 1).length, 1);
});

test("retention – if the disk has less than its minimum free, delivered history is deleted and pending readings are kept", async (t) => {
  const directory = tempDirectory(t);
  let free = 500 * MIB;
  const options: Partial<StoreOptions> = {
    dataDir: directory,
    bufferMaxMb: 64,
    diskFreeMinMb: 256,
    clock: new ManualClock(START_MS),
    diskFreeBytes: () => free,
  };
  const store = tempStore(t, options);
  const delivered = await fill(store, 6);
  await deliver(store);
  const owed = await fill(store, 1, delivered);
  const before = statSync(join(directory, "gateside.db")).size;
  free = 100 * MIB;
  await store.retain();
  assert.equal(store.outbox.depth("json").readings, owed);
  assert.equal(store.state().readings, owed);
  assert.deepEqual(store.state().dropped, {});
  for (let n = 0; n < 5; n++) await store.retain();
  assert.equal(store.outbox.depth("json").readings, owed, "what others do costs no owed reading");
  assert.ok(
    statSync(join(directory, "gateside.db")).size < before / 2,
    "space returns to the disk",
  );
});

test("retention – if even the record of dropped readings must be deleted, older days are not read again", async (t) => {
  const clock = new ManualClock(START_MS + 95 * DAY_MS);
  const store = tempStore(t, { bufferMaxMb: 1, clock, commitWindowMs: 0 });
  // A tenth of 1 MB holds about 4,700 identities that lie an hour apart.
  const hourly = (sensor: string, hours: number) =>
    Array.from({ length: hours }, (_, n) => readingOf(sensor, START_MS + n * 60 * MINUTE));
  for (let sensor = 1; sensor <= 4; sensor++) {
    await append(store, hourly(String(sensor), 60 * 24));
    await deliver(store);
    await clock.advance(11 * MINUTE);
    await store.retain();
  }
  assert.equal(store.state().readings, 0);
  assert.equal(store.readings.canReread(keyOf("1", "rpm", "2026-11-20")), false);
  assert.equal(store.readings.canReread(keyOf("1", "rpm", "2026-12-20")), true);
  // Whoever reads it all the same sends nothing twice. A sensor that is new has no such past.
  assert.equal(await append(store, hourly("1", 10)), 0);
  assert.equal(await append(store, hourly("new", 10)), 10);
});

test("retention – the hours until full follow from the growth and count what may be dropped", async (t) => {
  const clock = new ManualClock(START_MS);
  const store = tempStore(t, { bufferMaxMb: 8, clock, commitWindowMs: 0 });
  assert.equal(store.state().hoursUntilFull, null);
  const minutes = async (from: number, to: number) => {
    for (let minute = from; minute < to; minute++) {
      const readings = Array.from({ length: 10 }, (_, n) =>
        readingOf("1", START_MS + minute * MINUTE + n * 1000, { padding: 800 }),
      );
      await append(store, readings);
    }
    await store.retain();
  };
  const hours = () => store.state().hoursUntilFull ?? 0;
  await minutes(0, 60);
  assert.equal(store.state().hoursUntilFull, null, "an hour was not seen yet");
  await minutes(60, 63);
  // 600 readings of about 1.05 kB an hour into about 6.6 MB, of which an hour's are there already.
  assert.ok(hours() > 6 && hours() < 13, String(hours()));

  // What was measured before: a backfill's, at whatever speed, in one go.
  const before = hours();
  const past = Array.from({ length: 500 }, (_, n) =>
    readingOf("1", START_MS - DAY_MS + n * 1000, { padding: 800 }),
  );
  await append(store, past, keyOf("1", "rpm", "2026-11-19"));
  await store.retain();
  assert.ok(Math.abs(hours() - before) < 1.5, `${before} → ${hours()}`);

  // Two hours that the gateway was away for, and that come all at once.
  const rate = hours();
  await minutes(63, 183);
  assert.ok(hours() < rate && hours() > rate - 4, `${rate} → ${hours()}`);
});

test("growth – is computed from the times of measurement, over a day at most, from the first complete response on", () => {
  const HOUR = 60 * MINUTE;
  const growth = new Growth();
  growth.note(1, START_MS - HOUR, 1e9);
  growth.begin(1, START_MS);
  growth.begin(2, START_MS + HOUR);
  for (let hour = 1; hour <= 60; hour++) {
    growth.note(1, START_MS + hour * HOUR, hour <= 30 ? 100 : 200);
    if (hour === 1) assert.equal(growth.bytesPerHour(), 100);
    growth.note(2, START_MS - hour * HOUR, 1e9);
    growth.note(3, START_MS + hour * HOUR, 1e9);
  }
  const perHour = growth.bytesPerHour() ?? 0;
  assert.ok(perHour >= 200 && perHour <= 210, String(perHour));
  const quiet = new Growth();
  quiet.begin(1, null);
  quiet.note(1, START_MS, 100);
  assert.equal(quiet.bytesPerHour(), null);
  quiet.note(1, START_MS + 2 * HOUR, 100);
  assert.equal(quiet.bytesPerHour(), 50);
});

test("retention – an endless series of commands uses its share of the buffer, and executed ones are kept longest", async (t) => {
  const clock = new ManualClock(START_MS);
  const store = tempStore(t, { clock, bufferMaxMb: 8 });
  const keep = (key: string, outcome: "queued" | "rejected_local") => {
    const request = {
      receivedAtMs: clock.now(),
      key,
      sensor: "1",
      source: "mqtt" as const,
      payload: "{}",
    };
    const command = store.commands.begin(request);
    void store.commands.finish(command, { outcome, statusNumber: 0, description: "" }, clock.now());
  };
  keep("first", "queued");
  for (let n = 0; n < 400; n++) keep(`refused ${n}`, "rejected_local");
  await store.retain();
  const kept = store.commands.list(1000);
  assert.ok(kept.length < 300, `${kept.length} kept`);
  assert.equal(kept[0]?.key, "refused 399");
  assert.equal(kept.at(-1)?.key, "first");
  for (let n = 0; n < 400; n++) keep(`queued ${n}`, "queued");
  await store.retain();
  assert.equal(store.commands.list(1000).length, 401, "a day's repetitions are still recognised");
  await clock.advance(2 * DAY_MS);
  await store.retain();
  assert.ok(store.commands.list(1000).length < 300);
  assert.equal(store.commands.lastQueued("1")?.key, "queued 399");
});

test("retention – a pass that has weeks to remove ends when the agent is stopped", async (t) => {
  const clock = new ManualClock(START_MS + 60 * DAY_MS);
  const store = tempStore(t, { clock, commitWindowMs: 0, uplinks: mainOf() });
  const count = 4_000;
  await append(
    store,
    Array.from({ length: count }, (_, n) => readingOf("1", START_MS + n * 1000)),
  );
  const stop = new AbortController();
  const ended = store.runRetention(stop.signal);
  while (store.state().readings === count) await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  await ended;
  const left = store.state().readings;
  assert.ok(left > 0 && left < count, `${left} of ${count} are left`);
});

/** All that is still owed, oldest first. */
function pendingTimes(store: Store, lane: "json" = "json"): number[] {
  const live = store.outbox.lease(lane, "live", 100_000);
  const backlog = store.outbox.lease(lane, "backlog", 100_000);
  store.outbox.release(lane);
  return timesOf([...live, ...backlog]).toSorted((a, b) => a - b);
}

/** A day of a sensor's readings of 1 kB, a minute apart, in answers that share transactions. */
function minutesOf(sensor: string, fromMs: number, minutes = 1440) {
  return Array.from({ length: minutes }, (_, n) =>
    readingOf(sensor, fromMs + n * MINUTE, { padding: 1000 }),
  );
}

/** Four times as many nearly fill a buffer of 8 MB. */
const MINUTES = 1140;

for (const passes of [true, false]) {
  test(`retention – a backfill into a full buffer displaces nothing newer, ${passes ? "with" : "without"} passes between`, async (t) => {
    const store = tempStore(t, { bufferMaxMb: 8, clock: new ManualClock(START_MS) });
    const today = START_MS + DAY_MS;
    // As much as the buffer holds, all of today.
    const held: number[] = [];
    for (const sensor of ["1", "2", "3", "4"]) {
      const readings = minutesOf(sensor, today, MINUTES);
      await append(store, readings, keyOf(sensor, "rpm", "2026-11-21"));
      held.push(...readings.map(({ timeMs }) => timeMs));
    }
    const before = store.outbox.depth("json").readings;
    assert.equal(before, held.length, "all of today fits");
    const yesterday = ["1", "2", "3", "4"].map((sensor) => ({
      readings: minutesOf(sensor, START_MS, MINUTES),
      key: keyOf(sensor, "rpm", "2026-11-20"),
    }));
    for (let round = 0; round < 4; round++) {
      await Promise.allSettled(yesterday.map(({ readings, key }) => append(store, readings, key)));
      if (passes) for (let n = 0; n < 3; n++) await store.retain();
    }
    const owed = pendingTimes(store);
    const gaps = store.gaps.pendingGaps(1000);
    const newestGiven = Math.max(...gaps.map(({ toMs }) => toMs));
    assert.ok(newestGiven < today + 2 * 60 * MINUTE, "today is given up for nothing older");
    assert.ok((owed[0] ?? 0) >= newestGiven, "nothing older than what was given up is kept");
    const given = gaps.reduce((sum, { count }) => sum + count, 0);
    assert.equal(given, store.state().dropped["buffer_full"]);
    assert.equal(given + owed.length, 2 * held.length, "each is owed or reported");
    for (const { readings, key } of yesterday)
      assert.equal(await append(store, readings, key), 0, "nor is it read again");
    // Time goes on: what is measured now takes the place of the oldest.
    assert.equal(await append(store, minutesOf("1", today + DAY_MS, 600)), 600);
    assert.equal(store.outbox.lease("json", "live", 1).length, 1);
  });
}

test("retention – space is freed in turns of the event loop, however much there is to examine", async (t) => {
  const store = tempStore(t, { bufferMaxMb: 16, clock: new ManualClock(START_MS) });
  for (let n = 0; n < 11; n++) await append(store, minutesOf("1", START_MS + n * DAY_MS));
  // CPU time between two turns, for a wait of the disk or of another process holds nothing that code could let go.
  let longest = 0;
  let last = process.cpuUsage();
  const dropped = () => store.state().dropped["buffer_full"] ?? 0;
  let ended = false;
  const turn = () => {
    const { user, system } = process.cpuUsage(last);
    longest = Math.max(longest, (user + system) / 1000);
    last = process.cpuUsage();
    if (!ended) setImmediate(turn);
  };
  setImmediate(turn);
  for (let n = 11; n < 16; n++) await append(store, minutesOf("1", START_MS + n * DAY_MS));
  ended = true;
  t.diagnostic(`${dropped()} dropped, at most ${longest.toFixed(0)} ms of CPU in a turn`);
  assert.ok(dropped() > 1000);
  assert.ok(longest < deadlineMs(250), `held for ${longest} ms of CPU`);
});

test("retention – a dead uplink that fills the buffer does not cost a healthy one older readings", async (t) => {
  const store = tempStore(t, {
    bufferMaxMb: 8,
    clock: new ManualClock(START_MS),
    uplinks: [uplinkOf("main", ["json"]), uplinkOf("dead", ["json"])],
  });
  const today = START_MS + DAY_MS;
  for (let n = 0; n < 20; n++) {
    await append(store, minutesOf("1", today + n * 300 * MINUTE, 300));
    await deliver(store);
    await store.retain();
  }
  const deadOwes = () => store.outboxOf("dead").depth("json").readings;
  assert.ok(deadOwes() > 4000, String(deadOwes()));
  let sent = 0;
  for (let hour = 0; hour < 24; hour++) {
    await append(store, minutesOf("1", START_MS + hour * 60 * MINUTE, 60));
    sent += await deliver(store);
    await store.retain();
  }
  assert.equal(sent, 1440);
  const gapsOfDead = store.gapsOf("dead").pendingGaps(1000);
  assert.ok(gapsOfDead.length > 0);
  assert.deepEqual(store.gapsOf("main").pendingGaps(10), []);
});

test("retention – of an hour with thousands of readings exactly the delivered ones go, however many pending ones stand between them", async (t) => {
  const clock = new ManualClock(START_MS);
  const store = tempStore(t, { uplinks: mainOf("json"), historyDays: 1, clock });
  const at = (n: number) => START_MS + n * 500;
  for (let from = 0; from < 6_000; from += 1_500)
    await append(
      store,
      Array.from({ length: 1_500 }, (_, n) => readingOf(`${n % 7}`, at(from + n))),
    );
  // Live ones go first, then the backlog: those in between wait.
  const sent = await deliver(store, 1_000);
  await clock.advance(3 * DAY_MS);
  await store.retain();
  assert.equal(store.state().readings, 6_000 - sent);
  assert.equal(store.state().lanes["json"]?.readings, 6_000 - sent);
});
