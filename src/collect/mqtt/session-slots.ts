import { createHash } from "node:crypto";
import type { Client } from "pg";
import { dropConnection, openConnection, withDeadline } from "../database/connection.ts";
import { isConnectionUsable, sqlState } from "../database/failure.ts";

/** No more collectors than this share a subscription. */
const SLOTS_MAX = 256;
/** A restarting process takes its session back within this time, s; after it another one empties it. */
const ORPHAN_S = 10;

/**
 * Names for the broker sessions of equal processes. A session must survive its process, so its client id must return,
 * and no two processes may have the same. Each name is an advisory lock of PostgreSQL, which ends with its holder
 * however that ends: the next process takes the first free one, and with it what the broker kept for it.
 */
export class SessionSlots {
  readonly #url: string;
  /** Broker, prefix and group: common to equal processes. */
  readonly #source: string;
  readonly #group: string;
  #client: Client | null = null;
  /** A connection does one thing at a time; refreshes would pile up behind a silent PostgreSQL. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(url: string, source: string, group: string) {
    this.#url = url;
    this.#source = source;
    this.#group = group;
  }

  /** True while the locks are held for certain. */
  get isHeld(): boolean {
    return this.#client !== null;
  }

  /** Takes `wanted` if it is free, otherwise the first free slot. Rejects if PostgreSQL cannot be reached. */
  acquire(wanted: number | null): Promise<number> {
    return this.#inTurn((client) => this.#acquire(client, wanted));
  }

  async #acquire(client: Client, wanted: number | null): Promise<number> {
    const order = Array.from({ length: SLOTS_MAX }, (_, i) => i + 1);
    for (const slot of wanted === null ? order : [wanted, ...order]) {
      if (!(await this.#tryLock(client, slot))) continue;
      await client.query(
        `INSERT INTO collector_session (source, slot, client_id, seen) VALUES ($1, $2, $3, now())
         ON CONFLICT (source, slot) DO UPDATE SET seen = now()`,
        [this.#source, slot, this.clientId(slot)],
      );
      return slot;
    }
    throw new Error(`${SLOTS_MAX} collectors of group ${this.#group} are running already`);
  }

  /** Marks these sessions as in use; abandoned ones, whose lock is now held here, are returned to be emptied. */
  refresh(own: readonly number[]): Promise<number[]> {
    return this.#inTurn((client) => this.#refresh(client, own));
  }

  async #refresh(client: Client, own: readonly number[]): Promise<number[]> {
    await client.query(
      "UPDATE collector_session SET seen = now() WHERE source = $1 AND slot = ANY($2::integer[])",
      [this.#source, own],
    );
    const { rows } = await client.query<{ slot: number }>(
      `SELECT slot FROM collector_session
       WHERE source = $1 AND NOT slot = ANY($2::integer[]) AND seen < now() - make_interval(secs => ${ORPHAN_S}) ORDER BY slot`,
      [this.#source, own],
    );
    const orphans: number[] = [];
    for (const { slot } of rows) if (await this.#tryLock(client, slot)) orphans.push(slot);
    return orphans;
  }

  /** The session of an emptied slot has been ended at the broker. */
  remove(slot: number): Promise<void> {
    return this.#inTurn((client) => this.#remove(client, slot));
  }

  async #remove(client: Client, slot: number): Promise<void> {
    await client.query("DELETE FROM collector_session WHERE source = $1 AND slot = $2", [
      this.#source,
      slot,
    ]);
    await client.query("SELECT pg_advisory_unlock($1, $2)", [this.#key(), slot]);
  }

  clientId(slot: number): string {
    // Some brokers accept only 23 characters; letters and digits are always allowed.
    return `gsc${createHash("sha256").update(this.#source).digest("hex").slice(0, 10)}x${slot}`;
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }

  #inTurn<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const result = this.#turn.then(async () => {
      const client = await this.#connect();
      try {
        return await withDeadline(client, work(client));
      } catch (error) {
        if (sqlState(error) !== null && !isConnectionUsable(error)) this.#drop(client);
        throw error;
      }
    });
    this.#turn = result.catch(() => {});
    return result;
  }

  async #tryLock(client: Client, slot: number): Promise<boolean> {
    const { rows } = await client.query<{ taken: boolean }>(
      "SELECT pg_try_advisory_lock($1, $2) AS taken",
      [this.#key(), slot],
    );
    return rows[0]?.taken === true;
  }

  #key(): number {
    return createHash("sha256").update(this.#source).digest().readInt32BE(0);
  }

  async #connect(): Promise<Client> {
    if (this.#client !== null) return this.#client;
    const client = await openConnection(this.#url, "gateside collect sessions");
    // What it writes need not outlive a fail-over, and must not wait for a standby that is away.
    await client.query("SET synchronous_commit = local");
    client.once("end", () => this.#drop(client));
    this.#client = client;
    return client;
  }

  #drop(client: Client): void {
    if (this.#client === client) this.#client = null;
    dropConnection(client);
  }
}
