import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openConnection } from "../../src/collect/database/connection.ts";
import { raiseHorizon } from "../../src/collect/database/horizon.ts";
import { migrate } from "../../src/collect/database/migrate.ts";
import { StreamNumbers } from "../../src/collect/database/streams.ts";
import { Writer } from "../../src/collect/database/writer.ts";
import { instantText } from "../../src/collect/parse/copy-text.ts";
import { READING_TABLES, readingColumns } from "../../src/collect/tables.ts";
import { entry, READING_TOPIC, readingPayload } from "../support/collecting.ts";
import { openPostgres, type Postgres, skipWithoutPostgres } from "../support/postgres.ts";

let postgres: Postgres;
let databases = 0;

before(async () => {
  if (!skipWithoutPostgres) postgres = await openPostgres();
});
after(() => postgres?.close());

const freshDatabase = () => postgres.createDatabase(`writer${++databases}`);

const reading = (n: number, members: Record<string, unknown> = {}) =>
  entry(READING_TOPIC, readingPayload(n, members));

test("writer – a repeated batch changes nothing, nor does a duplicate within a batch", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const batch = [reading(1), reading(2), reading(1)];
  const first = await writer.write(batch);
  assert.deepEqual([first.readings, first.duplicates], [2, 1]);
  const again = await writer.write(batch);
  assert.deepEqual([again.readings, again.duplicates], [0, 3]);
  assert.equal((await postgres.query(url, "SELECT * FROM reading")).length, 2);
});

test("writer – two readings of one time with different content are two", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const time = new Date(Date.now() - 60_000).toISOString();
  await writer.write([reading(1, { time, sensor: "1" }), reading(2, { time, sensor: "1" })]);
  assert.equal((await postgres.query(url, "SELECT * FROM reading")).length, 2);
});

test("writer – of two contents under one id the first is stored, within a batch and later, and is the newest", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const content = (rpm: number) => reading(1, { values: { rpm } });
  const filler = Array.from({ length: 20 }, (_, n) => reading(n + 10, { sensor: "1" }));
  await writer.write([content(7), ...filler, content(8), content(9)]);
  await writer.write([content(6)]);
  for (const view of ["measurement", "latest"])
    assert.deepEqual(
      await postgres.query(
        url,
        `SELECT number FROM ${view} WHERE value = 'rpm' AND sensor = '101'`,
      ),
      [{ number: 7 }],
      view,
    );
});

test("writer – a bad value without its own column is a measurement row like any other", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const bad = { quality: "bad", reason: "missing" };
  await writer.write([
    reading(1, {
      kind: "node",
      values: { firmware: "1.02", battery: null },
      units: { battery: "V" },
      quality: { battery: bad },
    }),
    reading(2, { values: { rpm: null, extra: null }, quality: { rpm: bad, extra: bad } }),
  ]);
  const lines = await postgres.query(
    url,
    "SELECT kind, value, number, text, quality, reason FROM measurement ORDER BY kind, value",
  );
  const line = (kind: string, value: string) => ({ kind, value, number: null, text: null, ...bad });
  assert.deepEqual(lines, [
    line("node", "battery"),
    { ...line("node", "firmware"), text: "1.02", quality: "good", reason: null },
    line("rpm", "extra"),
    line("rpm", "rpm"),
  ]);
  const readings = await postgres.query(url, 'SELECT "values" FROM reading ORDER BY kind');
  assert.deepEqual(readings, [
    { values: { firmware: "1.02", battery: null } },
    { values: { rpm: null, extra: null } },
  ]);
});

test("writer – every table of readings has the columns that the program writes", {
  skip: skipWithoutPostgres,
}, async () => {
  const url = await freshDatabase();
  const client = await openConnection(url, "test");
  await migrate(client);
  await client.end();
  for (const table of READING_TABLES) {
    const rows = await postgres.query<{ name: string }>(
      url,
      `SELECT attname AS name FROM pg_attribute WHERE attrelid = '${table.table}'::regclass AND attnum > 0 ORDER BY attnum`,
    );
    assert.deepEqual(
      rows.map(({ name }) => name),
      readingColumns(table),
    );
  }
});

