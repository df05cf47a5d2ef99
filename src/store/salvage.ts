import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import Sqlite from "better-sqlite3";
import type { Logger } from "../core/ports.ts";
import { type Database, syncDirectory } from "./database.ts";
import { APPLICATION_ID, SCHEMA_VERSION } from "./migrate.ts";

export interface SalvageReport {
  /** Where the damaged file lies now. */
  readonly path: string;
  readonly readings: number;
  /** Outbox rows that were made anew because the old ones could not all be read. */
  readonly requeued: number;
}

interface Table {
  readonly name: string;
  readonly columns: string;
  readonly order: string;
}

/** Readings rule: what refers to them is of use only with them. Poll progress is left out, so that lost days are read again. */
const TABLES: readonly Table[] = [
  { name: "meta", columns: "name, value", order: "name" },
  { name: "streams", columns: "stream, sensor, kind", order: "stream" },
  { name: "unit_sets", columns: "unit_set, units", order: "unit_set" },
  {
    name: "readings",
    columns: `seq, stream, time_ms, id, is_future, offset_minutes, stored_at_ms, unit_set, "values", quality, attributes, raw, waveforms`,
    order: "seq",
  },
  {
    name: "waveforms",
    columns:
      "file_id, stream, time_ms, reading_id, channel, axis, sample_rate_hz, calibration, recording_reason, sample_count, encoding, samples",
    order: "file_id",
  },
  {
    name: "outbox",
    columns: "lane, hour, stream, time_ms, seq, is_future",
    order: "lane, hour, stream, time_ms, seq",
  },
  { name: "live_marks", columns: "lane, stream, time_ms", order: "lane, stream" },
  {
    name: "forgotten",
    columns: "hour, stream, time_ms, hash",
    order: "hour, stream, time_ms, hash",
  },
  { name: "gaps", columns: "gap, stream, from_ms, to_ms, count, reason", order: "gap" },
  {
    name: "commands",
    columns:
      "command, received_at_ms, key, sensor, source, payload, outcome, status_number, description, finished_at_ms",
    order: "command",
  },
];

const ROWS_PER_COMMIT = 1000;
/** Seconds from here to now are more than file ids or sequence numbers were ever given. */
const EPOCH_MS = Date.UTC(2020, 0, 1);

/** Renames the damaged file and what belongs to it, so that nothing replays into the next one. */
export function setAside(path: string, nowMs: number): string {
  const stamp = new Date(nowMs).toISOString().replace(/[:.]/g, "-");
  let target = `${path}.corrupt-${stamp}`;
  for (let n = 2; existsSync(target); n++) target = `${path}.corrupt-${stamp}-${n}`;
  renameSync(path, target);
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${target}-wal`);
  rmSync(`${path}-shm`, { force: true });
  rmSync(`${path}-journal`, { force: true });
  syncDirectory(dirname(path));
  return target;
}

/** Copies what still reads of a damaged store into the new one. */
export function salvage(
  db: Database,
  path: string,
  parts: {
    readonly nativeBinding: string | undefined;
    readonly logger: Logger;
    readonly nowMs: number;
    readonly lanes: readonly number[];
  },
): SalvageReport {
  let readings = 0;
  let requeued = 0;
  let source: Sqlite.Database | null = null;
  try {
    source = new Sqlite(path, {
      fileMustExist: true,
      ...(parts.nativeBinding === undefined ? {} : { nativeBinding: parts.nativeBinding }),
    });
    if (isOurs(source)) {
      const whole = new Map<string, boolean>();
      for (const table of TABLES) {
        const copied = copyTable(source, db, table);
        whole.set(table.name, copied.isWhole);
        if (table.name === "readings") readings = copied.rows;
      }
      if (whole.get("outbox") !== true) requeued = requeue(db, parts.lanes);
    }
  } catch (error) {
    parts.logger.warn({ err: error, path }, "damaged store could not be read");
  } finally {
    closeQuietly(source);
  }
  skipNumbers(db, parts.nowMs);
  return { path, readings, requeued };
}

function isOurs(source: Sqlite.Database): boolean {
  return (
    Number(source.pragma("application_id", { simple: true })) === APPLICATION_ID &&
    Number(source.pragma("user_version", { simple: true })) <= SCHEMA_VERSION
  );
}

/** Forwards until it breaks, then backwards until it breaks or meets what is known: the hole in the middle is lost. */
function copyTable(
  source: Sqlite.Database,
  db: Database,
  table: Table,
): { rows: number; isWhole: boolean } {
  const { name, columns, order } = table;
  const places = columns
    .split(",")
    .map(() => "?")
    .join();
  const insert = db.writer.prepare(`INSERT OR IGNORE INTO ${name} (${columns}) VALUES (${places})`);
  const backwards = order
    .split(", ")
    .map((column) => `${column} DESC`)
    .join();
  let rows = 0;
  const copy = (orderBy: string): boolean => {
    db.writer.exec("BEGIN IMMEDIATE");
    try {
      let fresh = 0;
      // The table itself, not an index that may be whole while the rows are not.
      const select = source.prepare<unknown[], unknown[]>(
        `SELECT ${columns} FROM ${name} NOT INDEXED ORDER BY ${orderBy}`,
      );
      for (const row of select.raw(true).iterate()) {
        const { changes } = insert.run(...row);
        if (changes === 0 && orderBy === backwards) return true;
        rows += changes;
        fresh += changes;
        if (fresh % ROWS_PER_COMMIT === 0) {
          db.writer.exec("COMMIT");
          db.writer.exec("BEGIN IMMEDIATE");
        }
      }
      return true;
    } catch (error) {
      if (error instanceof Sqlite.SqliteError && error.code.startsWith("SQLITE_FULL")) throw error;
      return false;
    } finally {
      if (db.writer.inTransaction) db.writer.exec("COMMIT");
    }
  };
  const isWhole = copy(order);
  if (!isWhole) copy(backwards);
  return { rows, isWhole };
}

/** What may not have been delivered is owed again: a subscriber drops a double by its id, nobody restores a loss. */
function requeue(db: Database, lanes: readonly number[]): number {
  let rows = 0;
  for (const lane of lanes) {
    rows += db.writer
      .prepare(
        `INSERT OR IGNORE INTO outbox (lane, hour, stream, time_ms, seq, is_future)
         SELECT ?, hour, stream, time_ms, seq, is_future FROM readings`,
      )
      .run(lane).changes;
  }
  return rows;
}

/** Numbers that the lost part may have used are not given again. */
function skipNumbers(db: Database, nowMs: number): void {
  const floor = Math.max(1, Math.floor((nowMs - EPOCH_MS) / 1000));
  for (const name of ["readings", "waveforms"]) {
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
    // A damaged file may fail its last checkpoint; everything that reads has been read.
  }
}
