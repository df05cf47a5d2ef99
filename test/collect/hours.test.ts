import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { openConnection } from "../../src/collect/database/connection.ts";
import { raiseHorizon } from "../../src/collect/database/horizon.ts";
import { dropHours, hasDueHours, settleHours } from "../../src/collect/database/hours.ts";
import { removeLeavingWeeks } from "../../src/collect/database/leaving-weeks.ts";
import { migrate } from "../../src/collect/database/migrate.ts";
import { READINGS } from "../../src/collect/database/migrations/001-readings.ts";
import { NAMES } from "../../src/collect/database/migrations/002-names.ts";
import { HORIZON } from "../../src/collect/database/migrations/003-horizon.ts";
import { HOURS } from "../../src/collect/database/migrations/004-hours.ts";
import { FLEET, REJECTED } from "../../src/collect/database/migrations/short-steps.ts";
import type { Entry } from "../../src/collect/database/sorted-batch.ts";
import { Writer } from "../../src/collect/database/writer.ts";
import { entry, readingPayload, readUntil } from "../support/collecting.ts";
import { openPostgres, type Postgres, skipWithoutPostgres } from "../support/postgres.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

let postgres: Postgres;
let databases = 0;

before(async () => {
  if (!skipWithoutPostgres) postgres = await openPostgres();
});
after(() => postgres?.close());

const freshDatabase = () => postgres.createDatabase(`hours${++databases}`);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SIGNAL = new AbortController().signal;
const ZONES = ["A", "B", "C", "D"];

interface Body {
  readonly id: string;
  readonly site: string;
  readonly sensor: string;
  readonly kind: string;
  readonly time: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly units: Readonly<Record<string, string>>;
  readonly quality: Readonly<Record<string, { quality: string; reason: string }>>;
  readonly attributes: Readonly<Record<string, unknown>>;
}

const entryOf = (body: Body): Entry =>
  entry(
    `gateside/${body.site}/${body.sensor}/${body.kind}/history`,
    readingPayload(1, { ...body }),
  );

/** Values by hour or day as plant.md defines them, computed from readings. */
function recompute(bodies: readonly Body[], spanMs: number): Map<string, object> {
  const first = new Map<string, Body>();
  for (const body of bodies) {
    const key = [body.site, body.sensor, body.kind, body.time, body.id].join("|");
    if (!first.has(key)) first.set(key, body);
  }
  const groups = new Map<string, { numbers: number[]; uncertain: number; bad: number }>();
  for (const body of first.values()) {
    if ((body.attributes["flags"] as string[] | undefined)?.includes("time_in_future")) continue;
    const start = new Date(Math.floor(Date.parse(body.time) / spanMs) * spanMs).toISOString();
    for (const [name, value] of Object.entries(body.values)) {
      const quality = body.quality[name]?.quality ?? "good";
      const zone = name.endsWith("_zone") ? ZONES.indexOf(String(value)) + 1 : 0;
      const number = typeof value === "boolean" ? Number(value) : value;
      const level = typeof number === "number" ? number : zone > 0 ? zone : null;
      if (level === null && (value !== null || quality !== "bad")) continue;
      const key = [start, body.site, body.sensor, body.kind, name, body.units[name] ?? ""].join(
        "|",
      );
      let group = groups.get(key);
      if (group === undefined) groups.set(key, (group = { numbers: [], uncertain: 0, bad: 0 }));
      if (quality === "bad") group.bad += 1;
      else if (level !== null) group.numbers.push(level);
      if (quality === "uncertain") group.uncertain += 1;
    }
  }
  const hours = new Map<string, object>();
  for (const [key, { numbers, uncertain, bad }] of groups) {
    const sum = numbers.reduce((total, number) => total + number, 0);
    const mean = numbers.length === 0 || !Number.isFinite(sum) ? null : sum / numbers.length;
    const [min, max] =
      numbers.length === 0 ? [null, null] : [Math.min(...numbers), Math.max(...numbers)];
    hours.set(key, { count: numbers.length, min, mean, max, uncertain, bad });
  }
  return hours;
}

interface Row {
  readonly key: string;
  readonly count: string;
  readonly uncertain: string;
  readonly bad: string;
  readonly min: number | null;
  readonly mean: number | null;
  readonly max: number | null;
}

async function stored(
  url: string,
  view: "measurement_hour" | "measurement_day",
): Promise<Map<string, object>> {
  const rows = await postgres.query<Row>(
    url,
    `SELECT concat_ws('|', to_char(time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), site, sensor, kind, value, coalesce(unit, '')) AS key,
       count, min, mean, max, uncertain, bad FROM ${view}`,
  );
  assert.equal(new Set(rows.map(({ key }) => key)).size, rows.length, "a series has two rows");
  return new Map(
    rows.map(({ key, count, uncertain, bad, min, mean, max }) => [
      key,
      { count: Number(count), min, mean, max, uncertain: Number(uncertain), bad: Number(bad) },
    ]),
  );
}

