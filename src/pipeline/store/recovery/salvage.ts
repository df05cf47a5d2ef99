import Sqlite from "better-sqlite3";
import type { Logger } from "../../../core/ports.ts";
import type { Counting } from "../counting.ts";
import type { Database } from "../database/database.ts";
import { APPLICATION_ID, SCHEMA_VERSION } from "../database/migrate.ts";
import { LANES_OF_RELEASED_SQL } from "../database/migrations/002-lanes.ts";
import { StoreFailure } from "../database/store-failure.ts";
import type { SalvageProgress } from "./salvage-progress.ts";
import { markAll, requeue, type SavedLanes } from "./salvaged-lanes.ts";
import { type SalvagedTable, TABLES } from "./salvaged-tables.ts";

export interface SalvageReport {
  /** Where the damaged file is now. */
  readonly path: string;
  readonly readings: number;
  /** Outbox rows that were recreated because the old ones could not all be read. */
  readonly requeued: number;
  /** Tables of which a part could not be read. */
  readonly incomplete: readonly string[];
}

const ROWS_PER_COMMIT = 1000;
/** Rows of samples are large: a slow card takes a second for this many. */
const ROWS_PER_STEP = 50;
/** More seconds have passed since then than file ids or sequence numbers were ever assigned. */
const EPOCH_MS = Date.UTC(2020, 0, 1);

/**
 * Copies everything readable from a damaged store into the new one. Throws StoreFailure if the new one cannot be
 * written: the copy is then incomplete.
 */
export function salvage(
  db: Database,
  path: string,
  parts: {
    readonly nativeBinding: string | undefined;
    readonly logger: Logger;
    readonly nowMs: number;
    readonly progress: SalvageProgress;
    readonly lanes: SavedLanes;
    readonly counting: Pick<Counting, "mend"> | null;
  },
): SalvageReport {
  const tables = [...TABLES, ...db.featureTables];
  let readings = 0;
  let requeued = 0;
  const whole = new Map<string, boolean>();
  let source: Sqlite.Database | null = null;
  try {
    source = openDamaged(path, parts);
    if (source !== null) {
      for (const table of tables) {
        whole.set(table.name, copyTable(source, db, table, parts.progress));
      }
      // Released stores, and those that lost the page: main's lanes are identified by their numbers.
      db.writer.exec(LANES_OF_RELEASED_SQL);
      removeNameless(db, parts.progress);
      // Delivery first, statistics last: none keeps the others from being done.
      const attempt = (step: () => void) => {
        try {
          step();
        } catch (err) {
          if (isDiskFault(err)) throw err;
          parts.logger.warn({ err, path }, "a step of the repair failed");
        }
      };
      attempt(() => {
        const lanes = parts.lanes.file();
        attempt(() => {
          if (whole.get("outbox") !== true) requeued = requeue(db, lanes, parts);
        });
        if (whole.get("live_marks") === true) return;
        const numbers = lanes.map(({ lane }) => lane);
        markAll(db, numbers, parts.progress);
      });
      attempt(() => {
        const identities = whole.get("readings") === true && whole.get("forgotten") === true;
        parts.counting?.mend({ identities });
      });
      readings = db.writer.prepare<[], { n: number }>(COUNT_SQL).get()?.n ?? 0;
    }
    skipNumbers(db, parts.nowMs);
  } catch (error) {
    if (isDiskFault(error)) throw StoreFailure.from(error, `cannot write ${db.path}`);
    // A damaged text that one step cannot read: the others are as complete as they can be.
    parts.logger.warn({ err: error, path }, "damaged store could not be read");
    skipNumbers(db, parts.nowMs);
  } finally {
    closeQuietly(source);
  }
  const incomplete = tables.map(({ name }) => name).filter((name) => whole.get(name) !== true);
  return { path, readings, requeued, incomplete };
}

