import assert from "node:assert/strict";
import { test } from "node:test";
import {
  publishAll,
  readingPayload,
  readUntil,
  skipWithoutBuild,
  startCollect,
} from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { MALFORMED, ODD } from "../support/malformed.ts";
import { skipWithoutMosquitto, startMosquitto } from "../support/mosquitto.ts";
import { openPostgres, skipWithoutPostgres } from "../support/postgres.ts";
import { openRabbitmq, skipWithoutRabbitmq } from "../support/rabbitmq.ts";

const skip = skipWithoutBuild || skipWithoutPostgres;

/** Every malformed message, twice, among readings; then one more reading, and a clean stop. */
async function check(
  t: { after(end: () => unknown): void },
  from: string,
  mqttUrl: string,
): Promise<void> {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("malformed");
  const collect = startCollect(from, url);
  t.after(() => void collect.child.kill("SIGKILL"));
  await collect.logged("connected");
  const good = (n: number) => ({
    topic: "plant-7/100/rpm/history",
    payload: readingPayload(n),
  });
  const messages = [...MALFORMED, ...ODD, ...MALFORMED].flatMap((one, n) => [one, good(n)]);
  const below = messages.map(({ topic, payload }) => ({ topic: `gateside/${topic}`, payload }));
  await publishAll(mqttUrl, below);
  const readings = MALFORMED.length * 2 + ODD.length * 2;
  const count = async (sql: string) =>
    (await postgres.query<{ count: number }>(url, `SELECT count(*)::int AS count FROM ${sql}`))[0]
      ?.count ?? 0;
  await readUntil(
    () => count("reading"),
    (n) => n === readings,
  );
  const wanted = MALFORMED.filter(({ reason }) => reason !== null);
  await readUntil(
    () => count("rejected"),
    (n) => n === wanted.length * 2,
  );
  const rows = await postgres.query<{ reason: string; payload: Buffer; detail: string }>(
    url,
    "SELECT reason, payload, detail FROM rejected",
  );
  for (const { payload, reason } of wanted) {
    const start = Buffer.from(payload).subarray(0, 4096);
    const found = rows.filter((row) => row.payload.equals(start)).map((row) => row.reason);
    assert.ok(
      found.includes(reason ?? ""),
      `${start.subarray(0, 300).toString()}: ${found.join()}`,
    );
  }
  assert.deepEqual(
    rows.filter(({ reason }) => ["refused_by_database", "internal_error"].includes(reason)),
    [],
  );
  assert.equal((await count("waveform")) + (await count("alarm_event")) + (await count("gap")), 0);
  assert.deepEqual(
    collect.lines.filter(({ level }) => level === "error" || Number(level) >= 50),
    [],
  );
  assert.equal(await collect.end(), 0);
}

test("malformed – over MQTT, no message of any shape stops or delays the others", {
  skip: skip || skipWithoutMosquitto,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const broker = await startMosquitto({ receiveMaximum: 1000 });
  t.after(() => broker.close());
  await check(t, broker.url, broker.url);
});

test("malformed – over AMQP, no message of any shape stops or delays the others", {
  skip: skip || skipWithoutRabbitmq,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const rabbit = await openRabbitmq();
  t.after(() => rabbit.close());
  await check(t, rabbit.amqpUrl, rabbit.mqttUrl);
});