test("writer – a reading reads back as it was published: values, quality, unknown members, times", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const time = new Date(Date.now() - 5000).toISOString();
  await writer.write([
    reading(1, {
      kind: "accel",
      time,
      historical: false,
      values: { channel1_vel_rms: 0.1 + 0.2, channel1_zone: "C", battery: null, new_value: 7 },
      units: { channel1_vel_rms: "mm/s", new_value: "bar" },
      quality: { battery: { quality: "bad", reason: "missing" } },
      attributes: JSON.parse(
        `{"time_data":"${time}","device":"vibration","odd":"2026-01-01T00:00:00+01:00","__proto__":{"a":1}}`,
      ),
      raw: { A: 1 },
      surprise: true,
    }),
  ]);
  const [row] = await postgres.query<{ attributes: object }>(
    url,
    'SELECT "values", units, quality, attributes, raw FROM reading',
  );
  const [, strange] =
    Object.entries(row?.attributes ?? {}).find(([name]) => name === "__proto__") ?? [];
  assert.deepEqual(strange, { a: 1 });
  Reflect.deleteProperty(row?.attributes ?? {}, "__proto__");
  assert.deepEqual(row, {
    values: { channel1_vel_rms: 0.1 + 0.2, channel1_zone: "C", battery: null, new_value: 7 },
    units: { channel1_vel_rms: "mm/s", new_value: "bar" },
    quality: { battery: { quality: "bad", reason: "missing" } },
    attributes: { time_data: time, device: "vibration", odd: "2026-01-01T00:00:00+01:00" },
    raw: { A: 1 },
  });
  const lines = await postgres.query(
    url,
    "SELECT value, number, unit, quality, reason, text FROM measurement ORDER BY value",
  );
  assert.deepEqual(lines, [
    { value: "battery", number: null, unit: null, quality: "bad", reason: "missing", text: null },
    {
      value: "channel1_vel_rms",
      number: 0.1 + 0.2,
      unit: "mm/s",
      quality: "good",
      reason: null,
      text: null,
    },
    { value: "channel1_zone", number: 3, unit: null, quality: "good", reason: null, text: "C" },
    { value: "new_value", number: 7, unit: "bar", quality: "good", reason: null, text: null },
  ]);
  const latest = await postgres.query(
    url,
    "SELECT value, number, unit, quality, reason, text FROM latest ORDER BY value",
  );
  assert.deepEqual(latest, lines);
});

test("writer – what is not steady stays in its reading: the memory of units and attributes is bounded", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const large = (n: number) =>
    Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`value_${n}_${i}`, "mm/s"]));
  await writer.write([1, 2].map((n) => reading(n, { attributes: large(n), units: large(n) })));
  const rows = await postgres.query(url, "SELECT attributes, units FROM reading ORDER BY time");
  assert.deepEqual(
    rows,
    [1, 2].map((n) => ({ attributes: large(n), units: large(n) })),
  );
  const sets = await postgres.query(
    url,
    "SELECT (SELECT count(*) FROM attribute_set) + (SELECT count(*) FROM unit_set) AS sets",
  );
  assert.deepEqual(sets, [{ sets: "0" }]);
});

test("writer – a kind that this version does not know is kept, its values as a measurement", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  await writer.write([reading(1, { kind: "node", values: { rssi: -71, awake: true } })]);
  const rows = await postgres.query(
    url,
    "SELECT kind, value, number, text FROM measurement ORDER BY value",
  );
  assert.deepEqual(rows, [
    { kind: "node", value: "awake", number: 1, text: "true" },
    { kind: "node", value: "rssi", number: -71, text: null },
  ]);
});

test("writer – latest moves only forward in time, and not to readings dated in the future", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
  const one = { sensor: "1" };
  await writer.write([reading(1, { ...one, time: at(-2), values: { rpm: 2 } })]);
  await writer.write([reading(2, { ...one, time: at(-3), values: { rpm: 3 } })]);
  const flags = ["time_in_future"];
  await writer.write([
    reading(3, { ...one, time: at(60), values: { rpm: 4 }, attributes: { flags } }),
  ]);
  // Of a box whose gateway's clock is ahead by days; then it is right again.
  await writer.write([reading(4, { ...one, time: at(3 * 1440), values: { rpm: 5 } })]);
  const latest = () => postgres.query(url, "SELECT number FROM latest");
  assert.deepEqual(await latest(), [{ number: 2 }]);
  await writer.write([reading(5, { ...one, time: at(-1), values: { rpm: 6 } })]);
  assert.deepEqual(await latest(), [{ number: 6 }]);
  assert.equal((await postgres.query(url, "SELECT * FROM reading")).length, 5);
});

