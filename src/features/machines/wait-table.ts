import type { Database } from "../../pipeline/store/database/database.ts";
import type { WaitRow, WaitRows } from "./rules/wait-rows.ts";

const ALL_SQL =
  "SELECT queue, number, time_ms AS timeMs, since_ms AS sinceMs FROM waiting ORDER BY number";
const FIRST_SQL = `SELECT number, time_ms AS timeMs, since_ms AS sinceMs, text FROM waiting
  WHERE queue = ? ORDER BY number LIMIT ?`;
const INSERT_SQL =
  "INSERT INTO waiting (queue, number, time_ms, since_ms, text) VALUES (?, ?, ?, ?, ?)";
const DELETE_SQL = "DELETE FROM waiting WHERE queue = ? AND number <= ?";

/** Readings that wait for the state or speed of their machine; changed only inside a transaction. */
export class WaitTable implements WaitRows {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  all(): ReturnType<WaitRows["all"]> {
    return this.#db.read<ReturnType<WaitRows["all"]>[number]>(ALL_SQL).all();
  }

  add(queue: string, { number, timeMs, sinceMs, text }: WaitRow): void {
    this.#db.write(INSERT_SQL).run(queue, number, timeMs, sinceMs, text);
  }

  first(queue: string, max: number): readonly WaitRow[] {
    return this.#db.write<WaitRow>(FIRST_SQL).all(queue, max);
  }

  damaged(number: number): void {
    this.#db.damaged.found("waiting", number);
  }

  remove(queue: string, number: number): void {
    this.#db.write(DELETE_SQL).run(queue, number);
  }
}
