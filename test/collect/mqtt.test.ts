import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { generate, type IPublishPacket, type Packet, parser } from "mqtt-packet";
import { HOUR_MS } from "../../src/core/time-units.ts";
import {
  publishAll,
  readingPayload,
  readUntil,
  skipWithoutBuild,
  startCollect,
} from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { type Mosquitto, skipWithoutMosquitto, startMosquitto } from "../support/mosquitto.ts";
import { openPostgres, type Postgres, skipWithoutPostgres } from "../support/postgres.ts";

const skip = skipWithoutBuild || skipWithoutPostgres || skipWithoutMosquitto;
let postgres: Postgres;
let broker: Mosquitto;
let databases = 0;

before(async () => {
  if (skip) return;
  postgres = await openPostgres();
  broker = await startMosquitto({ receiveMaximum: 1000 });
});
after(async () => {
  postgres?.close();
  await broker?.close();
});

/** A prefix, a group and its own database for each test: the broker is shared. */
async function open(t: { after(end: () => unknown): void }) {
  const group = `g${++databases}`;
  const prefix = `gateside/${group}`;
  const url = await postgres.createDatabase(`mqtt${databases}`);
  const start = async (from = broker.url) => {
    const collect = startCollect(from, url, ["--group", group, "--prefix", prefix]);
    t.after(() => void collect.child.kill("SIGKILL"));
    await collect.logged("connected");
    return collect;
  };
  const count = async () =>
    (
      await postgres.query<{ count: number }>(url, "SELECT count(*)::integer AS count FROM reading")
    )[0]?.count ?? 0;
  const topic = `${prefix}/plant-7/100/rpm/history`;
  const messages = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => ({ topic, payload: readingPayload(from + i) }));
  return { url, start, count, prefix, topic, messages };
}

