import type { Database } from "./database.ts";
import type { Meta } from "./meta.ts";
import { hourOf } from "./stored-reading.ts";

const HORIZON = "forgotten_horizon_ms";
const KNOWN_SQL = "SELECT id FROM readings WHERE hour = ? AND stream = ? AND time_ms = ?";
const FORGOTTEN_SQL =
  "SELECT 1 FROM forgotten WHERE hour = ? AND stream = ? AND time_ms = ? AND hash = ?";

/** Which readings the store has, or had: nothing is stored twice, nor again after retention took it. */
export class Identities {
  readonly #db: Database;
  readonly #meta: Meta;
  /** Above this hour nothing was ever forgotten: most look-ups end here. */
  #newestForgottenHour = Number.NEGATIVE_INFINITY;
  /** Rows of `forgotten`. */
  count = 0;

  constructor(db: Database, meta: Meta) {
    this.#db = db;
    this.#meta = meta;
  }

  load(): void {
    const [row] = this.#db.read("SELECT count(*) FROM forgotten").all();
    this.count = Number(row?.[0] ?? 0);
    const [newest] = this.#db.read("SELECT hour FROM forgotten ORDER BY hour DESC LIMIT 1").all();
    this.#newestForgottenHour = (newest?.[0] ?? Number.NEGATIVE_INFINITY) as number;
  }

  /** Sees what the running transaction has written, too. */
  has(stream: number, timeMs: number, id: string, hash: number): boolean {
    const hour = hourOf(timeMs);
    for (const row of this.#db.write<{ id: Buffer }>(KNOWN_SQL).all(hour, stream, timeMs)) {
      if (row.id.toString("hex") === id) return true;
    }
    if (hour > this.#newestForgottenHour) return false;
    return this.#db.write(FORGOTTEN_SQL).get(hour, stream, timeMs, hash) !== undefined;
  }

  /** Inside the transaction that removes the reading. */
  forget(stream: number, timeMs: number, hash: number): void {
    const hour = hourOf(timeMs);
    const { changes } = this.#db
      .write("INSERT OR IGNORE INTO forgotten (hour, stream, time_ms, hash) VALUES (?, ?, ?, ?)")
      .run(hour, stream, timeMs, hash);
    this.count += changes;
    this.#newestForgottenHour = Math.max(this.#newestForgottenHour, hour);
  }

  /** Gives up the oldest hour of this memory, inside a transaction; what is older cannot be told from new any more. */
  shrink(): void {
    const oldest = this.#db
      .write<{ hour: number }>("SELECT hour FROM forgotten ORDER BY hour LIMIT 1")
      .get();
    if (oldest === undefined) return;
    const { changes } = this.#db.write("DELETE FROM forgotten WHERE hour = ?").run(oldest.hour);
    this.count -= changes;
    const horizonMs = (oldest.hour + 1) * 3_600_000;
    if (horizonMs > this.horizonMs) this.#meta.put(HORIZON, String(horizonMs));
  }

  /** Readings before this time may have been forgotten for good; -Infinity while all are remembered. */
  get horizonMs(): number {
    const text = this.#meta.get(HORIZON);
    return text === null ? Number.NEGATIVE_INFINITY : Number(text);
  }
}
