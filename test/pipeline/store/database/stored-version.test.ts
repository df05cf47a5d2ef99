import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import { checkDisk } from "../../../../src/cli/doctor-machine.ts";
import type { Finding } from "../../../../src/cli/finding.ts";
import {
  newerStore,
  SCHEMA_VERSION,
  storedVersion,
} from "../../../../src/pipeline/store/database/migrate.ts";
import { openStore } from "../../../../src/pipeline/store/sqlite-store.ts";
import { storeOptions, tempDirectory } from "../../../support/temp-database.ts";

test("doctor – a store of a newer version is an error with its remedy, and nothing is written beside it", async (t) => {
  const dataDir = tempDirectory(t);
  const path = join(dataDir, "gateside.db");
  assert.equal(storedVersion(path), null);
  await openStore(storeOptions(dataDir)).close();
  assert.equal(storedVersion(path), SCHEMA_VERSION);
  assert.equal(newerStore(dataDir), null);
  const db = new Sqlite(path);
  db.pragma(`user_version = ${SCHEMA_VERSION + 4}`);
  db.close();
  const before = readdirSync(dataDir);
  const findings: Finding[] = [];
  const settings = { dataDir, bufferMaxMb: 8, diskFreeMinMb: 0 };
  await checkDisk(settings, (finding) => findings.push(finding));
  assert.equal(findings[0]?.state, "failed");
  assert.match(
    findings[0].detail,
    /schema version \d+, but this program supports .*install the newer/,
  );
  assert.deepEqual(readdirSync(dataDir), before);
  writeFileSync(path, "no database");
  assert.equal(storedVersion(path), null);
});