test("writer – streams dropped from the cache are looked up again, not counted as too many", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const client = await openConnection(url, "test");
  t.after(() => client.end());
  await migrate(client);
  const stream = (sensor: string) => ({ site: "plant-7", sensor, kind: "rpm" });
  const streams = new StreamNumbers(1);
  const first = await streams.numbersOf(client, ["1", "2"].map(stream));
  const second = await streams.numbersOf(client, ["3", "2", "1"].map(stream));
  assert.deepEqual(second.slice(1).reverse(), first);
  assert.ok(second.every((number) => number !== null));
});

test("copy – the text of an instant is that of Date", () => {
  for (const ms of [0, 1, 999, 59_999, 60_000, 1_763_790_123_045, -1, 253_402_300_799_999])
    assert.equal(instantText(ms), new Date(ms).toISOString());
});

test("writer – a will counts although it was written before `online`; one of an older session does not", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const startMs = Date.now() - 3_600_000;
  const state = (name: string, second: number) =>
    entry(
      "gateside/plant-7/agent/state",
      JSON.stringify({
        state: name,
        time: new Date(startMs + second * 1000),
        version: "0.2.0",
        reason: "x",
      }),
    );
  const shown = async () =>
    (await postgres.query<{ state: string }>(url, "SELECT state FROM box"))[0]?.state;
  await writer.write([state("online", 101), state("offline", 100)]);
  assert.equal(await shown(), "offline");
  await writer.write([state("online", 300), state("offline", 100)]);
  assert.equal(await shown(), "online");
  await writer.write([state("offline", 310), state("online", 300)]);
  assert.equal(await shown(), "offline");
});

test("writer – a state or statistics from the future keep out nothing that arrives later", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const state = (name: string, time: string) =>
    entry("gateside/plant-7/agent/state", JSON.stringify({ state: name, time }));
  const stats = (version: string, time: string) =>
    entry("gateside/plant-7/agent/stats", JSON.stringify({ v: 1, time, version }));
  const years = 5 * 365 * 86_400_000;
  await writer.write([state("online", at(years)), stats("1", at(years))]);
  await writer.write([state("offline", at(0)), stats("2", at(0))]);
  const shown = () => postgres.query(url, "SELECT state, stats->>'version' AS version FROM box");
  assert.deepEqual(await shown(), [{ state: "offline", version: "2" }]);
  // As a collector of 0.2 wrote it.
  const future = "state_time = now() + interval '5 years', stats_time = now() + interval '5 years'";
  await postgres.query(url, `UPDATE box SET state = 'online', ${future}`);
  await writer.write([state("offline", at(0)), stats("3", at(0))]);
  assert.deepEqual(await shown(), [{ state: "offline", version: "3" }]);
});

test("writer – a collector whose clock is ahead, or has been, keeps out no state that arrives later", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const yearMs = 365 * 86_400_000;
  const at = (aheadMs: number, topic: string, body: object | null) => {
    const made = entry(
      `gateside/plant-7/${topic}`,
      body === null ? "" : JSON.stringify({ ...body, time: new Date(Date.now() + aheadMs) }),
    );
    return {
      ...made,
      delivery: { ...made.delivery, receivedMs: made.delivery.receivedMs + aheadMs },
    };
  };
  const states = (aheadMs: number, state: string) =>
    writer.write([
      at(aheadMs, "100/state", { state }),
      at(aheadMs, "agent/state", { state: state === "silent" ? "offline" : state }),
    ]);
  const shown = () =>
    postgres.query(
      url,
      "SELECT s.state, b.state AS box, greatest(s.state_received, b.state_received) <= now() AS past FROM sensor s, box b",
    );
  await states(yearMs, "online");
  assert.deepEqual(await shown(), [{ state: "online", box: "online", past: true }]);
  await states(0, "silent");
  assert.deepEqual(await shown(), [{ state: "silent", box: "offline", past: true }]);
  // As a collector of 0.3 wrote them.
  const future = "state_received = now() + interval '1 year'";
  await postgres.query(url, `UPDATE sensor SET state = 'online', ${future}`);
  await postgres.query(url, `UPDATE box SET state_time = now() + interval '1 year', ${future}`);
  await states(0, "silent");
  assert.deepEqual(await shown(), [{ state: "silent", box: "offline", past: true }]);
  await postgres.query(url, `UPDATE sensor SET ${future}`);
  await writer.write([at(0, "100/state", null)]);
  assert.equal((await shown())[0]?.["state"], "removed");
});

