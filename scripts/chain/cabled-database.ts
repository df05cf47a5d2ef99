/** The database of a run, as the chain sees it, whatever is behind it. */
import type { Relay } from "../chaos/relay.ts";
import { ask } from "./processes.ts";

/** What can be done to a part of the chain, by name. */
export type Fault = readonly [string, () => Promise<unknown>];

export interface CabledDatabase {
  /** The primary as it is now, without a relay. */
  readonly url: (name: string) => string;
  /** COLLECT_TO of a database, through relays. */
  readonly to: (name: string) => string;
  readonly cables: readonly Relay[];
  readonly faults: readonly Fault[];
  /** Ids that were stored in what an asynchronous fail-over or a restore took away: the database itself may have lost them. */
  readonly mayBeGone: ReadonlySet<string>;
  /** Ends every server and proxy. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** A file system of its own for the server; null if there is none. */
  readonly disk: string | null;
  readonly names: readonly string[];
  readonly random: () => number;
}

/** Of every reading. */
export const IDS = "SELECT id FROM reading";

/** Of the readings that are stored there; none if there are no tables yet. */
export async function idsIn(url: string): Promise<readonly string[]> {
  return (await ask<{ id: string }>(url, IDS).catch(() => [])).map(({ id }) => id);
}