/** Hours and days are those of these readings, but for the last digits of means. */
async function assertRight(url: string, bodies: readonly Body[]): Promise<void> {
  assertSame(await stored(url, "measurement_hour"), recompute(bodies, HOUR_MS));
  assertSame(await stored(url, "measurement_day"), recompute(bodies, DAY_MS));
}

function assertSame(found: Map<string, object>, expected: Map<string, object>): void {
  const plain = (hours: Map<string, object>) =>
    Object.fromEntries(
      [...hours].sort().map(([key, value]) => {
        const mean = (value as { mean: number | null }).mean;
        return [
          key,
          {
            ...value,
            mean:
              mean === null || Math.abs(mean) < 1e-300 ? mean && 0 : Number(mean.toPrecision(9)),
          },
        ];
      }),
    );
  assert.deepEqual(plain(found), plain(expected));
}

/** The same numbers for the same seed. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const KINDS: Readonly<Record<string, readonly string[]>> = {
  accel: ["channel1_vel_rms", "channel1_zone", "channel2_zone", "extra_zone", "temperature"],
  dryContact: ["input1", "input2", "battery"],
  rpm: ["rpm", "firmware"],
  bands: ["channel1_1x", "channel1_band_hf", "awake"],
};
const NUMBERS = [0, 1, -3.5, 0.1, 1e308, 5e-324, 1234.5678];

function bodyOf(pick: (below: number) => number, baseMs: number): Body {
  const kinds = Object.keys(KINDS);
  const kind = kinds[pick(kinds.length)] ?? "rpm";
  const values: Record<string, unknown> = {};
  const units: Record<string, string> = {};
  const quality: Record<string, { quality: string; reason: string }> = {};
  for (const name of KINDS[kind] ?? []) {
    const kindOfValue = pick(10);
    if (kindOfValue === 0) continue;
    const isZone = name.endsWith("_zone");
    const isContact = name.startsWith("input") || name === "awake";
    if (kindOfValue === 1) values[name] = null;
    else if (name === "firmware") values[name] = "1.02";
    else if (isZone) values[name] = ZONES[pick(5)] ?? "E";
    else values[name] = isContact ? pick(2) === 1 : NUMBERS[pick(NUMBERS.length)];
    if (pick(6) > 0 && !isZone && !isContact) units[name] = pick(5) === 0 ? "other" : "unit";
    const word = ["good", "good", "uncertain", "bad"][pick(4)] ?? "good";
    if (word === "uncertain" && values[name] === null) continue;
    // A reading that is bad has no value; an older box may send one all the same.
    if (word === "bad" && pick(3) > 0) values[name] = null;
    if (word === "bad" && typeof values[name] === "string") continue;
    if (word !== "good") quality[name] = { quality: word, reason: "clipped" };
  }
  const time = new Date(baseMs + pick(3) * 7 * HOUR_MS + pick(3) * 20 * 60_000).toISOString();
  const sensor = String(pick(2));
  const flags = pick(12) === 0 ? { flags: ["time_in_future"] } : {};
  // Few ids, so that some come with two contents.
  const id = createHash("md5")
    .update(`${sensor} ${kind} ${time} ${pick(6)}`)
    .digest("hex");
  return { id, site: `p${pick(2)}`, sensor, kind, time, values, units, quality, attributes: flags };
}

for (const seed of [1, 2])
  test(`hours – right at every commit, in any order, repeated, late and beyond --keep-days (seed ${seed})`, {
    skip: skipWithoutPostgres,
  }, async (t) => {
    const url = await freshDatabase();
    const writers = [new Writer(url), new Writer(url)];
    const client = await openConnection(url, "hours");
    t.after(() => Promise.all([...writers.map((writer) => writer.close()), client.end()]));
    const pick = random(seed);
    const sent: Body[] = [];
    const old = Date.now() - 90 * DAY_MS;
    const recent = Date.now() - 20 * DAY_MS;
    const baseOf = [old, old, recent, Date.now() - 15 * HOUR_MS] as const;
    let first = 0;
    for (let step = 0; step < 16; step++) {
      if (step === 10) {
        await raiseHorizon(client, Date.now(), 60);
        await removeLeavingWeeks(url, new RecordingLogger(), SIGNAL);
        assert.equal((await postgres.query(url, "SELECT FROM leaving_week")).length, 0);
        first = 2;
      }
      const what = pick(5);
      if (what === 0) await settleHours(client, SIGNAL);
      const repeated = what === 1 && first === 0 ? sent.slice(-30) : [];
      const fresh = Array.from({ length: 20 }, () => {
        const base = baseOf[first + pick(baseOf.length - first)] ?? recent;
        return bodyOf(pick, base);
      });
      const batch = [...repeated, ...fresh];
      const [one, two] = writers;
      const half = batch.length >> 1;
      // Two collectors at once; which of two contents came first is known only for one writer, so ids are apart.
      await one?.write(batch.slice(0, half).map(entryOf));
      await two?.write(batch.slice(half).map(entryOf));
      sent.push(...batch);
      await assertRight(url, sent);
    }
    // Too late: rejected, and counted nowhere.
    await writers[0]?.write([entryOf(bodyOf(pick, old))]);
    await settleHours(client, SIGNAL);
    assert.equal(await hasDueHours(client), false);
    await assertRight(url, sent);
  });

const at = (hoursAgo: number, n: number) =>
  new Date((Math.floor(Date.now() / HOUR_MS) - hoursAgo) * HOUR_MS + n * 1000).toISOString();
const rpm = (n: number, hoursAgo: number): Body => ({
  id: String(n).padStart(32, "0"),
  site: "plant-7",
  sensor: "1",
  kind: "rpm",
  time: at(hoursAgo, n),
  values: { rpm: n },
  units: { rpm: "rpm" },
  quality: {},
  attributes: {},
});

test("hours – a reading that is being written while its hour is stored is not forgotten", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  const [client, blocker] = [await openConnection(url, "h"), await openConnection(url, "b")];
  t.after(() => Promise.all([writer.close(), client.end(), blocker.end()]));
  const bodies = [rpm(1, 5), rpm(2, 5), rpm(3, 5)];
  await writer.write(bodies.slice(0, 1).map(entryOf));
  // This one relies on the mark of the first, and does not end before the hour has been taken up.
  const blocked = () =>
    postgres.query(
      url,
      "SELECT FROM pg_locks WHERE NOT granted AND relation = 'rejected'::regclass",
    );
  await blocker.query("BEGIN; LOCK TABLE rejected IN EXCLUSIVE MODE");
  await postgres.query(
    url,
    `CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN LOCK TABLE rejected IN ROW EXCLUSIVE MODE; RETURN NULL; END $$;
     CREATE TRIGGER late AFTER INSERT ON hour_mark FOR EACH STATEMENT EXECUTE FUNCTION late()`,
  );
  const writing = writer.write(bodies.slice(1, 2).map(entryOf));
  await readUntil(blocked, ({ length }) => length === 1);
  const settling = settleHours(client, SIGNAL);
  await readUntil(
    () => postgres.query(url, "SELECT FROM hour_mark WHERE round = 1"),
    ({ length }) => length === 1,
  );
  await assertRight(url, bodies.slice(0, 1));
  await blocker.query("COMMIT");
  await writing;
  assert.equal(await settling, 1);
  await assertRight(url, bodies.slice(0, 2));
  await writer.write(bodies.slice(2).map(entryOf));
  await assertRight(url, bodies);
});

test("hours – whole months leave, and what comes late for one begins it anew", {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const writer = new Writer(url);
  const client = await openConnection(url, "hours");
  t.after(() => Promise.all([writer.close(), client.end()]));
  const bodies = [rpm(1, 24 * 100), rpm(2, 5)];
  await writer.write(bodies.map(entryOf));
  await settleHours(client, SIGNAL);
  await assertRight(url, bodies);
  assert.equal(await dropHours(client, Date.now(), 60), 1);
  await assertRight(url, bodies.slice(1));
  await writer.write(bodies.slice(0, 1).map(entryOf));
  await assertRight(url, bodies);
});

const STEPS = [READINGS, NAMES, HORIZON, HOURS, FLEET, REJECTED];

for (const [name, steps] of [
  ["of 0.2", 2],
  ["with hours and without days", 6],
] as const)
  test(`hours – what a database ${name} holds is counted`, {
    skip: skipWithoutPostgres,
  }, async (t) => {
    const url = await freshDatabase();
    const client = await openConnection(url, "hours");
    t.after(() => client.end());
    await client.query(`CREATE TABLE gateside_schema (number integer PRIMARY KEY, name text NOT NULL, taken timestamptz NOT NULL DEFAULT now());
    ${STEPS.slice(0, steps).join("")}
    INSERT INTO gateside_schema (number, name) SELECT n, 'step' FROM generate_series(1, ${steps}) n;
    INSERT INTO stream (site, sensor, kind) VALUES ('plant-7', '1', 'rpm');
    INSERT INTO unit_set (hash, units) VALUES ('${"0".repeat(32)}', '{"rpm":"rpm"}');
    SELECT gateside_make_partitions('${at(50, 0)}')`);
    const bodies = [rpm(1, 50), rpm(2, 50)];
    for (const { id, time, values } of bodies)
      await client.query(
        "INSERT INTO reading_rpm (time, id, stream, unit_set, historical, rpm) VALUES ($1, $2, 1, 1, false, $3)",
        [time, id, values["rpm"]],
      );
    if (steps > 2)
      await client.query(
        "INSERT INTO hour_mark SELECT date_trunc('hour', time), stream, 1 FROM reading_rpm LIMIT 1; SELECT gateside_settle_hours(1)",
      );
    await migrate(client);
    await assertRight(url, bodies);
    await settleHours(client, SIGNAL);
    await assertRight(url, bodies);
    assert.equal((await client.query("SELECT FROM day_value")).rows.length, 1);
  });
