import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Entry } from "../../src/collect/database/sorted-batch.ts";
import { Writer } from "../../src/collect/database/writer.ts";
import { entry, readingPayload } from "../support/collecting.ts";
import { openPostgres, type Postgres, skipWithoutPostgres } from "../support/postgres.ts";

let postgres: Postgres;

before(async () => {
  if (!skipWithoutPostgres) postgres = await openPostgres();
});
after(() => postgres?.close());

/** Each stream has a unit and an attribute of its own. */
function stream(site: string, sensor: number, n: number): Entry {
  const members = {
    site,
    sensor: String(sensor),
    id: `${Buffer.from(site).toString("hex")}${sensor}f${n}`.padStart(32, "0"),
    name: `Name ${site} ${sensor}`,
    units: { rpm: `unit ${site} ${sensor}` },
    attributes: { of: `${site} ${sensor}` },
  };
  return entry(`gateside/${site}/${sensor}/rpm/history`, readingPayload(n, members));
}

const MANY = Array.from({ length: 40 }, (_, sensor) => sensor);
const batch = (site: string, n: number) => MANY.map((sensor) => stream(site, sensor, n));

interface Found {
  readonly id: string;
  readonly text: string;
}

/** What the database says of each id, against what was sent. */
async function compare(url: string, sent: readonly Entry[]): Promise<object> {
  const rows = await postgres.query<Found>(
    url,
    `SELECT id, concat_ws('|', site, sensor, kind, units->>'rpm', attributes->>'of') AS text FROM reading`,
  );
  const named = await postgres.query<Found>(
    url,
    "SELECT concat_ws('|', site, sensor) AS id, name AS text FROM sensor",
  );
  const expected = new Map<string, string>();
  for (const { item } of sent) {
    if (item.type !== "reading") continue;
    const { id, site, sensor, kind, units, attributes } = item;
    expected.set(id, [site, sensor, kind, units["rpm"], attributes["of"]].join("|"));
  }
  const counts = new Map<string, number>();
  for (const { id } of rows) counts.set(id, (counts.get(id) ?? 0) + 1);
  return {
    lost: [...expected.keys()].filter((id) => !counts.has(id)).length,
    doubled: [...counts.values()].filter((count) => count > 1).length,
    wrong: rows.filter(({ id, text }) => expected.get(id) !== text).length,
    misnamed: named.filter(({ id, text }) => text !== `Name ${id.replace("|", " ")}`).length,
    undescribed: [...expected.values()].filter(
      (text) => !named.some(({ id }) => text.startsWith(`${id}|`)),
    ).length,
  };
}

const NOTHING = { lost: 0, doubled: 0, wrong: 0, misnamed: 0, undescribed: 0 };

/** The batch, again after a failure, as the collector does. */
async function write(writer: Writer, entries: readonly Entry[]): Promise<void> {
  await writer.write(entries).catch(() => writer.write(entries));
}

for (const [name, isCut] of [
  ["an open connection", false],
  ["a new connection", true],
] as const)
  test(`restore – after an older dump under running collectors, over ${name}, no reading is under another sensor or unit`, {
    skip: skipWithoutPostgres,
  }, async (t) => {
    const url = await postgres.createDatabase(isCut ? "cut" : "open");
    const [one, two] = [new Writer(url), new Writer(url)];
    t.after(() => Promise.all([one.close(), two.close()]));
    const sent = batch("a", 1);
    await one.write(sent);
    const dump = postgres.dump(url);

    // What is written now is lost with the restore, and its numbers are given to the other collector's streams.
    await one.write(batch("b", 2));
    if (isCut)
      await postgres.query(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
      );
    postgres.restore(url, dump);
    for (const [writer, site, n] of [
      [two, "c", 3],
      [one, "b", 4],
      [two, "a", 5],
      [one, "c", 6],
      [two, "b", 7],
    ] as const) {
      const entries = batch(site, n);
      await write(writer, entries);
      sent.push(...entries);
    }
    await write(one, sent);
    assert.deepEqual(await compare(url, sent), NOTHING);
  });