test("writer – cleared messages change what is there and create nothing", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const cleared = (site: string) =>
    ["agent/state", "agent/stats", "100/state", "100/about"].map((topic) =>
      entry(`gateside/${site}/${topic}`, ""),
    );
  const time = new Date().toISOString();
  await writer.write([
    entry("gateside/plant-7/agent/state", JSON.stringify({ state: "online", time })),
    entry("gateside/plant-7/100/state", JSON.stringify({ state: "online", lastReading: time })),
    entry("gateside/plant-7/100/about", JSON.stringify({ v: 1, name: "Pump" })),
  ]);
  await writer.write([...cleared("plant-7"), ...cleared("plant-8")]);
  assert.deepEqual(await postgres.query(url, "SELECT site, state, reason FROM box"), [
    { site: "plant-7", state: null, reason: "cleared" },
  ]);
  assert.deepEqual(await postgres.query(url, "SELECT site, state, name, about FROM sensor"), [
    { site: "plant-7", state: "removed", name: "Pump", about: null },
  ]);
});

test("writer – a name or place that leaves the site file leaves the sensor's row", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const about = (name: string | null, location: object | null) =>
    entry("gateside/plant-7/100/about", JSON.stringify({ v: 1, kinds: ["rpm"], name, location }));
  await writer.write([about("Pump", { machine: 40 })]);
  await writer.write([about(null, null)]);
  assert.deepEqual(await postgres.query(url, "SELECT name, location FROM sensor"), [
    { name: null, location: null },
  ]);
});

test("writer – a reading of kind bands arrives in reading_bands, measurement, latest and measurement_hour", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const values = { channel1_1x: 2.5, channel1_bpfo: null, speed_rpm: 1480 };
  const body = readingPayload(1, {
    kind: "bands",
    values,
    units: { channel1_1x: "mm/s", channel1_bpfo: "GE", speed_rpm: "rpm" },
    quality: { channel1_bpfo: { quality: "bad", reason: "sample_rate_low" } },
    attributes: { record_id: "5f0c", sample_rate: 25_600, samples: 16_384 },
  });
  await writer.write([entry("gateside/plant-7/101/bands/history", body), reading(2)]);
  assert.deepEqual(
    await postgres.query(
      url,
      `SELECT s.sensor, r.speed_rpm, r."values" FROM reading_bands r JOIN stream s USING (stream)`,
    ),
    [{ sensor: "101", speed_rpm: 1480, values }],
  );
  const rows = (columns: string, from: string) =>
    postgres.query(url, `SELECT ${columns} FROM ${from} WHERE kind = 'bands' ORDER BY value`);
  const expected = [
    { value: "channel1_1x", number: 2.5, unit: "mm/s", quality: "good", reason: null },
    {
      value: "channel1_bpfo",
      number: null,
      unit: "GE",
      quality: "bad",
      reason: "sample_rate_low",
    },
    { value: "speed_rpm", number: 1480, unit: "rpm", quality: "good", reason: null },
  ];
  const columns = "value, number, unit, quality, reason";
  assert.deepEqual(await rows(columns, "measurement"), expected);
  assert.deepEqual(await rows(columns, "latest"), expected);
  assert.deepEqual(await rows("value, max", "measurement_hour"), [
    { value: "channel1_1x", max: 2.5 },
    { value: "channel1_bpfo", max: null },
    { value: "speed_rpm", max: 1480 },
  ]);
});

