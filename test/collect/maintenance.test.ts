import assert from "node:assert/strict";
import { test } from "node:test";
import { collect } from "../../src/collect/collect.ts";
import { maintain } from "../../src/collect/database/maintenance.ts";
import { Writer } from "../../src/collect/database/writer.ts";
import { createCollectMetrics, serveMetrics } from "../../src/collect/metrics.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { entry, READING_TOPIC, readingPayload, readUntil } from "../support/collecting.ts";
import { openPostgres, skipWithoutPostgres } from "../support/postgres.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

test("maintenance – the log says that the horizon rises for all collectors and from when to when, and to one that keeps more, that it cannot", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("horizon");
  const writer = new Writer(url);
  t.after(() => writer.close());
  await writer.open();
  const logged = async (keepDays: number, text: RegExp) => {
    const logger = new RecordingLogger();
    const ending = new AbortController();
    const parts = { url, writer, clock: systemClock, logger, metrics: createCollectMetrics("g") };
    const ended = maintain(parts, { keepDays, keepHoursDays: 3660 }, ending.signal);
    const [line] = await readUntil(
      async () => logger.lines.filter(({ message }) => text.test(message)),
      (found) => found.length > 0,
    );
    ending.abort();
    await ended;
    return new Map(Object.entries({ level: line?.level, ...line?.fields }));
  };
  const risen = /horizon rises, for all collectors .* and for good/;
  const first = await logged(400, risen);
  assert.equal(first.get("from"), null);
  const second = await logged(60, risen);
  assert.equal(second.get("level"), "warn");
  assert.equal(second.get("from"), first.get("to"));
  const third = await logged(400, /fewer --keep-days has raised the horizon/);
  assert.equal(third.get("horizon"), second.get("to"));
});

test("metrics – a port that another collector uses is told by its setting", async (t) => {
  const metrics = createCollectMetrics("g");
  const health = () => ({ broker: true, database: null });
  const first = await serveMetrics({ host: "127.0.0.1", port: 0 }, metrics, health);
  t.after(() => first.close());
  await assert.rejects(
    serveMetrics({ host: "127.0.0.1", port: first.port }, metrics, health),
    /^Error: COLLECT_METRICS: 127\.0\.0\.1:\d+ is in use .*another collector; set another port/,
  );
});

test("metrics – a collector that waits for the database from its start says so on /healthz", async () => {
  const logger = new RecordingLogger();
  const stop = new AbortController();
  const options = {
    from: ["mqtt://127.0.0.1:1"],
    to: "postgres://127.0.0.1:1/none",
    group: "g",
    prefix: "gateside",
    topic: "{prefix}/{site}/#",
    metrics: { host: "127.0.0.1", port: 0 },
    keepDays: null,
    keepHoursDays: 3650,
    reconnectSpreadS: 5,
    tls: { ca: null, cert: null, key: null },
    migrateOnly: false,
  };
  const ended = collect(options, { clock: systemClock, logger, version: "0" }, stop.signal);
  const health = await readUntil(
    async () => {
      const serving = logger.lines.find(({ message }) => message === "serving metrics");
      if (serving === undefined) return null;
      const response = await fetch(
        `http://127.0.0.1:${new Map(Object.entries(serving.fields)).get("port")}/healthz`,
      );
      return { status: response.status, text: await response.text() };
    },
    (found) => /ECONNREFUSED/.test(found?.text ?? ""),
  );
  stop.abort();
  assert.equal(health?.status, 503);
  assert.equal(await ended, 0);
});

test("metrics – while PostgreSQL takes connections but no batches, its reason stands on /healthz; a refused message is none", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("refusing");
  const writer = new Writer(url);
  t.after(() => writer.close());
  const refuseWith = (code: string, text: string) =>
    postgres.query(
      url,
      `CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
         AS $$ BEGIN RAISE EXCEPTION '${text}' USING ERRCODE = '${code}'; END $$;
       CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON reading_rpm FOR EACH STATEMENT EXECUTE FUNCTION refuse()`,
    );
  let sent = 0;
  const write = () => writer.write([entry(READING_TOPIC, readingPayload(++sent))]);
  await write();
  for (const [code, text] of [
    ["53100", "No space left on device"],
    ["42501", "permission denied"],
  ] as const) {
    await refuseWith(code, text);
    await assert.rejects(write);
    assert.equal(writer.problem, text);
    await writer.maintain(async ({ client }) => client.query("SELECT 1"));
    assert.equal(writer.problem, text, "other work on the connection says nothing about batches");
    await postgres.query(url, "DROP TRIGGER refuse ON reading_rpm");
    await write();
    assert.equal(writer.problem, null);
  }
  await refuseWith("22003", "out of range");
  await assert.rejects(write);
  assert.equal(writer.problem, null);
});
