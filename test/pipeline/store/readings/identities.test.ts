/** The memory of readings that retention removed: how many it holds, and what becomes of those it gives up. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import type { Tx } from "../../../../src/core/tx.ts";
import { Database } from "../../../../src/pipeline/store/database/database.ts";
import { Meta } from "../../../../src/pipeline/store/database/meta.ts";
import { transact } from "../../../../src/pipeline/store/database/transact.ts";
import { Identities } from "../../../../src/pipeline/store/readings/identities.ts";
import { NewestTimes } from "../../../../src/pipeline/store/readings/newest-times.ts";
import { hashOf } from "../../../../src/pipeline/store/readings/stored-reading.ts";
import { shareBuffer } from "../../../../src/pipeline/store/space/buffer-limits.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import {
  append,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
} from "../../../support/temp-database.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const STREAMS = 20;

/** Ids that look like hashes. */
function idOf(stream: number, n: number): string {
  const a = Math.imul(stream * 65_537 + n + 1, 2_654_435_761) >>> 0;
  const b = Math.imul(a ^ 0x9e37_79b9, 2_246_822_519) >>> 0;
  return `${a.toString(16).padStart(8, "0")}${b.toString(16).padStart(8, "0")}`.padEnd(32, "0");
}

function openIdentities(db: Database): Identities {
  // Its writes in their own transaction belong to the store; here there are none.
  const identities = new Identities(db, new Meta(db, undefined as never), new NewestTimes(db));
  identities.load();
  return identities;
}

test("identities – a buffer of 8 MB remembers 130,000 removed readings, also across restarts", async (t) => {
  const dataDir = tempDirectory(t);
  await openStore(storeOptions(dataDir)).close();
  const db = new Database({ dataDir, nativeBinding: undefined, checkpointBytes: 2 << 20 });
  db.open();
  t.after(() => db.close());
  const identities = openIdentities(db);
  const each = (see: (stream: number, timeMs: number, id: string) => void) => {
    for (let n = 0; n < 6500; n++) {
      for (let stream = 1; stream <= STREAMS; stream++)
        see(stream, START_MS + n * MINUTE_MS, idOf(stream, n));
    }
  };
  transact(db, (tx) =>
    each((stream, timeMs, id) => identities.forget(tx, stream, timeMs, hashOf(id))),
  );
  const { forgottenBytes } = shareBuffer(8 << 20);
  assert.ok(identities.bytes <= forgottenBytes, `${identities.bytes} of ${forgottenBytes} bytes`);
  const again = openIdentities(db);
  assert.equal(again.bytes, identities.bytes);
  let unknown = 0;
  let mistaken = 0;
  each((stream, timeMs, id) => {
    if (!again.has(stream, timeMs, id, hashOf(id))) unknown += 1;
    const other = idOf(stream + 500, timeMs % 10_007);
    if (again.has(stream, timeMs, other, hashOf(other))) mistaken += 1;
  });
  assert.equal(unknown, 0);
  assert.equal(mistaken, 0);

  // Its oldest hour goes: of these sensors nothing that old is taken any more.
  transact(db, (tx) => again.shrink(tx));
  const late = idOf(900, 1);
  const restarted = openIdentities(db);
  assert.equal(restarted.bytes, again.bytes);
  assert.ok(again.bytes < identities.bytes);
  for (const one of [again, restarted]) {
    assert.equal(one.has(1, START_MS + HOUR_MS - 1, late, hashOf(late)), true);
    assert.equal(one.has(1, START_MS + HOUR_MS, late, hashOf(late)), false);
    assert.equal(one.has(STREAMS + 1, START_MS, late, hashOf(late)), false);
  }
});

test("identities – identities that 0.1 stored one per row are known, and other content of the same time is not", async (t) => {
  const options = storeOptions(tempDirectory(t));
  await openStore(options).close();
  const reading = readingOf("1", START_MS);
  const db = new Sqlite(join(options.dataDir, "gateside.db"));
  db.exec("INSERT INTO streams (stream, sensor, kind) VALUES (1, '1', 'rpm')");
  db.prepare("INSERT INTO forgotten VALUES (?, 1, ?, ?)").run(
    Math.trunc(START_MS / HOUR_MS),
    START_MS,
    hashOf(reading.id),
  );
  db.close();
  const store = openStore(options);
  t.after(() => store.close());
  assert.equal(await append(store, [reading]), 0);
  assert.equal(await append(store, [readingOf("1", START_MS, { salt: "other" })]), 1);
});

test("identities – what a rolled-back transaction forgot does not count, and raises no horizon", (t) => {
  const db = new Database({ dataDir: tempDirectory(t), checkpointBytes: 2 << 20 });
  db.open();
  t.after(() => db.close());
  const identities = openIdentities(db);
  const forget = (tx: Tx, from: number) => {
    for (let n = from; n < from + 100; n++)
      identities.forget(tx, 1, START_MS + n * MINUTE_MS, hashOf(idOf(1, n)));
  };
  transact(db, (tx) => forget(tx, 0));
  const { bytes } = identities;
  const undo = (write: (tx: Tx) => void) => {
    const failing = (tx: Tx) => {
      write(tx);
      assert.notEqual(identities.bytes, bytes);
      throw new Error("no space");
    };
    assert.throws(() => transact(db, failing), /no space/);
  };
  undo((tx) => forget(tx, 100));
  assert.equal(identities.bytes, bytes);
  undo((tx) => identities.shrink(tx));
  assert.equal(identities.bytes, bytes);
  const unknown = idOf(1, 999);
  assert.equal(identities.has(1, START_MS + 1, unknown, hashOf(unknown)), false);
  identities.load();
  assert.equal(identities.bytes, bytes);
});
