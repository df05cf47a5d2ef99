import type { ClientBase } from "pg";
import { HOUR_MS } from "../../core/time-units.ts";
import { DAYS_AGO, waitForWriters } from "./horizon.ts";
import type { NumberedRow } from "./write-readings.ts";

/** Hours of a round: marks are held in memory by the server while they are moved. */
const ROUND_HOURS = 20_000;
/** Hours, or days, of sensors and kinds in a transaction: some 50 ms. */
const SLICE = 100;
const LOCK = "hashtext('gateside'), hashtext('hours')";
/** A marked hour that is over. The running one is computed by whoever reads it. */
const DUE = "hour <= now() - interval '1 hour'";
/** The same of days. */
const DUE_DAY = "day <= now() - interval '24 hours'";

/**
 * Marks the hours of these readings in the transaction that writes them: their hourly values are computed from the
 * readings until `settleHours` has stored them.
 */
export async function markHours(client: ClientBase, rows: readonly NumberedRow[]): Promise<void> {
  const marks = new Map<string, { hour: Date; stream: number }>();
  for (const { row, numbers } of rows) {
    const ms = Math.floor(row.item.timeMs / HOUR_MS) * HOUR_MS;
    marks.set(`${ms} ${numbers.stream}`, { hour: new Date(ms), stream: numbers.stream });
  }
  if (marks.size === 0) return;
  const columns = [...marks.values()];
  // In one order everywhere, so that two collectors do not deadlock.
  await client.query(
    `INSERT INTO hour_mark (hour, stream) SELECT hour, stream FROM unnest($1::timestamptz[], $2::integer[]) m(hour, stream)
     ORDER BY hour, stream ON CONFLICT DO NOTHING`,
    [columns.map(({ hour }) => hour), columns.map(({ stream }) => stream)],
  );
}

/** True if there are hours or days to store. */
export async function hasDueHours(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query(
    `SELECT FROM hour_mark WHERE ${DUE} UNION ALL SELECT FROM day_mark WHERE ${DUE_DAY} LIMIT 1`,
  );
  return rows.length > 0;
}

/**
 * Stores the values of marked hours that are over, then those of their days, over its own connection; nothing while
 * another process does. Marks are moved first, and the writers that relied on them waited for: what comes later marks its
 * hour again. Returns how many hours were stored.
 */
export async function settleHours(client: ClientBase, signal: AbortSignal): Promise<number> {
  const { rows } = await client.query<{ taken: boolean }>(
    `SELECT pg_try_advisory_lock(${LOCK}) AS taken`,
  );
  if (rows[0]?.taken !== true) return 0;
  let settled = 0;
  try {
    for (let isMore = true; isMore && !signal.aborted; ) {
      const moved = await client.query(
        `UPDATE hour_mark m SET round = 1 FROM (
           SELECT hour, stream FROM hour_mark o WHERE round = 0 AND ${DUE}
             AND NOT EXISTS (SELECT FROM hour_mark d WHERE d.hour = o.hour AND d.stream = o.stream AND d.round = 1)
           ORDER BY hour, stream LIMIT ${ROUND_HOURS}) due
         WHERE m.hour = due.hour AND m.stream = due.stream AND m.round = 0`,
      );
      await waitForWriters(client);
      settled += await slices(client, "gateside_settle_hours", signal);
      isMore = moved.rowCount === ROUND_HOURS;
    }
    await slices(client, "gateside_settle_days", signal);
    return settled;
  } finally {
    await client.query(`SELECT pg_advisory_unlock(${LOCK})`);
  }
}

/** Calls a function, a transaction each, until nothing is left for it; returns how many hours or days it stored. */
async function slices(client: ClientBase, name: string, signal: AbortSignal): Promise<number> {
  let sum = 0;
  for (let stored = 1; stored > 0 && !signal.aborted; sum += stored) {
    const { rows } = await client.query<{ stored: number }>(`SELECT ${name}(${SLICE}) AS stored`);
    stored = rows[0]?.stored ?? 0;
  }
  return sum;
}

/** Drops months of hourly and daily values that ended before the last `keepDays` days; returns how many. */
export async function dropHours(
  client: ClientBase,
  nowMs: number,
  keepDays: number,
): Promise<number> {
  const { rows } = await client.query<{ dropped: number }>(
    `SELECT gateside_drop_hours(${DAYS_AGO}) AS dropped`,
    [new Date(nowMs), keepDays],
  );
  return rows[0]?.dropped ?? 0;
}
