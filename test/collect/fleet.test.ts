import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "pg";
import { migrate } from "../../src/collect/database/migrate.ts";
import { Writer } from "../../src/collect/database/writer.ts";
import type { FleetBox } from "../../src/collect/fleet/box.ts";
import { entry, publishAll, readingPayload } from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto, startMosquitto } from "../support/mosquitto.ts";
import { openPostgres, skipWithoutPostgres } from "../support/postgres.ts";
import { runCommand } from "../support/run-command.ts";

const skip = skipWithoutPostgres || skipWithoutMosquitto;

const time = new Date().toISOString();
const stats = (hoursUntilFull: number | null) => ({
  v: 1,
  time,
  version: "0.2.0",
  buffer: { depth: 12, hoursUntilFull, isWritable: true, alarm: null },
  gateway: { isUp: true },
  clock: { isPlausible: true },
});
/** Topic below gateside/, payload. */
const WELL: [string, object][] = [
  [
    "plant-7/agent/state",
    {
      state: "online",
      time,
      version: "0.2.0",
      configuration: "0123456789ab",
      pendingRestart: ["MQTT_URL"],
    },
  ],
  ["plant-7/agent/stats", stats(300)],
  ["plant-7/100/state", { state: "online", lastReading: time, battery: 3.6 }],
  ["plant-7/100/alarm/zone/channel1_vel_rms", { severity: "alarm", state: "active" }],
];
const ILL: [string, object][] = [
  ["plant-8/agent/state", { state: "offline", time, version: "0.1.0", reason: "connection lost" }],
  ["plant-8/agent/stats", stats(3)],
  ["plant-8/5/state", { state: "silent", lastReading: null, battery: null }],
];

test("fleet – from a broker's retained topics: exit code 1 only if a box needs attention, which a machine alarm does not mean", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const broker = await startMosquitto();
  t.after(() => broker.close());
  const retain = (messages: [string, object][]) =>
    publishAll(
      broker.url,
      messages.map(([topic, body]) => ({
        topic: `gateside/${topic}`,
        payload: JSON.stringify(body),
        retain: true,
      })),
    );
  await retain(WELL);
  const well = await runCommand(["fleet", "--from", broker.url]);
  assert.equal(well.code, 0, well.stderr);
  assert.match(
    well.stdout,
    /plant-7 +online +0\.2\.0 +0123456789ab .*12 +300 +0 of 1 +1 \+ 0 +MQTT_URL needs a restart/,
  );
  await retain(ILL);
  const ill = await runCommand(["fleet", "--from", broker.url, "--json"]);
  assert.equal(ill.code, 1);
  const boxes = JSON.parse(ill.stdout) as FleetBox[];
  assert.deepEqual(
    boxes.map(({ site, needsHands }) => [site, needsHands]),
    [
      ["plant-8", ["offline (connection lost)", "buffer full in 3.0 h", "1 silent sensor"]],
      ["plant-7", []],
    ],
  );
  const attention = await runCommand(["fleet", "--from", broker.url, "--attention"]);
  assert.match(attention.stdout, /plant-8 +offline/);
  assert.doesNotMatch(attention.stdout, /plant-7/);
  assert.match(attention.stdout, /^2 boxes, 1 needs attention$/m);
  const elsewhere = await runCommand(["fleet", "--from", broker.url, "--prefix", "gatside"]);
  assert.equal(elsewhere.code, 1);
  assert.match(elsewhere.stderr, /retained nothing of a box below gatside\/: compare --prefix/);
});

test("fleet – from the database: the same boxes, alarms by their newest event", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("fleet");
  const writer = new Writer(url);
  const event = (state: string, second: number, alarm: string) => ({
    v: 1,
    id: `${alarm}${second}`,
    site: "plant-7",
    sensor: "100",
    kind: "accel",
    value: "x",
    alarm,
    severity: "warning",
    state,
    time: new Date(Date.now() - 60_000 + second * 1000).toISOString(),
  });
  // Its readings say the name, its states only the topic.
  const slashed: [string, object][] = [
    ["p_9/1_2/rpm", JSON.parse(readingPayload(2, { site: "p/9", sensor: "1/2" })) as object],
    ["p_9/agent/state", { state: "online", time, version: "0.2.0" }],
    // They were raised before the database existed.
    ["p_9/agent/stats", { ...stats(300), alarms: { warning: 2, alarm: 1 } }],
    ["p_9/1_2/state", { state: "online", lastReading: time, battery: 3.6 }],
  ];
  const events: [string, object][] = [
    event("active", 1, "a"),
    event("cleared", 2, "a"),
    event("active", 1, "b"),
  ].map((body) => ["plant-7/agent/event", body]);
  await writer.write(
    [
      ...WELL,
      ...ILL,
      ...events,
      ...slashed,
      ["plant-7/100/rpm", JSON.parse(readingPayload(1)) as object] as [string, object],
    ].map(([topic, body]) => entry(`gateside/${topic}`, JSON.stringify(body))),
  );
  await writer.close();
  const { code, stdout } = await runCommand(["fleet", "--db", url, "--json"]);
  assert.equal(code, 1);
  const [second, slash, first, ...others] = JSON.parse(stdout) as FleetBox[];
  assert.deepEqual(others, []);
  assert.equal(slash?.site, "p/9");
  assert.equal(slash?.state, "online");
  assert.equal(slash?.sensors, 1);
  assert.deepEqual(slash?.alarms, { warning: 2, alarm: 1 });
  assert.deepEqual(slash?.needsHands, []);
  assert.ok((slash?.newestReadingAgeS ?? 0) > 60);
  assert.deepEqual(first?.alarms, { warning: 1, alarm: 0 });
  assert.deepEqual(first?.needsHands, []);
  assert.equal(first?.configuration, "0123456789ab");
  assert.ok((first?.newestReadingAgeS ?? 0) > 60);
  assert.equal(second?.needsHands.length, 3);
});

