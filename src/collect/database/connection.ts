import { Client, type ClientBase } from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { databaseAddress, publicDatabase } from "../../core/addresses/database-url.ts";
import type { Logger } from "../../core/ports.ts";
import { messageOf } from "../../core/thrown.ts";
import { DatabaseUnfit, prepareSession } from "./session-settings.ts";

/** Name lookup, TCP, TLS and login together, ms. */
const CONNECT_TIMEOUT_MS = 10_000;
/** A server that does not respond for this long is gone: the batch is retried over another connection, ms. */
const SILENCE_MS = 120_000;

/** The server cannot be written to; the code lets it count as a lost connection. */
class NotPrimary extends Error {
  readonly code = "08004";
}

interface ConnectionOptions {
  /** A standby will do. */
  readonly isReading?: boolean;
  /** For hosts that are passed over. */
  readonly logger?: Logger | null;
}

/**
 * Opens a connection to the first of the hosts that serves; one that only reads accepts standbys, unless the address
 * forbids it. Times are read and written as UTC. Rejects if no host serves.
 * @param name as the server's statistics show it
 */
export async function openConnection(
  url: string,
  name: string,
  { isReading = false, logger }: ConnectionOptions = {},
): Promise<Client> {
  const address = databaseAddress(url);
  if (address === null) throw new Error(`${publicDatabase(url)} is not a PostgreSQL address`);
  const { hosts, isPrimary, schema } = address;
  const at = { whole: url, schema };
  const failures: string[] = [];
  let last: unknown;
  for (const host of hosts) {
    try {
      return await connect(host, name, isPrimary || !isReading, at);
    } catch (error) {
      if (error instanceof DatabaseUnfit) throw error;
      last = error;
      const fields = { database: publicDatabase(host), error: messageOf(error) };
      if (hosts.length > 1) logger?.warn(fields, "this server of the database cannot be used");
      failures.push(`${publicDatabase(host)}: ${fields.error}`);
    }
  }
  if (last instanceof Error && hosts.length > 1) last.message = failures.join("; ");
  throw last;
}

async function connect(
  url: string,
  name: string,
  isPrimary: boolean,
  { whole, schema }: { readonly whole: string; readonly schema: string | null },
): Promise<Client> {
  const client = new Client({
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
  // Failures reach whoever waits for a response; without a listener they would end the process.
  client.on("error", () => LOST.add(client));
  client.on("end", () => LOST.add(client));
  try {
    await client.connect();
    await prepareSession(client, whole, schema);
    if (isPrimary) await requirePrimary(client);
    return client;
  } catch (error) {
    dropConnection(client);
    throw error;
  }
}

/** Throws if the server accepts no writes. */
export async function requirePrimary(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ standby: boolean; read_only: string }>(
    "SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') AS read_only",
  );
  if (rows[0]?.standby === true) throw new NotPrimary("this is a standby; trying the next");
  if (rows[0]?.read_only === "on")
    throw new NotPrimary("this server accepts no writes (it is set to read-only); trying the next");
}
const LOST = new WeakSet<Client>();

/** True once the client has no connection. */
export function isLost(client: Client): boolean {
  return LOST.has(client);
}

/** Like `openConnection`, for read-only use. Rejects if no collector has created its tables there. */
export async function openForReading(url: string, name: string): Promise<Client> {
  const client = await openConnection(url, name, { isReading: true });
  try {
    const { rows } = await client.query<{ is_there: boolean }>(
      "SELECT to_regclass('gateside_schema') IS NOT NULL AS is_there",
    );
    if (rows[0]?.is_there === true) return client;
    throw new Error(
      `${publicDatabase(url)} has no Gateside tables: run \`gateside collect --migrate-only --to …\``,
    );
  } catch (error) {
    dropConnection(client);
    throw error;
  }
}

/** Ends a connection without waiting for the server. */
export function dropConnection(client: Client): void {
  void client.end().catch(() => {});
}

/** Rejects, and drops the connection, if the work on it takes longer than on a live server. */
export async function withDeadline<T>(client: Client, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`PostgreSQL has not responded for ${SILENCE_MS / 1000} s`));
      dropConnection(client);
    }, SILENCE_MS);
  });
  try {
    return await Promise.race([work, silence]);
  } finally {
    clearTimeout(timer);
  }
}

/** COPY … FROM STDIN with these lines. */
export function copyIn(client: ClientBase, sql: string, lines: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = client.query(copyFrom(sql));
    stream.once("error", reject);
    stream.once("finish", resolve);
    stream.end(lines);
  });
}
