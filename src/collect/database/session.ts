import type { Client } from "pg";
import type { Logger } from "../../core/ports.ts";
import { dropConnection, openConnection } from "./connection.ts";
import { StoredDescriptions } from "./descriptions.ts";
import { Dictionary } from "./dictionary.ts";
import { WRITER_LOCK } from "./horizon.ts";
import { migrate } from "./migrate.ts";
import { Partitions } from "./partitions.ts";
import { refuseTransactionPooling } from "./pooler.ts";
import { poorEncoding } from "./session-settings.ts";
import { StreamNumbers } from "./streams.ts";
import { createStages } from "./write-readings.ts";

/** The tables whose numbers are remembered. */
const NUMBERED = "stream, unit_set, attribute_set";

/**
 * A connection and everything remembered of the database behind it. Both end together: the next connection may lead to
 * a standby that lacks the newest rows, or to a restored database where other streams have the same numbers.
 */
export interface DatabaseSession {
  readonly client: Client;
  /** The server's process for this connection. */
  readonly backend: Backend;
  readonly streams: StreamNumbers;
  readonly units: Dictionary;
  readonly attributes: Dictionary;
  readonly descriptions: StoredDescriptions;
  readonly partitions: Partitions;
  /** The tables that the numbers belong to. */
  readonly tables: string;
  /** Rows before it are not accepted; of the newest transaction. */
  horizonMs: number;
  /** The server's clock minus ours, then, ms. */
  skewMs: number;
  /** The server's clock at the beginning of the newest transaction, ms. */
  serverMs: number;
  /** `skewMs`, but steady: what arrives in order stays in order. */
  offsetMs: number;
}

/** A batch takes a second or two; one whose statement takes longer is written in smaller parts, ms. */
const STATEMENT_MS = 30_000;

/** How far the offset may be off before it is taken anew, ms: more than a slow response, less than people notice. */
const OFFSET_STEP_MS = 1_000;

/** When a message arrived, by the clock that all collectors share: theirs differ, and one that is ahead would keep out what follows. */
export function arrivalMs(
  { offsetMs, serverMs }: Pick<DatabaseSession, "offsetMs" | "serverMs">,
  receivedMs: number,
): number {
  return Math.min(receivedMs + offsetMs, serverMs);
}

/** Identified by process number and start. */
export interface Backend {
  readonly pid: number;
  readonly startedAt: Date;
}

/** The tables were replaced under an open connection. */
class TablesReplaced extends Error {
  /** Treated like a lost connection. */
  readonly code = "08000";

  constructor() {
    super("the database was restored; connecting again");
  }
}

/** Connects and updates the schema. Rejects if that fails; with a `PoolerFailure` behind a pooler that cannot be used. */
export async function openSession(url: string, logger: Logger | null): Promise<DatabaseSession> {
  const client = await openConnection(url, "gateside collect", { logger });
  try {
    const backend = await backendOf(client);
    await refuseTransactionPooling(url, client, backend.pid);
    // Nothing here needs a standby's confirmation, and a start must not wait for one that is away.
    await client.query("SET synchronous_commit = local");
    await migrate(client);
    const encoding = await poorEncoding(client);
    if (encoding !== null)
      logger?.warn(
        { encoding },
        "the database does not hold every text: messages with others are rejected; copy it into one with the encoding UTF8",
      );
    await createStages(client);
    await client.query("RESET synchronous_commit");
    const descriptions = new StoredDescriptions();
    // `fleet retire` has deleted rows of a box, which may publish again.
    client.on("notification", () => descriptions.forget());
    await client.query("LISTEN gateside_retired");
    return {
      client,
      backend,
      streams: new StreamNumbers(),
      units: new Dictionary("unit_set"),
      attributes: new Dictionary("attribute_set"),
      descriptions,
      partitions: new Partitions(),
      offsetMs: 0,
      ...(await stateOf(client)),
    };
  } catch (error) {
    dropConnection(client);
    throw error;
  }
}

async function backendOf(client: Client): Promise<Backend> {
  const { rows } = await client.query<{ pid: number; started: Date }>(
    "SELECT pid, backend_start AS started FROM pg_stat_activity WHERE pid = pg_backend_pid()",
  );
  return { pid: rows[0]?.pid ?? 0, startedAt: rows[0]?.started ?? new Date(0) };
}

/**
 * Begins a transaction in which the remembered numbers are valid. True if the horizon has risen since the one before.
 * Throws `TablesReplaced` if a restore has replaced the tables since the session was opened: dropped or truncated ones
 * have other files.
 */
export async function begin(session: DatabaseSession): Promise<boolean> {
  const { client } = session;
  // The lock keeps a restore that begins now waiting until the end of the transaction.
  await client.query(
    `BEGIN; SET LOCAL statement_timeout = ${STATEMENT_MS}; LOCK TABLE ${NUMBERED} IN ACCESS SHARE MODE; ${WRITER_LOCK}`,
  );
  const { tables, horizonMs, skewMs, serverMs } = await stateOf(client);
  if (tables !== session.tables) throw new TablesReplaced();
  const hasRisen = horizonMs !== session.horizonMs;
  session.horizonMs = horizonMs;
  session.skewMs = skewMs;
  session.serverMs = serverMs;
  if (Math.abs(skewMs - session.offsetMs) > OFFSET_STEP_MS) session.offsetMs = skewMs;
  return hasRisen;
}

type SessionState = Pick<DatabaseSession, "tables" | "horizonMs" | "skewMs" | "serverMs">;

async function stateOf(client: Client): Promise<SessionState> {
  const { rows } = await client.query<{ tables: string; before: number; now: number }>(
    `SELECT (SELECT string_agg(name || pg_relation_filenode(name::regclass), ' ')
       FROM unnest(string_to_array('${NUMBERED}', ', ')) name) AS tables,
       (extract(epoch FROM before) * 1000)::float8 AS before, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
     FROM horizon`,
  );
  const [row] = rows;
  return {
    tables: row?.tables ?? "",
    horizonMs: row?.before ?? Number.NEGATIVE_INFINITY,
    skewMs: row === undefined ? 0 : row.now - Date.now(),
    serverMs: row?.now ?? Date.now(),
  };
}
