/**
 * The readings of thin boxes that a database has gained since a given moment; their times are recent too. Tables of readings grow at the end, so
 * only their last blocks are read: the cost does not depend on what was stored before.
 */
import { ask } from "./processes.ts";

/** Streams of real agents, whose readings arrive along with those of the thin boxes. */
const REAL = "(SELECT stream FROM stream WHERE site LIKE 'real-%')";
/** A row may go into an earlier block that has room. */
const SLACK_BLOCKS = 5000;

export class NewRows {
  readonly #url: string;
  #since = "";
  /** First block of each table that may hold new rows. */
  #blocks: ReadonlyMap<string, number> = new Map();

  constructor(url: string) {
    this.#url = url;
  }

  /** From now on. */
  async mark(): Promise<void> {
    this.#since = new Date().toISOString();
    const rows = await ask<{ name: string; blocks: string }>(
      this.#url,
      `SELECT c.relname AS name, pg_relation_size(c.oid) / current_setting('block_size')::integer AS blocks
       FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE c.relname LIKE 'reading_%' AND c.relkind = 'r'`,
    );
    this.#blocks = new Map(
      rows.map(({ name, blocks }) => [name, Math.max(0, Number(blocks) - SLACK_BLOCKS)]),
    );
  }

  /** Rows of every table with these columns; `isWhole` looks at all blocks. */
  #rows(columns: string, isWhole: boolean): string {
    return [...this.#blocks]
      .map(
        ([name, block]) =>
          `SELECT ${columns} FROM ${name} WHERE ctid >= '(${isWhole ? 0 : block},0)' AND time >= '${this.#since}' AND stream NOT IN ${REAL}`,
      )
      .join(" UNION ALL ");
  }

  async count(isWhole = false): Promise<number> {
    const [row] = await ask<{ n: string }>(
      this.#url,
      `SELECT count(*) AS n FROM (${this.#rows("1", isWhole)}) r`,
    );
    return Number(row?.n);
  }

  /** How often each id occurs. */
  async ids(): Promise<Map<string, number>> {
    const rows = await ask<{ id: string; n: string }>(
      this.#url,
      `SELECT replace(id::text, '-', '') AS id, count(*) AS n FROM (${this.#rows("id", true)}) r GROUP BY id`,
    );
    return new Map(rows.map(({ id, n }) => [id, Number(n)]));
  }

  /** Of readings from an instant on: from their times to their COMMIT, ms. */
  async delays(sinceMs: number): Promise<{ readonly p50: number; readonly p99: number }> {
    const [row] = await ask<{ p50: number; p99: number }>(
      this.#url,
      `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS p50, percentile_cont(0.99) WITHIN GROUP (ORDER BY ms) AS p99
       FROM (SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin) - time) * 1000 AS ms FROM (${this.#rows("time, xmin", false)}) r
             WHERE time >= '${new Date(sinceMs).toISOString()}') d`,
    );
    return { p50: Math.round(row?.p50 ?? 0), p99: Math.round(row?.p99 ?? 0) };
  }
}

/** Readings of the real agents. */
export async function realCount(url: string): Promise<number> {
  const [row] = await ask<{ n: string }>(
    url,
    "SELECT count(*) AS n FROM reading WHERE site LIKE 'real-%'",
  );
  return Number(row?.n);
}
