import type { ClientBase } from "pg";
/** Less would drop a backlog that boxes may still hold, days. */
export const KEEP_DAYS_MIN = 35;
const WRITER_KEY = "hashtext('gateside'), hashtext('write')";
const CHECK_MS = 50;
/** Of a time ($1) and a number ($2): the database's own time counts if it is earlier. */
export const DAYS_AGO = "least($1::timestamptz, now()) - $2::integer * interval '1 day'";

/** What no horizon of these days can accept; nearer ones are judged by the horizon itself, which lies on a Monday, days. */
export function acceptedDays(keepDays: number | null): number | null {
  return keepDays === null ? null : Math.max(keepDays, KEEP_DAYS_MIN) + 7;
}

/** For `BEGIN`: held by every transaction that writes batches, so that those which saw an old horizon can be waited for. Nobody takes it alone. */
export const WRITER_LOCK = `SELECT pg_advisory_xact_lock_shared(${WRITER_KEY})`;

/**
 * Raises the horizon to the week of this many days ago, by this clock or the database's, whichever is behind: it never
 * sinks, and a clock that is ahead would remove everything. Returns it, ms, or -Infinity.
 */
export async function raiseHorizon(
  client: ClientBase,
  nowMs: number,
  keepDays: number,
): Promise<number> {
  const days = Math.max(keepDays, KEEP_DAYS_MIN);
  const { rows } = await client.query<{ before: number }>(
    `SELECT (extract(epoch FROM gateside_raise_horizon(${DAYS_AGO})) * 1000)::float8 AS before`,
    [new Date(nowMs), days],
  );
  return rows[0]?.before ?? Number.NEGATIVE_INFINITY;
}

/** Ms; -Infinity before the first rise. */
export async function horizonOf(client: ClientBase): Promise<number> {
  const { rows } = await client.query<{ before: number }>(
    "SELECT (extract(epoch FROM before) * 1000)::float8 AS before FROM horizon",
  );
  return rows[0]?.before ?? Number.NEGATIVE_INFINITY;
}

/** Resolves once all transactions have ended that were writing when it was called. */
export async function waitForWriters(client: ClientBase): Promise<void> {
  const first = await writers(client);
  for (let left = first; left.length > 0; ) {
    await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
    const now = await writers(client);
    left = left.filter((one) => now.includes(one));
  }
}

async function writers(client: ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ writer: string }>(
    `SELECT virtualtransaction AS writer FROM pg_locks
     WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND (classid::bigint, objid::bigint) = (hashtext('gateside')::bigint & 4294967295, hashtext('write')::bigint & 4294967295)`,
  );
  return rows.map(({ writer }) => writer);
}