/** Null if nothing can be read. Throws if the disk has no room for what opening requires: a -shm. */
function openDamaged(
  path: string,
  parts: { readonly nativeBinding: string | undefined; readonly logger: Logger },
): Sqlite.Database | null {
  let source: Sqlite.Database | null = null;
  try {
    source = new Sqlite(path, {
      fileMustExist: true,
      timeout: 0,
      ...(parts.nativeBinding === undefined ? {} : { nativeBinding: parts.nativeBinding }),
    });
    // SQLite refuses a file that is shorter than its header says, unless its schema may be written; nothing writes it.
    source.unsafeMode(true);
    source.pragma("writable_schema = ON");
    if (isOurs(source)) return source;
  } catch (error) {
    if (StoreFailure.from(error, "").isOutOfSpace) {
      closeQuietly(source);
      throw error;
    }
    parts.logger.warn({ err: error, path }, "damaged store could not be read");
  }
  closeQuietly(source);
  return null;
}

/** The same statement may work once the disk has recovered. */
function isDiskFault(error: unknown): boolean {
  return ["full", "io", "readonly"].includes(StoreFailure.from(error, "").code);
}

function isOurs(source: Sqlite.Database): boolean {
  return (
    Number(source.pragma("application_id", { simple: true })) === APPLICATION_ID &&
    Number(source.pragma("user_version", { simple: true })) <= SCHEMA_VERSION
  );
}

/**
 * Forwards until it fails, then backwards until it fails or reaches known rows: the hole in the middle is lost, except
 * for what an index contains. True if everything was read.
 */
function copyTable(
  source: Sqlite.Database,
  db: Database,
  table: SalvagedTable,
  progress: SalvageProgress,
): boolean {
  const { name, order } = table;
  const columns = commonColumns(source, table);
  // A store of an earlier version does not have this table.
  if (columns === "") return true;
  const places = columns
    .split(",")
    .map(() => "?")
    .join();
  const insert = db.writer.prepare(`INSERT OR IGNORE INTO ${name} (${columns}) VALUES (${places})`);
  const backwards = order
    .split(", ")
    .map((column) => `${column} DESC`)
    .join();
  const { writer } = db;
  // Events of versions up to 0.2 have fractions of a millisecond, which the new store refuses.
  const isTime = columns.split(", ").map((column) => /_ms$|^hour$/.test(column));
  const whole = (row: unknown[]) =>
    row.map((value, i) => (isTime[i] && typeof value === "number" ? Math.trunc(value) : value));
  const copy = (orderBy: string, from = `${name} NOT INDEXED`): boolean => {
    // The table itself, not an index that may be intact while the rows are not.
    const rows = new ReadableRows(source, `SELECT ${columns} FROM ${from} ORDER BY ${orderBy}`);
    let fresh = 0;
    let seen = 0;
    let isWhole = true;
    writer.exec("BEGIN IMMEDIATE");
    try {
      for (const row of rows) {
        const changes = insertIfPossible(insert, whole(row));
        if (changes === 0 && orderBy === backwards) break;
        if (changes === null) isWhole = false;
        fresh += changes ?? 0;
        seen += 1;
        if (seen % ROWS_PER_STEP === 0) progress.step(name, ROWS_PER_STEP);
        if (fresh % ROWS_PER_COMMIT === 0) {
          writer.exec("COMMIT");
          writer.exec("BEGIN IMMEDIATE");
        }
      }
      writer.exec("COMMIT");
    } finally {
      if (writer.inTransaction) writer.exec("ROLLBACK");
    }
    return isWhole && rows.isWhole;
  };
  if (copy(order)) return true;
  copy(backwards);
  return table.index !== undefined && copy(table.index, name);
}

/** The rows of a damaged table up to the first that cannot be read. */
class ReadableRows implements Iterable<unknown[]> {
  readonly #source: Sqlite.Database;
  readonly #sql: string;
  /** True once all of them were read. */
  isWhole = false;

  constructor(source: Sqlite.Database, sql: string) {
    this.#source = source;
    this.#sql = sql;
  }

