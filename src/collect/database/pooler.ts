import type { Client } from "pg";
import { messageOf } from "../../core/thrown.ts";
import { dropConnection, openConnection } from "./connection.ts";
import { ConnectionFailure } from "./failure.ts";

/** A pooler gives the connection to other clients between transactions. */
export class PoolerFailure extends ConnectionFailure {
  readonly code = "pooler";

  constructor() {
    super(
      "PgBouncer in transaction mode cannot be used: collectors need temporary tables and locks that last as long as their connection. Set pool_mode = session for this database or user, or connect to PostgreSQL directly",
    );
  }
}

/** Other clients of the pool may hide it in one round. */
const ROUNDS = 5;
/** A pool without another free connection answers late; then it is not one that shares them, ms. */
const ANSWER_MS = 5000;

/**
 * Throws `PoolerFailure` if the connection leads through PgBouncer in transaction or statement mode. A pooler invents the process number
 * that a client is told at the start; one that shares connections then serves two clients with the same process, or one
 * with different ones.
 */
export async function refuseTransactionPooling(
  url: string,
  client: Client,
  pid: number,
): Promise<void> {
  if (Reflect.get(client, "processID") === pid) return;
  const other = await openConnection(url, "gateside collect pooler check");
  const timer = setTimeout(() => dropConnection(other), ANSWER_MS);
  try {
    for (let round = 0; round < ROUNDS; round++) {
      await other.query("BEGIN");
      const pids = [await pidOf(other), await pidOf(client)];
      await other.query("COMMIT");
      if (pids[0] === pid || pids[1] !== pid) throw new PoolerFailure();
    }
  } catch (error) {
    if (/statement pooling/.test(messageOf(error))) throw new PoolerFailure();
    if (error instanceof PoolerFailure) throw error;
  } finally {
    clearTimeout(timer);
    dropConnection(other);
  }
}

async function pidOf(client: Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  return rows[0]?.pid;
}
