import assert from "node:assert/strict";
import { type AddressInfo, connect, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { collect } from "../../src/collect/collect.ts";
import { openConnection } from "../../src/collect/database/connection.ts";
import { failureKind, sqlState } from "../../src/collect/database/failure.ts";
import { migrate } from "../../src/collect/database/migrate.ts";
import { PoolerFailure } from "../../src/collect/database/pooler.ts";
import { Writer } from "../../src/collect/database/writer.ts";
import { SessionSlots } from "../../src/collect/mqtt/session-slots.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { entry, READING_TOPIC, readingPayload, readUntil } from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import {
  openPostgres,
  type Postgres,
  type PostgresOptions,
  skipWithoutPostgres,
} from "../support/postgres.ts";
import {
  haproxyFor,
  pgbouncerFor,
  skipWithoutHaproxy,
  skipWithoutPgbouncer,
} from "../support/proxies.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { waitUntil } from "../support/wait-until.ts";

async function serverFor(t: TestContext, options: PostgresOptions = {}): Promise<Postgres> {
  const server = await openPostgres(options);
  t.after(() => server.close());
  return server;
}

const reading = (n: number) => [entry(READING_TOPIC, readingPayload(n))];
const COUNT = "SELECT count(*)::integer AS count FROM reading";
const BACKENDS = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'gateside%'";

test("cluster – of several hosts the primary is written to, and after a fail-over the new one", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const one = await serverFor(t);
  const two = await serverFor(t, { standbyOf: one });
  const database = new URL(await one.createDatabase("plant")).pathname;
  const url = `postgres://postgres@127.0.0.1:${two.port},127.0.0.1:${one.port}${database}?target_session_attrs=read-write`;
  const logger = new RecordingLogger();
  const writer = new Writer(url, logger);
  t.after(() => writer.close());
  // The standby first lacks the database, then is in recovery.
  const standby = `postgres://postgres@127.0.0.1:${two.port}${database}`;
  await readUntil(
    () => two.query(standby, "SELECT 1").catch(() => []),
    ({ length }) => length === 1,
  );
  await writer.write(reading(1));
  assert.match(logger.text, /this is a standby; trying the next/);
  await readUntil(
    () => two.query(standby, COUNT).catch(() => []),
    ([row]) => row?.["count"] === 1,
  );
  one.crash();
  two.promote();
  await assert.rejects(writer.write(reading(2)), (error) => failureKind(error) === "later");
  assert.notEqual(writer.problem, null);
  await writer.write(reading(2));
  assert.equal(writer.problem, null);
  assert.deepEqual(await two.query(standby, COUNT), [{ count: 2 }]);
});

test("cluster – a balancer that knows nothing of roles keeps nobody at a standby", {
  skip: skipWithoutPostgres || skipWithoutHaproxy,
}, async (t) => {
  const one = await serverFor(t);
  const url = await one.createDatabase("plant");
  const two = await serverFor(t, { standbyOf: one });
  const port = await haproxyFor(t, [two.port, one.port]);
  const balanced = url.replace(String(one.port), String(port));
  const writer = new Writer(balanced);
  const slots = new SessionSlots(balanced, "source", "group");
  t.after(() => Promise.all([writer.close(), slots.close()]));
  let refused = 0;
  const repeat = async (work: () => Promise<unknown>) => {
    for (;;)
      try {
        return await work();
      } catch (error) {
        assert.match(String(error), /this is a standby; trying the next/);
        refused += 1;
      }
  };
  await repeat(() => writer.write(reading(1)));
  await repeat(() => slots.acquire(null));
  assert.ok(refused > 0);
  assert.deepEqual(await one.query(url, COUNT), [{ count: 1 }]);
});

test("cluster – a primary that becomes read-only is retried over a new connection, and shown", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const server = await serverFor(t);
  const url = await server.createDatabase("plant");
  const writer = new Writer(url);
  t.after(() => writer.close());
  await writer.write(reading(1));
  const set = async (value: string) => {
    await server.query(url, `ALTER SYSTEM SET default_transaction_read_only = ${value}`);
    await server.query(url, "SELECT pg_reload_conf()");
    // The setting reaches the writer's process a moment later.
    await readUntil(
      () =>
        writer
          .maintain(({ client }) => client.query("SHOW default_transaction_read_only"))
          .then(({ rows }) => rows as Record<string, unknown>[])
          .catch(() => [{ default_transaction_read_only: "on" }]),
      ([row]) => row?.["default_transaction_read_only"] === value,
    );
  };
  await set("on");
  const refused = await writer.write(reading(2)).catch((error: unknown) => error);
  assert.equal(sqlState(refused), "25006");
  assert.equal(failureKind(refused), "later");
  assert.match(String(writer.problem), /read-only/);
  await assert.rejects(writer.write(reading(2)), /accepts no writes/);
  const admin = await openConnection(url, "test", { isReading: true });
  await admin.query("SET default_transaction_read_only = off");
  await admin.query("ALTER SYSTEM RESET default_transaction_read_only");
  await admin.query("SELECT pg_reload_conf()");
  await admin.end();
  await readUntil(
    () =>
      writer.write(reading(2)).then(
        () => true,
        () => false,
      ),
    (isWritten) => isWritten,
  );
  assert.equal(writer.problem, null);
});

