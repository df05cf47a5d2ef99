import type { Client, ClientBase } from "pg";
import type { Logger } from "../../core/ports.ts";
import { messageOf } from "../../core/thrown.ts";
import { dropConnection, openConnection } from "./connection.ts";
import { sqlState } from "./failure.ts";
import { waitForWriters } from "./horizon.ts";
import { settleHours } from "./hours.ts";

interface Week {
  readonly parent: string;
  readonly child: string;
  readonly attached: boolean;
  readonly pending: boolean;
  /** This role may change the table itself. */
  readonly owned: boolean;
}

const WEEKS = `SELECT parent, child, attached, pending, pg_has_role(relowner, 'USAGE') AS owned
  FROM leaving_week JOIN pg_class ON oid = to_regclass(quote_ident(parent)) ORDER BY child`;
const LOCK = "hashtext('gateside'), hashtext('weeks')";

/**
 * Drops the weekly tables before the horizon, one at a time, over its own connection: detaching concurrently waits
 * for readers, without a lock that writers would wait for. A role that does not own the tables detaches them through a function, which gives
 * up after 0.2 s beside a reader. What is in use stays for the next call. Returns how many were dropped.
 */
export async function removeLeavingWeeks(
  url: string,
  logger: Logger,
  signal: AbortSignal,
): Promise<number> {
  const client = await openConnection(url, "gateside collect weeks");
  const onAbort = () => dropConnection(client);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await client.query("SET synchronous_commit = local");
    const { rows } = await client.query<{ taken: boolean }>(
      `SELECT pg_try_advisory_lock(${LOCK}) AS taken`,
    );
    if (rows[0]?.taken !== true) return 0;
    const weeks = await client.query<Week>(WEEKS);
    if (weeks.rows.length === 0) return 0;
    await waitForWriters(client);
    if (await lacksHours(client)) await settleHours(client, signal);
    if (await lacksHours(client)) return 0;
    let dropped = 0;
    for (const week of weeks.rows) if (await remove(client, week, logger)) dropped += 1;
    return dropped;
  } finally {
    signal.removeEventListener("abort", onAbort);
    dropConnection(client);
  }
}

/** Without its own connection. */
export async function hasLeavingWeeks(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query("SELECT FROM leaving_week LIMIT 1");
  return rows.length > 0;
}

/** True if hourly values of a leaving week are not stored yet. */
async function lacksHours(client: Client): Promise<boolean> {
  const { rows } = await client.query(
    "SELECT FROM hour_mark WHERE hour < (SELECT before FROM horizon) LIMIT 1",
  );
  return rows.length > 0;
}

/** False if a reader holds it. */
async function remove(client: Client, week: Week, logger: Logger): Promise<boolean> {
  const { parent, child, attached, pending, owned } = week;
  try {
    if (attached && !pending && owned)
      await client.query(`ALTER TABLE ${parent} DETACH PARTITION ${child} CONCURRENTLY`);
    await client.query("SELECT gateside_drop_week($1)", [child]);
    return true;
  } catch (error) {
    // 55P03: not within the time limit; 40P01: a reader that holds the week waits for its parent.
    if (!["55P03", "40P01"].includes(sqlState(error) ?? "")) throw error;
    logger.debug({ table: child, error: messageOf(error) }, "an expired table is being read");
    return false;
  }
}
