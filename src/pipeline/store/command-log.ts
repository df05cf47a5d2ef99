import {
  type CommandEntry,
  type CommandLog,
  type CommandResult,
  INTERRUPTED,
  type LoggedOutcome,
  type RefusedCommand,
} from "../../core/command.ts";
import type { Database } from "./database/database.ts";
import type { WriteQueue } from "./database/write-queue.ts";

/** Its outcome is null while the call runs. */
interface LoggedCommand extends CommandEntry, LoggedOutcome {
  readonly command: number;
  readonly finishedAtMs: number | null;
}

/** Columns of a `LoggedCommand`. */
const COLUMNS = `command, received_at_ms AS receivedAtMs, key, sensor, source, payload, outcome,
  status_number AS statusNumber, description, finished_at_ms AS finishedAtMs`;

/**
 * Every command with its time and outcome: the audit log, and the memory that makes it happen only once. Both writes
 * are durable.
 */
export class SqliteCommandLog implements CommandLog {
  readonly #db: Database;
  readonly #queue: WriteQueue;

  constructor(db: Database, queue: WriteQueue) {
    this.#db = db;
    this.#queue = queue;
  }

  /** Before the gateway is called, so that a crash in between is remembered as an unknown outcome. */
  begin(command: CommandEntry): number {
    return this.#queue.direct("keep a command", () =>
      Number(
        this.#db
          .write(
            "INSERT INTO commands (received_at_ms, key, sensor, source, payload) VALUES (?, ?, ?, ?, ?)",
          )
          .run(command.receivedAtMs, command.key, command.sensor, command.source, command.payload)
          .lastInsertRowid,
      ),
    );
  }

  finish(command: number, outcome: Omit<CommandResult, "ok">, finishedAtMs: number): Promise<void> {
    return this.#queue.soon("store a command's outcome", () => {
      this.#db
        .write(
          "UPDATE commands SET outcome = ?, status_number = ?, description = ?, finished_at_ms = ? WHERE command = ?",
        )
        .run(outcome.outcome, outcome.statusNumber, outcome.description, finishedAtMs, command);
    });
  }

  refused(group: readonly RefusedCommand[]): Promise<void> {
    return this.#queue.soon("store refused commands", () => {
      const insert = this.#db.write(
        `INSERT INTO commands (received_at_ms, key, sensor, source, payload, outcome, status_number, description, finished_at_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      );
      for (const { entry, result, finishedAtMs } of group) {
        const { receivedAtMs, key, sensor, source, payload } = entry;
        const { outcome, statusNumber, description } = result;
        insert.run(
          receivedAtMs,
          key,
          sensor,
          source,
          payload,
          outcome,
          statusNumber,
          description,
          finishedAtMs,
        );
      }
    });
  }

  /** At start: commands interrupted by a crash get their outcome. When they ended is unknown. */
  endInterrupted(): void {
    const sql = "SELECT 1 FROM commands WHERE outcome IS NULL LIMIT 1";
    if (this.#db.read(sql).get() === undefined) return;
    this.#queue.direct("settle interrupted commands", () => {
      this.#db
        .write("UPDATE commands SET outcome = 'unknown', description = ? WHERE outcome IS NULL")
        .run(INTERRUPTED);
    });
  }

  /** The newest command with this key since a time. */
  findByKey(key: string, sinceMs: number): LoggedCommand | null {
    const where = "key = ? AND received_at_ms >= ? ORDER BY received_at_ms DESC, command DESC";
    return this.#first(where, key, sinceMs);
  }

  /** Newest first. */
  list(max: number): LoggedCommand[] {
    return this.#db
      .read<LoggedCommand>(`SELECT ${COLUMNS} FROM commands ORDER BY command DESC LIMIT ?`)
      .all(max);
  }

  get count(): number {
    const sql = "SELECT count(*) AS count FROM commands";
    return this.#db.read<{ count: number }>(sql).get()?.count ?? 0;
  }

  /**
   * Removes the oldest, inside a transaction: first those that never left the agent, then those before `untilMs`, whose
   * repetitions need not be recognised any more. Returns how many were removed.
   */
  trim(rows: number, untilMs: number): number {
    const refused = this.#db
      .write(
        `DELETE FROM commands WHERE command IN
         (SELECT command FROM commands WHERE outcome = 'rejected_local' ORDER BY command LIMIT ?)`,
      )
      .run(rows).changes;
    if (refused > 0) return refused;
    return this.#db
      .write(
        `DELETE FROM commands WHERE command IN
         (SELECT command FROM commands WHERE received_at_ms < ? ORDER BY command LIMIT ?)`,
      )
      .run(untilMs, rows).changes;
  }

  /** Newest settings that the gateway queued for a sensor. */
  lastQueued(sensor: string): LoggedCommand | null {
    return this.#first("sensor = ? AND outcome = 'queued' ORDER BY command DESC", sensor);
  }

  /**
   * The newest command that may have called the gateway, for the spacing of calls across a restart; null if there was
   * none.
   */
  lastCall(): LoggedCommand | null {
    return this.#first("outcome IS NULL OR outcome <> 'rejected_local' ORDER BY command DESC");
  }

  /** @param where with the order that decides which is first */
  #first(where: string, ...values: (string | number)[]): LoggedCommand | null {
    const sql = `SELECT ${COLUMNS} FROM commands WHERE ${where} LIMIT 1`;
    return this.#db.read<LoggedCommand>(sql).get(...values) ?? null;
  }
}