// Side by side: most of their time is waiting.
describe("mqtt", { concurrency: true }, () => {
  test("mqtt – two collectors share the messages; after a kill -9 of one, the other takes over its messages", {
    skip,
    timeout: deadlineMs(120_000),
  }, async (t) => {
    const { start, count, url, messages } = await open(t);
    const one = await start();
    const two = await start();
    const ids = [one, two].map(
      ({ lines }) => lines.find((l) => l["msg"] === "connected")?.["clientId"],
    );
    assert.notEqual(ids[0], ids[1]);
    await publishAll(broker.url, messages(0, 1000));
    await readUntil(count, (n) => n === 1000);

    await two.end("SIGKILL");
    // Half of these wait in the session of a process that is gone.
    await publishAll(broker.url, messages(1000, 1400));
    await readUntil(count, (n) => n === 1400, 60_000);
    await one.logged("drained the session of a stopped collector", 60_000);
    const sessions = await postgres.query(url, "SELECT client_id FROM collector_session");
    assert.deepEqual(sessions, [{ client_id: ids[0] }]);
    assert.equal(await one.end(), 0);
  });

  test("mqtt – a process that returns resumes its session, with everything published in the meantime", {
    skip,
    timeout: deadlineMs(60_000),
  }, async (t) => {
    const { start, count, messages } = await open(t);
    assert.equal(await (await start()).end(), 0);
    await publishAll(broker.url, messages(0, 300));
    const again = await start();
    await readUntil(count, (n) => n === 300);
    assert.equal(again.lines.find((l) => l["msg"] === "connected")?.["sessionPresent"], true);
  });

  test("mqtt – one invalid message never blocks the rest, and each is kept with its reason", {
    skip,
    timeout: deadlineMs(60_000),
  }, async (t) => {
    const { start, count, url, messages, prefix, topic: good } = await open(t);
    await start();
    const changed = (members: Record<string, unknown>) => readingPayload(9999, members);
    const broken: [string, string | Buffer, string][] = [
      [good, "{", "not_json"],
      [good, Buffer.from([0, 1, 2, 255]), "not_json"],
      [good, "[1]", "not_an_object"],
      [good, changed({ v: 2 }), "unsupported_version"],
      [good, changed({ site: "plant-8" }), "site_mismatch"],
      [good, changed({ time: "1999-01-01T00:00:00.000Z" }), "time_out_of_range"],
      [good, changed({ time: "2106-02-07T06:28:15.000Z" }), "time_out_of_range"],
      [good, changed({ id: 12 }), "wrong_member"],
      [good, changed({ values: { rpm: { a: 1 } } }), "wrong_member"],
      [good, changed({ attributes: { note: "\0" } }), "wrong_member"],
      [good, Buffer.alloc(8 << 20, 32), "too_large"],
      [`${prefix}/plant-7`, "{}", "foreign_topic"],
    ];
    // Beyond what a collector asks for: the broker drops it, and nothing comes of it.
    const dropped = { topic: good, payload: Buffer.alloc(16 << 20, 32) };
    await publishAll(broker.url, [
      dropped,
      ...broken.flatMap(([topic, payload], n) => [
        { topic, payload },
        ...messages(n * 10, n * 10 + 10),
      ]),
    ]);
    await readUntil(count, (n) => n === broken.length * 10);
    const rows = await readUntil(
      () =>
        postgres.query<{ reason: string; size: number }>(
          url,
          "SELECT reason, length(payload) AS size FROM rejected",
        ),
      (found) => found.length === broken.length,
    );
    assert.deepEqual(
      rows.map(({ reason }) => reason).sort(),
      broken.map(([, , reason]) => reason).sort(),
    );
    assert.ok(rows.every(({ size }) => size <= 4096));
  });

  test("mqtt – states, statistics, gaps, events and waveforms reach their tables; retained ones are read at the start", {
    skip,
    timeout: deadlineMs(60_000),
  }, async (t) => {
    const { start, url, prefix } = await open(t);
    const site = "plant-9";
    const time = new Date().toISOString();
    const at = (topic: string, body: object, retain = false) => ({
      topic: `${prefix}/${site}/${topic}`,
      payload: JSON.stringify(body),
      retain,
    });
    await publishAll(broker.url, [
      at(
        "agent/state",
        {
          state: "online",
          // It started again with a clock that was behind.
          time: new Date(Date.now() - HOUR_MS).toISOString(),
          run: "bbbbbbbb",
          version: "0.2.0",
          reason: "started",
          configuration: "abc",
        },
        true,
      ),
      at(
        "agent/stats",
        { v: 1, time: new Date(Date.now() - HOUR_MS / 2).toISOString(), run: "aaaaaaaa" },
        true,
      ),
      at("77/state", { state: "online", lastReading: time, battery: 3.5 }, true),
    ]);
    await start();
    const event = {
      v: 1,
      id: "e1",
      site,
      sensor: "77",
      kind: "rpm",
      value: "rpm",
      alarm: "fast",
      severity: "warning",
      state: "active",
      time,
      limit: 9,
      measured: 10,
      text: "Too fast",
    };
    const data = Buffer.from(new Float32Array([1, -1, 0.5]).buffer);
    await publishAll(broker.url, [
      at("agent/stats", { v: 1, time, run: "bbbbbbbb", buffer: { depth: 3 } }),
      at("agent/gap", {
        v: 1,
        site,
        sensor: "77",
        kind: "rpm",
        from: time,
        to: time,
        count: 4,
        reason: "space",
      }),
      at("agent/event", event),
      at("agent/event", event),
      at("77/waveform/channel1", {
        v: 1,
        id: "ab".repeat(16),
        site,
        sensor: "77",
        time,
        channel: "channel1",
        axis: "H",
        unit: "G",
        sampleRate: 6400,
        samples: 3,
        recordingReason: "alarm",
        base64: data.toString("base64"),
        channels: {},
      }),
      { topic: `${prefix}/${site}/77/rpm/rpm`, payload: "12.5" },
      { topic: `${prefix}/${site}/77/rpm`, payload: "", retain: true },
    ]);
    const ask = async () => [
      await postgres.query(
        url,
        `SELECT state, version, configuration, stats->'buffer'->>'depth' AS depth, runs FROM box WHERE site = '${site}'`,
      ),
      await postgres.query(url, `SELECT state, battery FROM sensor WHERE site = '${site}'`),
      await postgres.query(url, "SELECT count::integer, reason FROM gap"),
      await postgres.query(url, 'SELECT id, alarm, "limit", measured, text FROM alarm_event'),
      await postgres.query<{ data: Buffer }>(
        url,
        "SELECT samples, sample_rate, data FROM waveform",
      ),
      await postgres.query(url, "SELECT * FROM rejected"),
    ];
    const expected = [
      [{ state: "online", version: "0.2.0", configuration: "abc", depth: "3", runs: null }],
      [{ state: "online", battery: 3.5 }],
      [{ count: 4, reason: "space" }],
      [{ id: "e1", alarm: "fast", limit: 9, measured: 10, text: "Too fast" }],
      [{ samples: 3, sample_rate: 6400, data }],
      [],
    ];
    const found = await readUntil(
      ask,
      (rows) =>
        rows.slice(0, 5).every((r) => r.length > 0) &&
        // One statement after the other is asked: the first may have seen less than the last.
        JSON.stringify(rows[0]).includes("online") &&
        JSON.stringify(rows[0]).includes('"depth":"3"'),
    );
    assert.deepEqual(found, expected);
  });

  test("mqtt – PUBACK is sent after COMMIT and not before: none while a lock blocks the batch", {
    skip,
    timeout: deadlineMs(60_000),
  }, async (t) => {
    const { url, start, topic } = await open(t);
    await postgres.query(url, "SELECT 1");
    const acks: number[] = [];
    const server = createServer((socket) => {
      const read = parser({ protocolVersion: 5 });
      const send = (packet: Packet) => socket.write(generate(packet, { protocolVersion: 5 }));
      read.on("packet", (packet: Packet) => {
        if (packet.cmd === "connect")
          send({ cmd: "connack", reasonCode: 0, sessionPresent: false } as Packet);
        if (packet.cmd === "subscribe") {
          send({
            cmd: "suback",
            messageId: packet.messageId ?? 1,
            granted: packet.subscriptions.map(() => 1),
          } as Packet);
          const isShared = packet.subscriptions[0]?.topic.startsWith("$share/") === true;
          if (isShared)
            for (let n = 1; n <= 3; n++)
              send({
                cmd: "publish",
                messageId: n,
                qos: 1,
                dup: false,
                retain: false,
                topic,
                payload: readingPayload(n),
              } as IPublishPacket);
        }
        if (packet.cmd === "puback") acks.push(packet.messageId ?? 0);
      });
      socket.on("data", (bytes) => void read.parse(bytes));
      socket.on("error", () => {});
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    t.after(() => server.close());
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const migrated = startCollect("mqtt://x", url, ["--migrate-only"]);
    assert.equal(await migrated.end("SIGCONT"), 0);

    const { Client } = await import("pg");
    const lock = new Client({ connectionString: url });
    await lock.connect();
    await lock.query("BEGIN; LOCK TABLE reading_rpm IN SHARE MODE");
    await start(`mqtt://127.0.0.1:${port}`);
    await readUntil(
      () =>
        postgres.query(
          url,
          // Any statement: in the first hour of a week it is the one that makes the partition of the week before.
          "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
        ),
      (rows) => rows.length > 0,
    );
    assert.deepEqual(acks, []);
    await lock.query("COMMIT");
    await lock.end();
    await readUntil(
      async () => acks.length,
      (n) => n === 3,
    );
    assert.deepEqual(acks, [1, 2, 3]);
    assert.equal((await postgres.query(url, "SELECT * FROM reading")).length, 3);
  });
});

// Alone and last: all share one PostgreSQL.
test("mqtt – PostgreSQL crashes while messages arrive: nothing is lost or duplicated", {
  skip,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const { start, count, url, messages } = await open(t);
  const collect = await start();
  const publishing = publishAll(broker.url, messages(0, 2000));
  await readUntil(count, (n) => n > 0);
  postgres.crash();
  await publishing;
  // These find it down for certain; the others may all have been written before.
  await publishAll(broker.url, messages(2000, 3000));
  await collect.logged(
    "PostgreSQL does not accept the batch; nothing is acknowledged until it does",
  );
  postgres.start();
  await readUntil(count, (n) => n === 3000, 60_000);
  const [doubled] = await postgres.query(
    url,
    "SELECT count(*)::integer AS count FROM (SELECT id FROM reading GROUP BY id HAVING count(*) > 1) d",
  );
  assert.deepEqual(doubled, { count: 0 });
  assert.equal(await collect.end(), 0);
});
