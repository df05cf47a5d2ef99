import { Client, type ClientBase } from "pg";
import { from as copyFrom } from "pg-copy-streams";

/** Name lookup, TCP, TLS and login together, ms. */
const CONNECT_TIMEOUT_MS = 10_000;
/** A server that does not respond for this long is gone: the batch is retried over another connection, ms. */
const SILENCE_MS = 120_000;

/** Opens a connection. Times are read and written as UTC. Rejects if the server cannot be reached or refuses. */
export async function openConnection(url: string, name: string): Promise<Client> {
  const client = new Client({
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
  // Failures reach whoever waits for a response; without a listener they would end the process.
  client.on("error", () => {});
  await client.connect();
  await client.query("SET TIME ZONE 'UTC'; SET client_min_messages = warning");
  return client;
}

/** Like `openConnection`, for read-only use. Rejects if no collector has created its tables there. */
export async function openForReading(url: string, name: string): Promise<Client> {
  const client = await openConnection(url, name);
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

/** The URL without user name, password and options, for logs. */
export function publicDatabase(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    return `postgres://${host}${pathname}`;
  } catch {
    return "postgres://…";
  }
}
