import { HOUR_MS } from "../../../core/time-units.ts";
import { type Tx, TxMap } from "../../../core/tx.ts";
import type { Database } from "../database/database.ts";
import type { Meta } from "../database/meta.ts";
import type { NewestTimes } from "./newest-times.ts";
import { bytesOf, holds, PACKED_BYTES_MAX, plus, timesIn } from "./packed-identities.ts";
import { hourOf } from "./stored-reading.ts";

const HORIZON = "forgotten_horizon_ms";
/** Gaps of sensors that send more rarely get a record for each reading. */
const BETWEEN_HOURS_MAX = 25;
/**
 * Rows of `forgotten` have three forms. Up to 0.1 each is one reading. Since then a row with this time contains, in
 * place of a hash, the packed identities of up to 128 readings of its hour and stream.
 */
const PACKED = -1;
/** The time of a row of this hour says up to when a stream's memory was dropped. No reading has that hour. */
const HORIZON_HOUR = 4_000_000_000;
/** Size of a row in addition to its identities, and of a row for a single reading, bytes. */
const ROW_BYTES = 16;
const SINGLE_BYTES = 24;
/** What the file takes for a byte of them, at most: most rows overflow their page. */
const FILE_SHARE = 3.5;

const KNOWN_SQL = "SELECT id FROM readings WHERE hour = ? AND stream = ? AND time_ms = ?";
const NEWEST_SQL = "SELECT max(time_ms) AS newest FROM readings WHERE hour = ? AND stream = ?";
const SINGLE_SQL =
  "SELECT 1 FROM forgotten WHERE hour = ? AND stream = ? AND time_ms = ? AND hash = ?";
const BETWEEN_SQL =
  "SELECT 1 FROM readings WHERE hour = ? AND stream = ? AND time_ms > ? AND time_ms < ? LIMIT 1";
const SINGLE_BETWEEN_SQL = `SELECT 1 FROM forgotten WHERE hour = ? AND stream = ? AND time_ms > ? AND time_ms < ?
  AND time_ms <> ${PACKED} LIMIT 1`;
const PACKS_SQL = "SELECT hash FROM forgotten WHERE hour = ? AND stream = ? AND time_ms = ?";
const BYTES_SQL = `SELECT coalesce(sum(CASE WHEN time_ms = ${PACKED} THEN ${ROW_BYTES} + length(hash) ELSE ${SINGLE_BYTES} END), 0)
  AS bytes FROM forgotten WHERE hour >= ? AND hour < ?`;

/** Which readings the store has, or had: nothing is stored twice, nor again after retention removed it. */
export class Identities {
  readonly #db: Database;
  readonly #meta: Meta;
  /** Above this hour nothing was ever forgotten: most look-ups end here. */
  #newestForgottenHour = Number.NEGATIVE_INFINITY;
  /** By stream: no reading is stored after this time, ms. Most records of a poll are newer and need no look-up. */
  readonly #newest = new Map<number, number>();
  readonly #times: NewestTimes;
  /** By stream: older readings were stored once, or arrived too late to be distinguished from those, ms. */
  readonly #horizons = new TxMap<number, number>();
  /** Size of the memory of removed readings, bytes. */
  bytes = 0;

  constructor(db: Database, meta: Meta, times: NewestTimes) {
    this.#db = db;
    this.#times = times;
    this.#meta = meta;
  }

