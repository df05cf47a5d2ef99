import assert from "node:assert/strict";
import { test } from "node:test";
import { Collector } from "../../src/collect/collector.ts";
import type { Entry } from "../../src/collect/database/sorted-batch.ts";
import { Writer, type Written } from "../../src/collect/database/writer.ts";
import type { PendingDelivery } from "../../src/collect/delivery.ts";
import { Inbox } from "../../src/collect/inbox.ts";
import { createCollectMetrics } from "../../src/collect/metrics.ts";
import { DEFAULT_TOPIC, SiteTopics } from "../../src/collect/site-topics.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { READING_TOPIC, readingPayload } from "../support/collecting.ts";
import { openPostgres, skipWithoutPostgres } from "../support/postgres.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { runCommand } from "../support/run-command.ts";

const skip = skipWithoutPostgres;

/** A collector over what `write` does, until it has acknowledged these messages or failed. */
async function collectAll(
  payloads: readonly (string | { readonly retained: string })[],
  write: (entries: readonly Entry[]) => Promise<Written>,
  topic = READING_TOPIC,
  maintain: Writer["maintain"] = () => new Promise(() => {}),
): Promise<RecordingLogger> {
  const inbox = new Inbox();
  const stop = new AbortController();
  let open = payloads.length;
  const deliveryOf = (text: string, isRetained: boolean): PendingDelivery => ({
    topic,
    dots: "kept",
    payload: Buffer.from(text),
    bytes: text.length,
    receivedMs: Date.now(),
    isRetained,
    acknowledge: () => {
      open -= 1;
      if (open === 0) stop.abort();
    },
  });
  for (const one of payloads)
    inbox.push(typeof one === "string" ? deliveryOf(one, false) : deliveryOf(one.retained, true));
  const logger = new RecordingLogger();
  const parts = {
    inbox,
    writer: { write, maintain } as unknown as Writer,
    metrics: createCollectMetrics("test"),
    clock: systemClock,
    logger,
    flush() {},
  };
  const topics = new SiteTopics("gateside", DEFAULT_TOPIC);
  await new Collector(parts, { topics, keepDays: null }).run(stop.signal);
  assert.equal(open, 0);
  return logger;
}

const STATE_TOPIC = "gateside/plant-7/agent/state";

const stateOf = (run: string, second: number) =>
  JSON.stringify({
    state: "online",
    time: new Date(Date.UTC(2026, 10, 28, 0, 0, second)).toISOString(),
    site: "plant-7",
    run,
  });

test("collector – two boxes that publish as one site are logged", async () => {
  const nothing = { readings: 0, duplicates: 0, waveforms: 0, events: 0, gaps: 0, rejections: [] };
  const logged = async (...runs: readonly string[]) => {
    const payloads = runs.map(stateOf);
    return (await collectAll(payloads, () => Promise.resolve(nothing), STATE_TOPIC)).text;
  };
  assert.doesNotMatch(await logged("aaaaaaaa", "bbbbbbbb", "bbbbbbbb"), /two boxes/);
  assert.match(await logged("aaaaaaaa", "bbbbbbbb", "aaaaaaaa"), /two boxes publish as one site/);
});

test("collector – a box that starts again with a clock that is behind is one, beside what the broker retains of its former run", async () => {
  const nothing = { readings: 0, duplicates: 0, waveforms: 0, events: 0, gaps: 0, rejections: [] };
  const [fresh, former] = [stateOf("bbbbbbbb", 0), stateOf("aaaaaaaa", 30)];
  const heard = [{ retained: fresh }, { retained: former }, stateOf("bbbbbbbb", 1)];
  for (const payloads of [heard, [fresh, { retained: former }, stateOf("bbbbbbbb", 1)]]) {
    const { text } = await collectAll(payloads, () => Promise.resolve(nothing), STATE_TOPIC);
    assert.doesNotMatch(text, /two boxes/);
  }
});

test("collector – two boxes that publish as one site need hands in gateside fleet for ten minutes", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("two_boxes");
  const writer = new Writer(url);
  t.after(() => writer.close());
  const isTold = async () => /two boxes/.test((await runCommand(["fleet", "--db", url])).stdout);
  const heard = async (...runs: readonly string[]) => {
    const maintain: Writer["maintain"] = (work) => writer.maintain(work);
    await collectAll(runs.map(stateOf), (entries) => writer.write(entries), STATE_TOPIC, maintain);
    // Work on the database is done in turn.
    await writer.maintain(() => Promise.resolve());
    return isTold();
  };
  assert.equal(await heard("aaaaaaaa", "bbbbbbbb"), false);
  assert.equal(await heard("aaaaaaaa", "bbbbbbbb", "aaaaaaaa"), true);
  await postgres.query(url, "UPDATE box SET runs_time = runs_time - interval '10 minutes'");
  assert.equal(await isTold(), false);
});

