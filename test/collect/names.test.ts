import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openConnection } from "../../src/collect/database/connection.ts";
import { migrate } from "../../src/collect/database/migrate.ts";
import { READINGS } from "../../src/collect/database/migrations/001-readings.ts";
import { Writer } from "../../src/collect/database/writer.ts";
import { entry, READING_TOPIC, readingPayload } from "../support/collecting.ts";
import { openPostgres, type Postgres, skipWithoutPostgres } from "../support/postgres.ts";

let postgres: Postgres;
let databases = 0;

before(async () => {
  if (!skipWithoutPostgres) postgres = await openPostgres();
});
after(() => postgres?.close());

const freshDatabase = () => postgres.createDatabase(`names${++databases}`);

test("names – a box and a sensor whose names no topic can carry have one row, whatever comes first", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const time = new Date().toISOString();
  const say = (topic: string, body: unknown) =>
    entry(`gateside/plant_7/${topic}`, JSON.stringify(body));
  const online = say("agent/state", { state: "online", time, version: "0.2.0" });
  const silent = (sensor: string) => say(`${sensor}/state`, { state: "silent", lastReading: time });
  const named = (n: number, site: string, sensor: string, more: object = {}) =>
    entry("gateside/plant_7/x/rpm/history", readingPayload(n, { site, sensor, ...more }));
  const rows = async () => [
    await postgres.query(url, "SELECT site, state FROM box ORDER BY site"),
    await postgres.query(url, "SELECT site, sensor, state FROM sensor ORDER BY site, sensor"),
  ];

  // No reading has come yet: there is only the level to go by.
  await writer.write([online, silent("1_2"), silent("3")]);
  assert.deepEqual((await rows())[0], [{ site: "plant_7", state: "online" }]);
  await writer.write([named(1, "plant/7", "1/2")]);
  const one = [
    [{ site: "plant/7", state: "online" }],
    [
      { site: "plant/7", sensor: "1/2", state: "silent" },
      { site: "plant/7", sensor: "3", state: "silent" },
    ],
  ];
  assert.deepEqual(await rows(), one);
  const offline = say("agent/state", { state: "offline", time, reason: "stopped" });
  await writer.write([offline, say("1_2/state", { state: "online" }), named(2, "plant/7", "3")]);
  assert.deepEqual(await rows(), [
    [{ site: "plant/7", state: "offline" }],
    [
      { site: "plant/7", sensor: "1/2", state: "online" },
      { site: "plant/7", sensor: "3", state: "silent" },
    ],
  ]);

  // A sensor that really is called so keeps its own row.
  await writer.write([named(3, "plant/7", "1_2"), silent("1_2")]);
  assert.deepEqual((await rows())[1]?.slice(0, 2), [
    { site: "plant/7", sensor: "1/2", state: "online" },
    { site: "plant/7", sensor: "1_2", state: "silent" },
  ]);
});

test("names – the step to schema 2 joins the rows that a name and its level had", {
  skip: skipWithoutPostgres,
}, async () => {
  const url = await freshDatabase();
  const client = await openConnection(url, "test");
  await client.query(READINGS);
  await client.query(`CREATE TABLE gateside_schema (number integer PRIMARY KEY, name text NOT NULL, taken timestamptz NOT NULL DEFAULT now());
    INSERT INTO gateside_schema (number, name) VALUES (1, 'readings');
    INSERT INTO box (site, state, received) VALUES ('a/b', NULL, now()), ('a_b', 'online', now()), ('c', 'online', now());
    INSERT INTO sensor (site, sensor, name, state, received) VALUES ('a/b', '1', 'Pump', NULL, now()), ('a_b', '1', NULL, 'silent', now()),
      ('c', '1/2', 'Fan', NULL, now()), ('c', '1_2', NULL, 'online', now())`);
  assert.ok((await migrate(client)) > 0);
  await client.end();
  assert.deepEqual(await postgres.query(url, "SELECT site, state FROM box ORDER BY site"), [
    { site: "a/b", state: "online" },
    { site: "c", state: "online" },
  ]);
  assert.deepEqual(
    await postgres.query(url, "SELECT site, sensor, name, state FROM sensor ORDER BY site"),
    [
      { site: "a/b", sensor: "1", name: "Pump", state: "silent" },
      { site: "c", sensor: "1/2", name: "Fan", state: "online" },
    ],
  );
});

test("names – a sensor's name and location follow its newest reading", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const located = (n: number, location: unknown) =>
    entry(READING_TOPIC, readingPayload(n, { sensor: "100", location }));
  const location = async () =>
    (await postgres.query(url, "SELECT location FROM sensor"))[0]?.["location"];
  for (const [n, place] of [
    { area: 1, machine: 40 },
    { area: 1, machine: 41 },
    { area: 1 },
    { area: 1, more: { deep: 1 } },
    { area: 1, more: { deep: 2 } },
  ].entries()) {
    await writer.write([located(n, place)]);
    assert.deepEqual(await location(), place);
  }
});

test("names – a description of one sensor joins its own rows, and looks at no other of its site", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  t.after(() => writer.close());
  const named = (n: number, sensor: string, name: string) =>
    entry(READING_TOPIC, readingPayload(n, { sensor, name }));
  await writer.write([named(1, "a/1", "One"), named(2, "a/2", "Two")]);
  await postgres.query(
    url,
    "INSERT INTO sensor (site, sensor, state, received) VALUES ('plant-7', 'a_1', 'silent', now()), ('plant-7', 'a_2', 'silent', now())",
  );
  await writer.write([named(11, "a/1", "First")]);
  assert.deepEqual(
    await postgres.query(url, "SELECT sensor, name, state FROM sensor ORDER BY sensor"),
    [
      { sensor: "a/1", name: "First", state: "silent" },
      { sensor: "a/2", name: "Two", state: null },
      { sensor: "a_2", name: null, state: "silent" },
    ],
  );
});