  load(): void {
    this.#newest.clear();
    const sum = this.#db.read<{ bytes: number }>(BYTES_SQL).get(-HORIZON_HOUR, HORIZON_HOUR);
    this.bytes = sum?.bytes ?? 0;
    const newest = this.#db
      .read<{ hour: number }>(
        "SELECT hour FROM forgotten WHERE hour < ? ORDER BY hour DESC LIMIT 1",
      )
      .get(HORIZON_HOUR);
    this.#newestForgottenHour = newest?.hour ?? Number.NEGATIVE_INFINITY;
    this.#horizons.clear();
    const horizons = this.#db.read<{ stream: number; timeMs: number }>(
      "SELECT stream, time_ms AS timeMs FROM forgotten WHERE hour = ?",
    );
    for (const { stream, timeMs } of horizons.all(HORIZON_HOUR)) this.#horizons.set(stream, timeMs);
  }

  /** Includes what the running transaction has written. */
  has(stream: number, timeMs: number, id: string, hash: number): boolean {
    const hour = hourOf(timeMs);
    if (timeMs <= this.#newestOf(stream)) {
      for (const row of this.#db.write<{ id: Buffer }>(KNOWN_SQL).all(hour, stream, timeMs)) {
        if (row.id.toString("hex") === id) return true;
      }
    }
    if (timeMs < (this.#horizons.get(stream) ?? Number.NEGATIVE_INFINITY)) return true;
    if (hour > this.#newestForgottenHour) return false;
    return this.#isForgotten(hour, stream, timeMs, hash);
  }

  /** Inside the transaction that writes the reading. If that is rolled back, a look-up is made that was not needed. */
  inserted(stream: number, timeMs: number): void {
    if (timeMs > this.#newestOf(stream)) this.#newest.set(stream, timeMs);
  }

  #newestOf(stream: number): number {
    const known = this.#newest.get(stream);
    if (known !== undefined) return known;
    const hour = this.#times.lastHour(stream);
    const row =
      hour === null
        ? undefined
        : this.#db.write<{ newest: number | null }>(NEWEST_SQL).get(hour, stream);
    // Retention may have emptied that hour since it was found: a time that is too late costs look-ups only.
    const atMost = hour === null ? Number.NEGATIVE_INFINITY : (hour + 1) * HOUR_MS;
    const newest = row?.newest ?? atMost;
    this.#newest.set(stream, newest);
    return newest;
  }

  #isForgotten(hour: number, stream: number, timeMs: number, hash: number): boolean {
    const identity = bytesOf(timeMs, hash);
    if (this.#packs(hour, stream).some((pack) => holds(pack, identity))) return true;
    return this.#db.write(SINGLE_SQL).get(hour, stream, timeMs, hash) !== undefined;
  }

  #packs(hour: number, stream: number): Buffer[] {
    return this.#db
      .write<{ hash: Buffer }>(PACKS_SQL)
      .all(hour, stream, PACKED)
      .map(({ hash }) => hash);
  }

  /**
   * Whether any reading of the stream lies between two times, ms, neither included; includes what the running transaction has
   * written. True, too, where a search would take long.
   */
  hasBetween(stream: number, afterMs: number, beforeMs: number): boolean {
    const first = hourOf(afterMs);
    const last = hourOf(beforeMs);
    if (last - first > BETWEEN_HOURS_MAX) return true;
    const isBetween = (timeMs: number) => timeMs > afterMs && timeMs < beforeMs;
    for (let hour = first; hour <= last; hour++) {
      const stored = this.#db.write(BETWEEN_SQL).get(hour, stream, afterMs, beforeMs);
      if (stored !== undefined) return true;
      if (hour > this.#newestForgottenHour) continue;
      if (this.#db.write(SINGLE_BETWEEN_SQL).get(hour, stream, afterMs, beforeMs)) return true;
      if (this.#packs(hour, stream).some((pack) => timesIn(pack, hour).some(isBetween)))
        return true;
    }
    return false;
  }

  /** What they take in the file, at most, bytes. */
  get fileBytes(): number {
    return FILE_SHARE * this.bytes;
  }

  /** Inside the transaction that removes the reading. */
  forget(tx: Tx, stream: number, timeMs: number, hash: number): void {
    const hour = hourOf(timeMs);
    this.#newestForgottenHour = Math.max(this.#newestForgottenHour, hour);
    const identity = bytesOf(timeMs, hash);
    const packs = this.#packs(hour, stream);
    if (packs.some((pack) => holds(pack, identity))) return;
    const open = packs.find((pack) => pack.length < PACKED_BYTES_MAX);
    const db = this.#db;
    if (open === undefined) {
      db.write("INSERT INTO forgotten (hour, stream, time_ms, hash) VALUES (?, ?, ?, ?)").run(
        hour,
        stream,
        PACKED,
        identity,
      );
      this.#grow(tx, ROW_BYTES + identity.length);
      return;
    }
    db.write(
      "UPDATE forgotten SET hash = ? WHERE hour = ? AND stream = ? AND time_ms = ? AND hash = ?",
    ).run(plus(open, identity), hour, stream, PACKED, open);
    this.#grow(tx, identity.length);
  }

  #grow(tx: Tx, bytes: number): void {
    this.bytes += bytes;
    tx.onRollback(() => {
      this.bytes -= bytes;
    });
  }

  /**
   * Drops the oldest hour of this memory, inside a transaction. Of the streams that had readings in it, nothing older
   * is accepted any more: it could not be distinguished from delivered readings.
   */
  shrink(tx: Tx): void {
    const db = this.#db;
    const oldest = db
      .write<{ hour: number }>("SELECT hour FROM forgotten ORDER BY hour LIMIT 1")
      .get();
    if (oldest === undefined || oldest.hour >= HORIZON_HOUR) return;
    const horizonMs = (oldest.hour + 1) * HOUR_MS;
    for (const { stream } of db
      .write<{ stream: number }>("SELECT DISTINCT stream FROM forgotten WHERE hour = ?")
      .all(oldest.hour))
      this.#raise(tx, stream, horizonMs);
    const { bytes = 0 } =
      db.write<{ bytes: number }>(BYTES_SQL).get(oldest.hour, oldest.hour + 1) ?? {};
    db.write("DELETE FROM forgotten WHERE hour = ?").run(oldest.hour);
    this.#grow(tx, -bytes);
    if (horizonMs > this.horizonMs) this.#meta.put(HORIZON, String(horizonMs));
  }

  #raise(tx: Tx, stream: number, horizonMs: number): void {
    if ((this.#horizons.get(stream) ?? Number.NEGATIVE_INFINITY) > horizonMs) return;
    const db = this.#db;
    db.write("DELETE FROM forgotten WHERE hour = ? AND stream = ?").run(HORIZON_HOUR, stream);
    db.write("INSERT INTO forgotten (hour, stream, time_ms, hash) VALUES (?, ?, ?, 0)").run(
      HORIZON_HOUR,
      stream,
      horizonMs,
    );
    this.#horizons.change(tx, stream, horizonMs);
  }

  /** Readings before this time may have been forgotten permanently; -Infinity while all are remembered. */
  get horizonMs(): number {
    const text = this.#meta.get(HORIZON);
    return text === null ? Number.NEGATIVE_INFINITY : Number(text);
  }
}
