import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Writer } from "../../src/collect/database/writer.ts";
import { readMachines } from "../../src/collect/fleet/machines.ts";
import { entry } from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { openPostgres, skipWithoutPostgres } from "../support/postgres.ts";

const skip = skipWithoutPostgres;
const MINUTE = 60_000;
const DAY = 86_400_000;

const machine = (site: string, id: number, atMs: number, members: object = {}) =>
  entry(
    `gateside/${site}/machine/${id}`,
    JSON.stringify({
      v: 1,
      site,
      machine: id,
      name: `Pump ${id}`,
      area: "Hall",
      time: new Date(atMs).toISOString(),
      condition: "ok",
      reason: "Runs in zone A.",
      since: null,
      sinceAtLeast: false,
      running: true,
      speedRpm: 1480,
      zone: "A",
      stage: null,
      acknowledged: false,
      alarmCount: { alarm: 0, warning: 0 },
      changed: null,
      activeFindings: [],
      outlook: null,
      ...members,
    }),
  );

async function open(t: { after(act: () => unknown): void }) {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("machines");
  const writer = new Writer(url);
  t.after(() => writer.close());
  return { writer, url, query: <T>(sql: string) => postgres.query(url, sql) as Promise<T[]> };
}

test("collected machines – the newest counts whatever comes when, a row where something differs, a late one takes none back", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const { writer, query } = await open(t);
  const now = Date.now();
  await writer.write([
    machine("plant-7", 40, now - 60 * MINUTE),
    machine("plant-7", 40, now - 50 * MINUTE, { speedRpm: 1490, reason: "Runs faster." }),
    machine("plant-7", 40, now - 30 * MINUTE, { condition: "alarm", zone: "D" }),
  ]);
  // Late, and again.
  const late = machine("plant-7", 40, now - 40 * MINUTE, { condition: "warning", zone: "C" });
  await writer.write([late]);
  await writer.write([late, machine("plant-7", 40, now - 60 * MINUTE)]);
  const changes = await query<{ condition: string }>(
    "SELECT condition FROM machine_change ORDER BY time",
  );
  assert.deepEqual(
    changes.map(({ condition }) => condition),
    ["ok", "warning", "alarm"],
  );
  const newest = "SELECT condition, zone, speed_rpm, gone FROM machine";
  assert.deepEqual(await query(newest), [
    { condition: "alarm", zone: "D", speed_rpm: 1480, gone: false },
  ]);
  await writer.write([entry("gateside/plant-7/machine/40", "")]);
  assert.deepEqual(await query("SELECT gone FROM machine"), [{ gone: true }]);
  assert.deepEqual(await query("SELECT * FROM machine_now"), []);
  await writer.write([machine("plant-7", 40, now)]);
  assert.deepEqual(await query("SELECT gone FROM machine"), [{ gone: false }]);
});

test("collected machines – worst first over all boxes; of an offline box they are unknown, the worst that was known first", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const { writer, url, query } = await open(t);
  const now = Date.now();
  const alarm = { condition: "alarm", alarmCount: { alarm: 1, warning: 0 } };
  await writer.write([
    machine("plant-1", 1, now, { condition: "warning" }),
    machine("plant-1", 2, now, { ...alarm, acknowledged: true }),
    machine("plant-1", 3, now, alarm),
    machine("plant-2", 4, now, { condition: "watch" }),
    machine("plant-2", 5, now, alarm),
    machine("plant-2", 6, now),
    entry(
      "gateside/plant-2/agent/state",
      JSON.stringify({ state: "offline", time: new Date(now).toISOString(), reason: "stopped" }),
    ),
    // Only counted.
    entry("gateside/plant-1/else/where", JSON.stringify({ v: 1, site: "plant-1", shift: 3 })),
  ]);
  const { machines, total, unacknowledged } = await readMachines(url, 4);
  assert.deepEqual(
    machines.map((one) => [one.machine, one.condition, one.last_condition]),
    [
      [3, "alarm", "alarm"],
      [2, "alarm", "alarm"],
      [1, "warning", "warning"],
      [5, "unknown", "alarm"],
    ],
  );
  assert.deepEqual([total, unacknowledged], [6, 1]);
  const unknown = await query<{ machine: string }>(
    "SELECT machine::text FROM machine_now WHERE condition = 'unknown' ORDER BY rank",
  );
  assert.deepEqual(
    unknown.map((row) => row.machine),
    ["5", "4", "6"],
  );
  assert.deepEqual(await query("SELECT count(*)::int FROM rejected"), [{ count: 0 }]);
  await query("UPDATE heard SET time = now() - interval '11 minutes' WHERE site = 'plant-1'");
  assert.deepEqual(
    (await readMachines(url, 9)).machines.map(({ condition }) => condition),
    Array(6).fill("unknown"),
  );
});

test("collected machines – each query of docs/fleet.md runs and finds what it promises", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const { writer, query } = await open(t);
  const now = Date.now();
  const reading = (daysAgo: number) =>
    entry(
      "gateside/plant-7/100/accel/history",
      JSON.stringify({
        v: 1,
        id: String(daysAgo).padStart(32, "0"),
        site: "plant-7",
        sensor: "100",
        kind: "accel",
        time: new Date(now - daysAgo * DAY).toISOString(),
        values: { channel1_vel_rms: 2 + daysAgo },
        units: { channel1_vel_rms: "mm/s" },
      }),
    );
  await writer.write([
    ...[1, 2, 3].map(reading),
    entry(
      "gateside/plant-7/100/about",
      JSON.stringify({
        v: 1,
        site: "plant-7",
        sensor: "100",
        kinds: ["accel"],
        location: { machine: 40 },
      }),
    ),
    machine("plant-7", 40, now - 8 * DAY),
    machine("plant-7", 40, now, { condition: "alarm", reason: "In zone D." }),
    machine("plant-8", 41, now),
  ]);
  await query("UPDATE heard SET time = now() - interval '1 hour' WHERE site = 'plant-8'");
  const page = readFileSync("docs/fleet.md", "utf8");
  const [worst, trend, worse, unheard, ...more] = [...page.matchAll(/```sql\n(.*?)```/gs)].map(
    ([, sql = ""]) => sql,
  );
  assert.deepEqual(more, []);
  const rowsOf = (sql: string | undefined) => query<Record<string, unknown>>(sql ?? "");
  assert.deepEqual(
    (await rowsOf(worst)).map((row) => row["machine"]),
    ["Pump 40", "Pump 41"],
  );
  assert.deepEqual(
    (await rowsOf(trend)).map((row) => row["max"]),
    [5, 4, 3],
  );
  assert.deepEqual(
    (await rowsOf(worse)).map((row) => [row["machine"], row["before"], row["now"]]),
    [["Pump 40", "ok", "alarm"]],
  );
  assert.deepEqual(
    (await rowsOf(unheard)).map((row) => row["site"]),
    ["plant-8"],
  );
});