test("writer – rejected messages are kept truncated and in limited number, whatever bytes they contain", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const broken = [
    entry("gateside/plant-7/x\0y", Buffer.from([0, 255, 1])),
    entry(READING_TOPIC, Buffer.alloc(100_000, 65)),
  ];
  await writer.write([entry("gateside/quiet/x", Buffer.from("{"))]);
  // More bytes than an entry of an index may have.
  const long = Array.from({ length: 6_000 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join("");
  await writer.write([entry(`gateside/${long}/x`, Buffer.from("{"))]);
  await postgres.query(url, "DELETE FROM rejected WHERE octet_length(site) BETWEEN 500 AND 512");
  for (let i = 0; i < 60; i++) await writer.write(Array.from({ length: 200 }, () => broken).flat());
  const rows = await postgres.query<{ site: string; count: number; largest: number }>(
    url,
    "SELECT site, count(*)::integer AS count, max(length(payload)) AS largest FROM rejected GROUP BY site ORDER BY site",
  );
  assert.deepEqual(rows, [
    { site: "plant-7", count: 1000, largest: 4096 },
    { site: "quiet", count: 1, largest: 1 },
  ]);
  await postgres.query(
    url,
    "INSERT INTO rejected (received, topic, reason, bytes, payload, site) SELECT now(), '', 'x', 0, '', 's' || n FROM generate_series(1, 60000) n",
  );
  await writer.write([entry("gateside/quiet/x", Buffer.from("{"))]);
  assert.deepEqual(await postgres.query(url, "SELECT count(*)::integer AS count FROM rejected"), [
    { count: 50_000 },
  ]);
});

test("writer – the role gateside_writer suffices, and gateside_reader sees the views", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const owner = await openConnection(url, "test");
  await migrate(owner);
  await owner.query(
    "CREATE ROLE w LOGIN IN ROLE gateside_writer; CREATE ROLE r LOGIN IN ROLE gateside_reader",
  );
  await owner.end();
  const as = (role: string) => url.replace("postgres@", `${role}@`);
  const writer = new Writer(as("w"));
  t.after(() => writer.close());
  const gap = entry(
    "gateside/plant-7/agent/gap",
    JSON.stringify({ v: 1, site: "plant-7", reason: "space", count: 3 }),
  );
  await writer.write([reading(1), gap, gap, entry("gateside/plant-7/1/rpm", "x")]);
  await writer.maintain(({ client }) => raiseHorizon(client, Date.now(), 400));
  for (const view of ["measurement", "latest", "reading", "gap", "box", "sensor", "rejected"])
    assert.ok((await postgres.query(as("r"), `SELECT * FROM ${view}`)).length > 0, view);
  await assert.rejects(postgres.query(as("r"), "DELETE FROM rejected"), /permission denied/);
});

test("writer – readings without units get those of their sensor's description, stored before or in the same batch; none while it has none", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const bare = (n: number) =>
    reading(n, { sensor: "1", values: { rpm: n, other: 1 }, units: undefined });
  const about = (rpm: string) =>
    entry(
      "gateside/plant-7/1/about",
      JSON.stringify({
        v: 1,
        sensor: "1",
        units: { rpm: { rpm, battery: "V" }, loop: { other: "bar" } },
      }),
    );
  await writer.write([bare(1)]);
  await writer.write([bare(2), about("rpm")]);
  await writer.write([bare(3)]);
  await writer.write([about("Hz"), bare(4)]);
  await writer.write([reading(5, { sensor: "1", units: { rpm: "own" } })]);
  assert.deepEqual(
    await postgres.query(
      url,
      "SELECT number, unit FROM measurement WHERE value = 'rpm' ORDER BY time",
    ),
    [1, 2, 3, 4]
      .map((number, i) => ({ number, unit: [null, "rpm", "rpm", "Hz"][i] }))
      .concat(await postgres.query(url, "SELECT number, unit FROM measurement WHERE unit = 'own'")),
  );
  const units = await postgres.query(
    url,
    "SELECT DISTINCT unit FROM measurement WHERE value = 'other'",
  );
  assert.deepEqual(units, [{ unit: null }]);
});
