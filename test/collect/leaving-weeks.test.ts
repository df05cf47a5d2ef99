import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openConnection } from "../../src/collect/database/connection.ts";
import { raiseHorizon, waitForWriters } from "../../src/collect/database/horizon.ts";
import { dropHours } from "../../src/collect/database/hours.ts";
import { removeLeavingWeeks } from "../../src/collect/database/leaving-weeks.ts";
import { Writer } from "../../src/collect/database/writer.ts";
import { entry, READING_TOPIC, readingPayload, readUntil } from "../support/collecting.ts";
import { openPostgres, type Postgres, skipWithoutPostgres } from "../support/postgres.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

let postgres: Postgres;
let databases = 0;

before(async () => {
  if (!skipWithoutPostgres) postgres = await openPostgres();
});
after(() => postgres?.close());

const freshDatabase = () => postgres.createDatabase(`weeks${++databases}`);
const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
const reading = (n: number, days: number) =>
  entry(READING_TOPIC, readingPayload(n, { sensor: "1", time: ago(days) }));
const remove = (url: string) =>
  removeLeavingWeeks(url, new RecordingLogger(), new AbortController().signal);
const keep = (writer: Writer, days: number) =>
  writer.maintain(({ client }) => raiseHorizon(client, Date.now(), days));
const TABLES =
  "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '_\\d{8}$' ORDER BY 1";

test("weeks – those before the horizon are dropped, older readings are rejected, and nothing brings them back", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const [writer, other] = [new Writer(url), new Writer(url)];
  t.after(() => Promise.all([writer.close(), other.close()]));
  await writer.write([reading(1, 300), reading(2, 1)]);
  await other.write([reading(3, 300)]);
  assert.equal((await postgres.query(url, "SELECT * FROM reading")).length, 3);
  await keep(writer, 60);
  assert.equal(await remove(url), 10);
  const tables = await postgres.query(url, TABLES);
  for (const one of [writer, other]) {
    const written = await one.write([reading(4, 300), reading(5, 299)]);
    assert.deepEqual(
      written.rejections.map(({ item }) => item.reason),
      ["time_out_of_range", "time_out_of_range"],
    );
    assert.equal(written.readings, 0);
  }
  assert.deepEqual(await postgres.query(url, TABLES), tables);
  assert.equal((await postgres.query(url, "SELECT * FROM reading")).length, 1);
});

test("weeks – the horizon only rises, and keeps 35 days at least", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const at = await keep(writer, 60);
  assert.equal(await keep(writer, 600), at);
  const least = await keep(writer, 1);
  assert.ok(least > at && least <= Date.now() - 35 * 86_400_000);
  await writer.write([reading(1, 34)]);
  assert.equal((await postgres.query(url, "SELECT * FROM reading")).length, 1);
});

test("weeks – a collector whose clock is years ahead removes nothing by it, and refuses nothing", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const aheadMs = Date.now() + 5 * 365 * 86_400_000;
  const at = await writer.maintain(({ client }) => raiseHorizon(client, aheadMs, 60));
  assert.equal(await keep(writer, 60), at);
  assert.equal(await writer.maintain(({ client }) => dropHours(client, aheadMs, 60)), 0);
  await writer.write([reading(1, 1)]);
  assert.equal((await postgres.query(url, "SELECT * FROM reading")).length, 1);
  assert.ok(Math.abs(writer.skewMs) < 60_000);
});

test("weeks – a reader of an old week holds up nobody who writes, and the week leaves after it", {
  skip: skipWithoutPostgres,
}, async () => {
  const url = await freshDatabase();
  const owner = new Writer(url);
  await owner.write([reading(1, 300), reading(3, 1)]);
  await keep(owner, 60);
  await owner.close();
  await postgres.query(url, "CREATE ROLE collecting LOGIN IN ROLE gateside_writer");
  const reader = await openConnection(url, "reader");
  await reader.query("BEGIN; SELECT count(*) FROM measurement");
  const write = async (as: string) => {
    const writer = new Writer(as);
    for (let n = 0; n < 5; n++) await writer.write([reading(10 + n, 2), reading(20 + n, 300)]);
    await writer.close();
  };
  const collecting = url.replace("postgres@", "collecting@");
  // Waveforms and alarms, which nobody reads.
  assert.equal(await remove(collecting), 2);
  await write(collecting);
  const removing = remove(url);
  // It waits for the reader, without a lock that others would wait for.
  await readUntil(
    () =>
      postgres.query(url, "SELECT wait_event FROM pg_stat_activity WHERE query ~ 'CONCURRENTLY$'"),
    ([row]) => row?.["wait_event"] === "virtualxid",
  );
  await write(url);
  await reader.end();
  assert.equal(await removing, 8);
  const [row] = await postgres.query(
    url,
    "SELECT deadlocks::integer FROM pg_stat_database WHERE datname = current_database()",
  );
  assert.deepEqual(row, { deadlocks: 0 });
});

test("weeks – a collector's role that owns no table removes them, too", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  await writer.write([reading(1, 300)]);
  await keep(writer, 60);
  await postgres.query(url, "CREATE ROLE removing LOGIN IN ROLE gateside_writer");
  assert.equal(await remove(url.replace("postgres@", "removing@")), 10);
});

test("weeks – a detachment that was interrupted is finished", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  await writer.write([reading(1, 300)]);
  await keep(writer, 60);
  const reader = await openConnection(url, "reader");
  t.after(() => reader.end());
  await reader.query("BEGIN; SELECT count(*) FROM measurement");
  const removing = assert.rejects(remove(url));
  await readUntil(
    () =>
      postgres.query(
        url,
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'virtualxid'",
      ),
    ({ length }) => length === 1,
  );
  await removing;
  assert.equal((await postgres.query(url, "SELECT FROM leaving_week WHERE pending")).length, 1);
  await reader.end();
  // One had left before.
  assert.equal(await remove(url), 9);
});

test("weeks – a transaction that saw the old horizon is waited for", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  const [blocker, looker] = [await openConnection(url, "b"), await openConnection(url, "l")];
  t.after(() => Promise.all([writer.close(), blocker.end(), looker.end()]));
  await writer.write([reading(1, 300)]);
  await blocker.query("BEGIN; LOCK TABLE reading_rpm IN EXCLUSIVE MODE");
  const writing = writer.write([reading(2, 300)]);
  const isBlocked = () =>
    postgres.query(
      url,
      "SELECT FROM pg_locks WHERE NOT granted AND relation = 'reading_rpm'::regclass",
    );
  await readUntil(isBlocked, ({ length }) => length === 1);
  await raiseHorizon(looker, Date.now(), 60);
  let hasWaited = false;
  const waiting = waitForWriters(looker).then(() => {
    hasWaited = true;
  });
  await postgres.query(url, "SELECT 1");
  assert.equal(hasWaited, false);
  await blocker.query("COMMIT");
  assert.equal((await writing).readings, 1);
  await waiting;
  assert.equal(await remove(url), 10);
});