test("cluster – while a synchronous standby is away one connection waits, one looks, and the log says what for", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const server = await serverFor(t);
  const url = await server.createDatabase("plant");
  const logger = new RecordingLogger();
  const writer = new Writer(url, logger, {
    lookMs: deadlineMs(200),
    silenceMs: deadlineMs(1000),
    remindMs: 0,
  });
  t.after(() => writer.close());
  await writer.write(reading(1));
  const admin = await openConnection(url, "test");
  t.after(() => admin.end());
  const synchronous = async (names: string) => {
    await admin.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
    await admin.query("SELECT pg_reload_conf()");
  };
  await synchronous("away");
  await readUntil(
    () => admin.query("SHOW synchronous_standby_names"),
    ({ rows }) => rows[0].synchronous_standby_names === "away",
  );
  // Only the commit waits: reading 2 is of a known stream, in a known week.
  const writing = writer.write([entry(READING_TOPIC, readingPayload(6))]);
  const waits = () =>
    logger.lines.filter((line) => /a synchronous standby to confirm/.test(JSON.stringify(line)));
  await waitUntil(
    () => logger.text,
    () => waits().length >= 8,
  );
  assert.match(String(writer.problem), /^waits for a synchronous standby/);
  assert.equal((await admin.query(BACKENDS)).rows.length, 2);
  await synchronous("");
  assert.equal((await writing).readings, 1);
  assert.equal(writer.problem, null);
});

test("cluster – a start does not wait for a synchronous standby that is away", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const server = await serverFor(t, { config: ["synchronous_standby_names = 'away'"] });
  const url = `postgres://postgres@127.0.0.1:${server.port}/postgres`;
  const writer = new Writer(url);
  t.after(() => writer.close());
  await writer.open();
  assert.equal(writer.problem, null);
});

test("cluster – a migration lock that somebody else holds is tried and named, and not needed for a schema that is up to date", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const server = await serverFor(t);
  const url = await server.createDatabase("plant");
  const holder = await openConnection(url, "leaked");
  const client = await openConnection(url, "test");
  t.after(() => Promise.all([holder.end(), client.end()]));
  await holder.query("SELECT pg_advisory_lock(hashtext('gateside'), hashtext('migrate'))");
  await assert.rejects(migrate(client, 0), (error) => {
    assert.match(String(error), /the migration lock is held by leaked \(process \d+\); waiting/);
    return failureKind(error) === "later";
  });
  await holder.query("SELECT pg_advisory_unlock(hashtext('gateside'), hashtext('migrate'))");
  assert.ok((await migrate(client)) > 0);
  await holder.query("SELECT pg_advisory_lock(hashtext('gateside'), hashtext('migrate'))");
  assert.equal(await migrate(client, 0), 0);
});

for (const mode of ["session", "transaction", "statement"] as const)
  test(`cluster – PgBouncer in ${mode} mode ${mode === "session" ? "works" : "is refused with the reason"}`, {
    skip: skipWithoutPostgres || skipWithoutPgbouncer,
  }, async (t) => {
    const server = await serverFor(t);
    const url = await server.createDatabase("plant");
    const port = await pgbouncerFor(t, server.port, mode);
    const pooled = url.replace(String(server.port), String(port));
    const writer = new Writer(pooled);
    t.after(() => writer.close());
    if (mode === "session") {
      await writer.write(reading(1));
      assert.deepEqual(await server.query(url, COUNT), [{ count: 1 }]);
      return;
    }
    await assert.rejects(writer.write(reading(1)), PoolerFailure);
    await assert.rejects(
      writer.open(),
      /^Error: PgBouncer in transaction mode cannot be used: collectors need/,
    );
    const logger = new RecordingLogger();
    const options = { to: pooled, migrateOnly: true } as Parameters<typeof collect>[0];
    const parts = { clock: systemClock, logger, version: "0" };
    assert.equal(await collect(options, parts, new AbortController().signal), 2);
    assert.equal(logger.lines.at(-1)?.level, "error");
  });

test("cluster – a connection that is lost between its start and the first statement is opened again", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const server = await serverFor(t);
  const url = await server.createDatabase("plant");
  let cuts = 0;
  const relay = createServer((client) => {
    const inner = connect(server.port, "127.0.0.1");
    for (const socket of [client, inner]) socket.on("error", () => {});
    client.on("data", (chunk: Buffer) => {
      if (cuts === 0 && chunk.includes("gateside_make_partitions")) {
        cuts += 1;
        client.destroy();
        inner.destroy();
      } else inner.write(chunk);
    });
    inner.pipe(client);
    client.on("close", () => inner.destroy());
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  t.after(() => relay.close());
  const { port } = relay.address() as AddressInfo;
  const ending = new AbortController();
  const logger = new RecordingLogger();
  const options = {
    from: ["mqtt://127.0.0.1:1"],
    to: url.replace(String(server.port), String(port)),
    tls: {},
    group: "gateside",
    prefix: "gateside",
    topic: "{prefix}/{site}/#",
    metrics: null,
    keepDays: null,
    keepHoursDays: 3650,
    migrateOnly: false,
  } as unknown as Parameters<typeof collect>[0];
  const ended = collect(options, { clock: systemClock, logger, version: "0" }, ending.signal);
  await waitUntil(
    () => `it does not collect: ${logger.text}`,
    () => /collecting/.test(logger.text),
  );
  ending.abort();
  assert.equal(await ended, 0);
  assert.equal(cuts, 1);
  assert.match(logger.text, /trying again/);
});