/** A database, and how many transactions these messages took. */
async function openDatabase(t: { after(end: () => unknown): void }, name: string) {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase(name);
  const transactions = async (payloads: readonly string[]) => {
    const writer = new Writer(url);
    t.after(() => writer.close());
    let count = 0;
    await collectAll(payloads, (entries) => {
      count += 1;
      return writer.write(entries);
    });
    return count;
  };
  const query = <T extends object>(sql: string) => postgres.query<T>(url, sql);
  return { transactions, query };
}

test("collector – readings that no table can hold cost no transactions: they are found while parsing", {
  skip,
}, async (t) => {
  const { transactions, query } = await openDatabase(t, "poison");
  const clean = await transactions(Array.from({ length: 6000 }, (_, n) => readingPayload(n)));
  const poisoned = await transactions(
    Array.from({ length: 6000 }, (_, n) =>
      n % 20 === 7
        ? readingPayload(10_000 + n, { values: { rpm: "1480\0" } })
        : readingPayload(10_000 + n),
    ),
  );
  assert.equal(poisoned, clean);
  assert.deepEqual(await query("SELECT reason, count(*)::int FROM rejected GROUP BY reason"), [
    { reason: "wrong_member", count: 300 },
  ]);
  assert.deepEqual(await query("SELECT count(*)::int FROM reading"), [{ count: 11_700 }]);
});

test("collector – a reading that PostgreSQL refuses is set aside by the line that COPY names", {
  skip,
}, async (t) => {
  const { transactions, query } = await openDatabase(t, "refused");
  await transactions([readingPayload(0)]);
  // A limit that no check of ours knows, of COPY's own tables, too.
  await query(
    `CREATE DOMAIN small AS double precision CHECK (VALUE < 9000);
     DO $$ DECLARE name text; BEGIN
       FOR name IN SELECT viewname FROM pg_views WHERE schemaname = 'public' LOOP
         EXECUTE format('DROP VIEW IF EXISTS %I CASCADE', name);
       END LOOP;
     END $$;
     ALTER TABLE reading_rpm ALTER COLUMN rpm TYPE small`,
  );
  const count = await transactions(
    Array.from({ length: 1000 }, (_, n) =>
      readingPayload(n + 1, n % 250 === 3 ? { values: { rpm: 9001 } } : {}),
    ),
  );
  assert.deepEqual(await query("SELECT count(*)::int FROM reading_rpm"), [{ count: 997 }]);
  assert.deepEqual(await query("SELECT DISTINCT reason, count(*)::int FROM rejected GROUP BY 1"), [
    { reason: "refused_by_database", count: 4 },
  ]);
  assert.ok(count <= 8 + 5, `${count} transactions`);
});

test("collector – a batch whose statement takes too long is halved before it waits, and a message that does so by itself is set aside", {
  skip,
}, async (t) => {
  const { transactions, query } = await openDatabase(t, "late");
  await transactions([readingPayload(0)]);
  await query(
    `CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF NEW.rpm = 1543 THEN RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = '57014'; END IF;
       RETURN NEW; END $$;
     CREATE TRIGGER late BEFORE INSERT ON reading_rpm FOR EACH ROW EXECUTE FUNCTION late()`,
  );
  const count = await transactions(Array.from({ length: 1000 }, (_, n) => readingPayload(n + 1)));
  assert.deepEqual(await query("SELECT count(*)::int FROM reading_rpm"), [{ count: 1000 }]);
  assert.deepEqual(await query("SELECT reason, count(*)::int FROM rejected GROUP BY 1"), [
    { reason: "statement_timeout", count: 1 },
  ]);
  assert.ok(count <= 2 * 10 + 5, `${count} transactions`);
});

const NOTHING: Written = {
  readings: 0,
  duplicates: 0,
  waveforms: 0,
  events: 0,
  gaps: 0,
  rejections: [],
};

test("collector – its own fault ends it, unless it is known which message brought it about", async () => {
  const fault = (entries: readonly Entry[]): Promise<Written> =>
    entries.some(({ item }) => item.type !== "rejected")
      ? Promise.reject(new TypeError("no such member"))
      : Promise.resolve(NOTHING);
  await assert.rejects(collectAll([readingPayload(1), readingPayload(2)], fault), TypeError);
  const written: string[] = [];
  await collectAll([readingPayload(1)], (entries) => {
    for (const { item } of entries)
      if (item.type === "rejected") written.push(`${item.reason}: ${item.detail}`);
    return fault(entries);
  });
  assert.deepEqual(written, ["internal_error: no such member"]);
});
