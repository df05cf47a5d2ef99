/**
 * The migrations in reverse, so that an older package can be installed again. Later steps only added: removing their
 * additions leaves the store as the older program made it, and keeps every reading taken since the upgrade. That needs
 * no disk space.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import type { Kind, PolledKind } from "../../../core/sensor.ts";
import { unfinishedSalvage } from "../recovery/set-aside.ts";
import { DirectoryLock } from "./directory-lock.ts";
import { APPLICATION_ID, requireKnownVersion, SCHEMA_VERSION } from "./migrate.ts";
import { back as wholeTimesBack } from "./migrations/006-whole-times.ts";
import { StoreFailure } from "./store-failure.ts";

/** Of Gateside 0.2: versions before it cannot be restored. */
export const OLDEST_VERSION = 5;
/** The version of the store of the release that brought each kind; programs before it would send its readings as they are. */
const BROUGHT_WITH: Readonly<Record<Exclude<Kind, PolledKind | "node">, number>> = {
  bands: 6,
};

/** Entry n converts a store from version n + 6 to n + 5. */
const BACK: readonly string[] = [
  wholeTimesBack,
  /* sql */ `
DROP TABLE waiting;
`,
  /* sql */ `
ALTER TABLE audit DROP COLUMN person;
DROP TABLE sessions;
`,
  // Hourly values stay: what they count may be stored nowhere else. The next upgrade adds what is stored by then.
  "",
  // Kept measurements stay where they are: the next upgrade finds them.
  "",
];
/** The tables whose rows belong to a stream; `place` holds its number in the lower 20 bits. */
const FILED_SQL = `SELECT m.name, c.name AS column FROM sqlite_master m, pragma_table_info(m.name) c
  WHERE m.type = 'table' AND m.name <> 'streams' AND c.name IN ('stream', 'place')`;

export interface Rollback {
  readonly from: number;
  readonly to: number;
}

/**
 * Converts the stopped agent's store back to schema version `to`, in one transaction. Throws StoreFailure: `in_use`
 * while an agent runs, `missing`, `schema_newer`, `unusable` for a version that cannot be restored.
 */
export function rollBack(dataDir: string, to: number, nativeBinding?: string): Rollback {
  const path = join(dataDir, "gateside.db");
  if (!existsSync(path)) throw new StoreFailure("missing", `${path} does not exist`);
  if (!Number.isInteger(to) || to < OLDEST_VERSION || to > SCHEMA_VERSION) {
    throw new StoreFailure(
      "unusable",
      `there is no schema version ${to}, only ${OLDEST_VERSION} to ${SCHEMA_VERSION}`,
    );
  }
  const lock = DirectoryLock.take(dataDir, nativeBinding);
  try {
    if (unfinishedSalvage(path) !== null) {
      throw new StoreFailure(
        "unusable",
        `${path} is an incomplete copy of a damaged store: start this version once, so that it completes the copy, and try again`,
      );
    }
    const db = new Sqlite(path, nativeBinding === undefined ? {} : { nativeBinding });
    try {
      return stepBack(db, path, to);
    } finally {
      db.close();
    }
  } catch (error) {
    throw StoreFailure.from(error, `cannot roll back ${path}`);
  } finally {
    lock.release();
  }
}

function stepBack(db: Sqlite.Database, path: string, to: number): Rollback {
  if (Number(db.pragma("application_id", { simple: true })) !== APPLICATION_ID) {
    throw new StoreFailure("corrupt", `${path} is not a Gateside store`);
  }
  const from = requireKnownVersion(db, path);
  // A power cut must leave one version or the other.
  db.pragma("synchronous = FULL");
  db.transaction(() => {
    dropKinds(
      db,
      Object.entries(BROUGHT_WITH).flatMap(([kind, version]) => (to < version ? [kind] : [])),
    );
    for (let version = from; version > to; version--) db.exec(stepFrom(version, path));
    if (from > to) db.pragma(`user_version = ${to}`);
  }).immediate();
  return { from, to: Math.min(from, to) };
}

/** Removes what any table holds of these kinds: older programs also assign the numbers of their streams again. */
function dropKinds(db: Sqlite.Database, kinds: readonly string[]): void {
  const names = kinds.map((kind) => `'${kind}'`).join(", ");
  for (const { name, column } of db
    .prepare<[], { name: string; column: string }>(FILED_SQL)
    .all()) {
    const stream = column === "place" ? "place & 1048575" : column;
    db.exec(
      `DELETE FROM ${name} WHERE ${stream} IN (SELECT stream FROM streams WHERE kind IN (${names}))`,
    );
  }
  db.exec(`DELETE FROM streams WHERE kind IN (${names})`);
}

/** The reverse step from `version` to the one before. */
function stepFrom(version: number, path: string): string {
  const step = BACK[version - OLDEST_VERSION - 1];
  if (step === undefined) {
    throw new StoreFailure("unusable", `${path} cannot go back from schema version ${version}`);
  }
  return step;
}
