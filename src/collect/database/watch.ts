import type { Client } from "pg";
import type { Logger } from "../../core/ports.ts";
import { dropConnection, openConnection } from "./connection.ts";
import type { Backend } from "./session.ts";

export interface WatchTimes {
  /** A statement that takes longer is looked at, and again at this interval, ms. */
  readonly lookMs: number;
  /** The server is gone if neither the statement nor a look has had an answer for this long, ms. */
  readonly silenceMs: number;
  /** A statement that still waits is logged again after this long, ms. */
  readonly remindMs: number;
}

const TIMES: WatchTimes = { lookMs: 10_000, silenceMs: 120_000, remindMs: 60_000 };

interface Activity {
  readonly event_type: string | null;
  readonly event: string | null;
  readonly blocker: string | null;
}

/**
 * Waits for statements however long they take, as long as their server lives: one connection writes, this one looks.
 * A waiting COMMIT would go on waiting at the server if its connection were given up, and hold a connection there.
 */
export class DatabaseWatch {
  readonly #url: string;
  readonly #logger: Logger | null;
  readonly #times: WatchTimes;
  #client: Client | null = null;
  #waitsFor: string | null = null;

  constructor(url: string, logger: Logger | null, times: WatchTimes = TIMES) {
    this.#url = url;
    this.#logger = logger;
    this.#times = times;
  }

  /** What the current statement waits for; null while nothing takes long. */
  get waitsFor(): string | null {
    return this.#waitsFor;
  }

  /** Rejects, and drops the connection, if its server has been silent for too long. */
  async during<T>(client: Client, backend: Backend, work: Promise<T>): Promise<T> {
    const startedAt = performance.now();
    let heardAt = startedAt;
    let loggedAt = Number.NEGATIVE_INFINITY;
    try {
      while (!(await isSettled(work, this.#times.lookMs))) {
        const waitsFor = await this.#look(backend);
        const now = performance.now();
        this.#waitsFor = waitsFor ?? "an answer of the server";
        if (waitsFor !== null) heardAt = now;
        else if (now - heardAt >= this.#times.silenceMs) {
          dropConnection(client);
          throw new SilentServer(`PostgreSQL has not responded for ${seconds(now - heardAt)} s`);
        }
        if (now - loggedAt < this.#times.remindMs) continue;
        loggedAt = now;
        this.#logger?.warn(
          { waitsFor: this.#waitsFor, seconds: seconds(now - startedAt) },
          "PostgreSQL has not finished the batch; nothing is acknowledged until it has",
        );
      }
      return await work;
    } finally {
      this.#waitsFor = null;
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }

  /** What the server's process waits for; null if the server does not answer, or has no such process. */
  async #look(backend: Backend): Promise<string | null> {
    let client: Client | null = null;
    try {
      client = await this.#connect();
      const asked = client.query<Activity>(
        `SELECT wait_event_type AS event_type, wait_event AS event,
           (SELECT string_agg(format('%s (process %s)', coalesce(nullif(b.application_name, ''), 'another session'), b.pid), ', ')
            FROM pg_stat_activity b WHERE b.pid = ANY(pg_blocking_pids(a.pid))) AS blocker
         FROM pg_stat_activity a WHERE pid = $1 AND date_trunc('milliseconds', backend_start) = $2`,
        [backend.pid, backend.startedAt],
      );
      if (!(await isSettled(asked, this.#times.lookMs))) throw new Error("no answer");
      const [activity] = (await asked).rows;
      return activity === undefined ? null : textOf(activity);
    } catch {
      if (client !== null) this.#drop(client);
      return null;
    }
  }

  async #connect(): Promise<Client> {
    if (this.#client !== null) return this.#client;
    const client = await openConnection(this.#url, "gateside collect watch", { isReading: true });
    client.once("end", () => this.#drop(client));
    this.#client = client;
    return client;
  }

  #drop(client: Client): void {
    if (this.#client === client) this.#client = null;
    dropConnection(client);
  }
}

/** Counts as a lost connection. */
class SilentServer extends Error {
  readonly code = "08006";
}

function textOf({ event_type, event, blocker }: Activity): string {
  if (event === "SyncRep")
    return "a synchronous standby to confirm the COMMIT (synchronous_standby_names)";
  if (blocker !== null) return `a lock held by ${blocker}`;
  return event === null ? "the server, which is working on it" : `${event_type}: ${event}`;
}

const seconds = (ms: number) => Math.round(ms / 1000);

/** False if the work takes longer. */
async function isSettled(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const settled = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}