test("fleet – from the database, a box that never sent statistics is told as one", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("fleet");
  const writer = new Writer(url);
  const state = { site: "plant-9", state: "online", time, version: "0.3.0" };
  await writer.write([entry("gateside/plant-9/agent/state", JSON.stringify(state))]);
  await writer.close();

  const { code, stdout } = await runCommand(["fleet", "--db", url, "--json"]);

  assert.equal(code, 1);
  const [box] = JSON.parse(stdout) as FleetBox[];
  assert.deepEqual([box?.statsAgeS, box?.needsHands], [null, ["no statistics"]]);
});

test("fleet – boxes that are behind come after those that are offline, whatever their clocks say", {
  skip: skipWithoutPostgres,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("behind");
  const writer = new Writer(url);
  t.after(() => writer.close());
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  const day = 1440;
  let n = 0;
  /** A box with one sensor that says it is online, and its readings so many minutes ago. */
  const box = (
    site: string,
    readingsAgo: readonly number[],
    more: { buffer?: object; time?: string; state?: string } = {},
  ): [string, object][] => [
    [`${site}/agent/state`, { state: more.state ?? "online", time: more.time ?? time }],
    [
      `${site}/agent/stats`,
      { ...stats(300), time: more.time ?? time, buffer: { depth: 0, ...more.buffer } },
    ],
    [`${site}/1/state`, { state: "online", lastReading: time }],
    ...readingsAgo.map((minutes): [string, object] => {
      n += 1;
      const members = { site, sensor: "1", time: ago(minutes) };
      return [`${site}/1/rpm`, JSON.parse(readingPayload(n, members)) as object];
    }),
  ];
  const everyMinute = [70, 69, 68, 67, 66, 65];
  const messages = [
    ...box("a-well", [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
    ...box("b-hourly", [420, 360, 300, 240, 180, 120]),
    ...box("c-future", [1], { time: ago(-3 * day) }),
    ...box("d-stopped", everyMinute),
    ...box("e-unknown", [2 * day + 60]),
    ...box("f-pending", [1], { buffer: { depth: 200_000, oldestAgeS: 5.5 * 86_400 } }),
    ...box("g-horizon", [1], { buffer: { depth: 7, oldestAgeS: 728 * 86_400 } }),
    ...box("h-offline", everyMinute, { state: "offline" }),
  ];
  await writer.write(
    messages.map(([topic, body]) => entry(`gateside/${topic}`, JSON.stringify(body))),
  );
  const read = async (...flags: string[]) =>
    JSON.parse((await runCommand(["fleet", "--db", url, "--json", ...flags])).stdout) as FleetBox[];
  const boxes = await read();
  const refused = new Date(Date.now() - 731 * 86_400_000).toISOString().slice(0, 10);
  assert.deepEqual(
    boxes.map(({ site, needsHands }) => [site, needsHands]),
    [
      ["h-offline", ["offline"]],
      ["d-stopped", ["behind by 65 min"]],
      ["e-unknown", ["behind by 2 days"]],
      ["f-pending", ["behind by 5 days, 200,000 readings"]],
      [
        "g-horizon",
        [
          "behind by 728 days, 7 readings",
          `backlog nears what the database refuses as too old (${refused})`,
        ],
      ],
      ["a-well", []],
      ["b-hourly", []],
      ["c-future", ["clock ahead"]],
    ],
  );
  assert.deepEqual(
    (await read("--attention")).map(({ site }) => site),
    ["h-offline", "d-stopped", "e-unknown", "f-pending", "g-horizon", "c-future"],
  );
  // Its last statistics, dated years ahead, arrived long ago.
  await postgres.query(
    url,
    "UPDATE box SET stats_received = now() - interval '1 hour' WHERE site = 'c-future'",
  );
  const dead = (await read()).find(({ site }) => site === "c-future");
  assert.deepEqual(dead?.needsHands, ["silent for 60 min", "clock ahead"]);
});

test("fleet – a database without our tables is reported with the command that creates them", {
  skip: skipWithoutPostgres,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("empty");
  const fleet = await runCommand(["fleet", "--db", url]);
  assert.equal(fleet.code, 1);
  assert.match(fleet.stderr, /has no Gateside tables.*collect --migrate-only/);
  const owner = new Client({ connectionString: url });
  await owner.connect();
  await migrate(owner);
  await owner.end();
  const unused = await runCommand(["fleet", "--db", url]);
  assert.equal(unused.code, 1);
  assert.match(unused.stderr, /no box has arrived in this database/);
});

test("fleet – without an address, with only AMQP, or with nothing listening, it says so", async () => {
  assert.match((await runCommand(["fleet"])).stderr, /--from or --db is required/);
  assert.match((await runCommand(["fleet", "--from", "amqp://x"])).stderr, /use --db/);
  const { code, stderr } = await runCommand(["fleet", "--db", "postgres://u:secret@127.0.0.1:1/x"]);
  assert.equal(code, 1);
  const refused =
    /nothing accepts connections at that address and port \(ECONNREFUSED\); check that the/;
  assert.match(stderr, refused);
  assert.match(stderr, /127\.0\.0\.1:1/);
  assert.ok(!stderr.includes("secret"));
  const broker = await runCommand(["fleet", "--from", "mqtt://u:secret@127.0.0.1:1"]);
  assert.equal(broker.code, 1);
  assert.match(broker.stderr, refused);
  assert.match(
    broker.stderr,
    /^error: mqtt:\/\/127\.0\.0\.1:1: .*check that the broker is running/,
  );
});
