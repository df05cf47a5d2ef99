import { codeOf, messageOf } from "../../core/thrown.ts";
import type { Item } from "../parse/item.ts";

/** The meaning of a failure to write a batch. */
export type FailureKind =
  /** PostgreSQL refuses something in the batch itself: find the message and set it aside. */
  | "data"
  /** Something that is remembered of the database is no longer true: forget it and write the same batch again. */
  | "stale"
  /** Unavailable, restarting, full, or a lock: retry the same batch later. */
  | "later"
  /** Permissions or tables are wrong: retry the same batch; an operator must act. */
  | "setup"
  /** Neither PostgreSQL nor the connection: a fault of this program. */
  | "fault";

/** SQLSTATE classes of invalid values: data exception, integrity constraint, program limit exceeded. */
const DATA_CLASSES = ["22", "23", "54"];
const SETUP_CLASSES = ["28", "3D", "3F", "42", "0A", "25"];
const FOREIGN_KEY = "23503";
const CHECK = "23514";

/** PostgreSQL cannot be reached, or the connection to it was lost; the message says why. */
export class ConnectionFailure extends Error {}

/** A failure to connect, or one on a connection that was lost; what PostgreSQL itself has said stays. */
export function asConnectionFailure(error: unknown): unknown {
  if (sqlState(error) !== null || error instanceof ConnectionFailure) return error;
  return new ConnectionFailure(messageOf(error), { cause: error });
}

/** A statement that writes has reached a standby, or a primary that was set to read-only. */
const READ_ONLY = "25006";

export function failureKind(error: unknown): FailureKind {
  const code = sqlState(error);
  if (code === null) return error instanceof ConnectionFailure ? "later" : "fault";
  if (code === READ_ONLY) return "later";
  if (isStale(error)) return "stale";
  const group = code.slice(0, 2);
  if (DATA_CLASSES.includes(group)) return "data";
  return SETUP_CLASSES.includes(group) ? "setup" : "later";
}

/**
 * A number or a partition that was remembered does not exist any more. That there is no partition is told apart from a
 * check by the constraint, which only a check names: messages are in the server's language.
 */
function isStale(error: unknown): boolean {
  const code = sqlState(error);
  if (code !== CHECK) return code === FOREIGN_KEY;
  return error instanceof Error && Reflect.get(error, "constraint") === undefined;
}

/** The five characters of SQLSTATE, or null for everything that PostgreSQL did not say. */
export function sqlState(error: unknown): string | null {
  const code = codeOf(error);
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith("E")
    ? code
    : null;
}

/** True if the connection, and what is remembered with it, may be used for the next transaction after a ROLLBACK. */
export function isConnectionUsable(error: unknown): boolean {
  const code = sqlState(error);
  return code !== null && code !== READ_ONLY && !isStale(error) && !/^(08|57P|XX|58)/.test(code);
}

const REFUSED = new WeakMap<object, readonly Item[]>();

/** The items that a statement contained which PostgreSQL refused; empty if that is not known. */
export function refusedItems(error: unknown): readonly Item[] {
  return (typeof error === "object" && error !== null && REFUSED.get(error)) || [];
}

/** Runs a statement that writes these items, and notes them on its failure. COPY even tells the line. */
export async function writing<T>(items: readonly Item[], statement: Promise<T>): Promise<T> {
  try {
    return await statement;
  } catch (error) {
    const where = error instanceof Error ? String(Reflect.get(error, "where") ?? "") : "";
    // The word for line is the server's language.
    const line = /^COPY \w+\D+(\d+)/.exec(where)?.[1];
    const one = line === undefined ? undefined : items[Number(line) - 1];
    if (typeof error === "object" && error !== null)
      REFUSED.set(error, one === undefined ? items : [one]);
    throw error;
  }
}