  *[Symbol.iterator](): Generator<unknown[], void, void> {
    try {
      yield* this.#source.prepare<unknown[], unknown[]>(this.#sql).raw(true).iterate();
      this.isWhole = true;
    } catch (error) {
      if (StoreFailure.from(error, "").isOutOfSpace) throw error;
    }
  }
}

/** Rows inserted: 0 if the table has it already, null if a damaged page gave it impossible values. */
function insertIfPossible(insert: Sqlite.Statement<unknown[]>, row: unknown[]): number | null {
  try {
    return insert.run(...row).changes;
  } catch (error) {
    if (isDiskFault(error)) throw error;
    return null;
  }
}

/** Those that the source also has; none if the table is new. */
function commonColumns(source: Sqlite.Database, { name, columns }: SalvagedTable): string {
  let known: readonly string[];
  try {
    const columnsOf = source.prepare<[string], string>("SELECT name FROM pragma_table_info(?)");
    known = columnsOf.pluck().all(name);
  } catch {
    return columns;
  }
  const common = columns.split(", ").filter((column) => known.includes(column.replaceAll('"', "")));
  return common.join(", ");
}

const COUNT_SQL = "SELECT count(*) AS n FROM readings";

/**
 * Numbers whose sensor or units were lost are assigned again, and would attribute readings to another sensor: such
 * readings are dropped, and read from the gateway again.
 */
function removeNameless(db: Database, progress: SalvageProgress): void {
  for (const [table, where] of [
    [
      "readings",
      "stream NOT IN (SELECT stream FROM streams) OR unit_set NOT IN (SELECT unit_set FROM unit_sets)",
    ],
    ["outbox", "seq NOT IN (SELECT seq FROM readings)"],
    ["waveforms", "stream NOT IN (SELECT stream FROM streams)"],
    [
      "kept_measurements",
      "stream NOT IN (SELECT stream FROM streams) OR unit_set NOT IN (SELECT unit_set FROM unit_sets)",
    ],
    ["kept_samples", "stream NOT IN (SELECT stream FROM streams)"],
    ["kept_marks", "stream NOT IN (SELECT stream FROM streams)"],
    ["live_marks", "stream NOT IN (SELECT stream FROM streams)"],
    ["forgotten", "stream NOT IN (SELECT stream FROM streams)"],
    ["gaps", "stream NOT IN (SELECT stream FROM streams)"],
    ["hour_series", "stream NOT IN (SELECT stream FROM streams)"],
    ["hours", "place & 1048575 NOT IN (SELECT stream FROM streams)"],
    ["days", "place & 1048575 NOT IN (SELECT stream FROM streams)"],
    ["day_medians", "place & 1048575 NOT IN (SELECT stream FROM streams)"],
    ["outbox", "lane NOT IN (SELECT lane FROM lanes)"],
    ["live_marks", "lane NOT IN (SELECT lane FROM lanes)"],
  ] as const) {
    db.writer.exec(`DELETE FROM ${table} WHERE ${where}`);
    progress.step(table, 0);
  }
}

/** Numbers that the lost part may have used are not assigned again. */
function skipNumbers(db: Database, nowMs: number): void {
  const floor = Math.max(1, Math.floor((nowMs - EPOCH_MS) / 1000));
  for (const name of ["readings", "waveforms", "hour_series"]) {
    const { seq } = db.writer
      .prepare<unknown[], { seq: number | null }>(
        "SELECT max(seq) AS seq FROM sqlite_sequence WHERE name = ?",
      )
      .get(name) ?? { seq: null };
    db.writer.prepare("DELETE FROM sqlite_sequence WHERE name = ?").run(name);
    db.writer
      .prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)")
      .run(name, Math.max(floor, seq ?? 0));
  }
}

function closeQuietly(source: Sqlite.Database | null): void {
  try {
    source?.close();
  } catch {
    // A damaged file may fail its last checkpoint; everything readable has been read.
  }
}
