import assert from "node:assert/strict";
import { test } from "node:test";
import {
  databaseAddress,
  publicDatabase,
  withSchema,
} from "../../../src/core/addresses/database-url.ts";

test("database address – several hosts are one address each, with everything else of the address", () => {
  const text =
    "postgres://us%40er:p,w@x@h1:5433,[::1],h3/db?sslmode=require&target_session_attrs=read-write";
  const rest = "/db?sslmode=require";
  assert.deepEqual(databaseAddress(text), {
    hosts: ["h1:5433", "[::1]", "h3"].map((host) => `postgres://us%40er:p,w@x@${host}${rest}`),
    isPrimary: true,
    schema: null,
  });
  assert.equal(publicDatabase(text), "postgres://h1:5433,[::1],h3/db");
});

test("database address – hosts and ports may stand in the options, as libpq reads them", () => {
  const hosts = ["h1&port=1", "h2&port=2"].map((one) => `postgresql:///db?host=${one}`);
  assert.deepEqual(databaseAddress("postgresql:///db?host=h1,h2&port=1,2"), {
    hosts,
    isPrimary: false,
    schema: null,
  });
});

test("database address – one host stays as it is written", () => {
  for (const text of ["postgres://h", "postgres://u@h:5/db", "postgresql:///db"])
    assert.deepEqual(databaseAddress(text), { hosts: [text], isPrimary: false, schema: null });
});

test("database address – the schema goes with it, and to no server", () => {
  const text = withSchema("postgres://h/db?sslmode=require", "plants");
  assert.deepEqual(databaseAddress(text), {
    hosts: ["postgres://h/db?sslmode=require"],
    isPrimary: false,
    schema: "plants",
  });
});

test("database address – what is none, or asks for a standby, is refused", () => {
  for (const text of [
    "mysql://h/db",
    "h1,h2",
    "postgres://h1,,h2/db",
    "postgres://h1:x,h2/db",
    "postgres://h/db?target_session_attrs=standby",
  ])
    assert.equal(databaseAddress(text), null, text);
  assert.equal(publicDatabase("secret"), "postgres://…");
});
