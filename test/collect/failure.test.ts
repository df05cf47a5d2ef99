import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Client } from "pg";
import { copyIn, dropConnection, openConnection } from "../../src/collect/database/connection.ts";
import { failureKind, refusedItems, writing } from "../../src/collect/database/failure.ts";
import type { Item } from "../../src/collect/parse/item.ts";
import { openPostgres, type Postgres, skipWithoutPostgres } from "../support/postgres.ts";

const skip = skipWithoutPostgres;
let postgres: Postgres;
let client: Client;

before(async () => {
  if (skip) return;
  postgres = await openPostgres();
  client = await openConnection(await postgres.createDatabase("failure"), "test");
  await client.query(
    `CREATE TABLE week (n integer CHECK (n > 0)) PARTITION BY RANGE (n);
     CREATE TABLE week_1 PARTITION OF week FOR VALUES FROM (-9) TO (9)`,
  );
});
after(() => {
  if (client !== undefined) dropConnection(client);
  postgres?.close();
});

/** What PostgreSQL says, with its sentences as a server of another language writes them. */
async function translated(work: Promise<unknown>): Promise<unknown> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Error);
  const where: unknown = Reflect.get(error, "where");
  if (typeof where === "string") Reflect.set(error, "where", where.replace(", line ", ", Zeile "));
  error.message = "…";
  return error;
}

test("failure – a partition that is gone is told apart from a value that a check refuses, in every language of the server", {
  skip,
}, async () => {
  assert.equal(
    failureKind(await translated(client.query("INSERT INTO week VALUES (100)"))),
    "stale",
  );
  assert.equal(failureKind(await translated(client.query("INSERT INTO week VALUES (-1)"))), "data");
});

test("failure – COPY tells which message is refused, in every language of the server", {
  skip,
}, async () => {
  const items: Item[] = ["a", "b", "c"].map((detail) => ({
    type: "rejected",
    reason: "wrong_member",
    detail,
  }));
  const copying = copyIn(client, "COPY week (n) FROM STDIN", "1\n2\nthree\n");
  const refused = writing(
    items,
    copying.catch(async () => Promise.reject(await translated(copying))),
  );
  const error: unknown = await refused.catch((reason: unknown) => reason);
  assert.deepEqual(refusedItems(error), [items[2]]);
});
