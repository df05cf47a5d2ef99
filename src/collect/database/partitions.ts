import type { ClientBase } from "pg";
import { DAY_MS } from "../../core/time-units.ts";

const WEEK_MS = 7 * DAY_MS;
/** 1970-01-05 was a Monday; PostgreSQL's weeks begin there, too. */
const MONDAY_MS = 4 * DAY_MS;
/** Weeks created ahead, so that midnight on Sunday causes no delay. */
const WEEKS_AHEAD = 2;

/** The weekly partitions that exist, created before a row needs them. */
export class Partitions {
  readonly #weeks = new Set<number>();

  /** Creates the partitions of these times unless they are known to exist. */
  async ensure(client: ClientBase, timesMs: Iterable<number>): Promise<void> {
    const missing = new Set<number>();
    for (const ms of timesMs) {
      const week = weekOf(ms);
      if (!this.#weeks.has(week)) missing.add(week);
    }
    for (const week of missing) {
      await client.query("SELECT gateside_make_partitions($1)", [new Date(week)]);
      this.#weeks.add(week);
    }
  }

  /** This week and the next ones; called at start and every hour. */
  ahead(client: ClientBase, nowMs: number): Promise<void> {
    const weeks = Array.from({ length: WEEKS_AHEAD + 1 }, (_, i) => nowMs + i * WEEK_MS);
    return this.ensure(client, weeks);
  }

  /** Another process may have dropped some. */
  forget(): void {
    this.#weeks.clear();
  }
}

function weekOf(ms: number): number {
  return Math.floor((ms - MONDAY_MS) / WEEK_MS) * WEEK_MS + MONDAY_MS;
}
