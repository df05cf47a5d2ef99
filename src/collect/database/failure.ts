/** The meaning of a PostgreSQL failure for the current batch. */
export type FailureKind =
  /** Something in the batch itself: find the message and set it aside. */
  | "data"
  /** Unavailable, restarting, full, or a lock: retry the same batch later. */
  | "later"
  /** Permissions or tables are wrong: retry the same batch; an operator must act. */
  | "setup";

/** SQLSTATE classes of invalid values: data exception, integrity constraint, program limit exceeded. */
const DATA_CLASSES = ["22", "23", "54"];
const SETUP_CLASSES = ["28", "3D", "3F", "42", "0A", "25"];

/** A statement that writes has reached a standby, or a primary that was set to read-only. */
const READ_ONLY = "25006";

export function failureKind(error: unknown): FailureKind {
  const code = sqlState(error);
  if (code === null || code === READ_ONLY) return "later";
  if (code === "23514" && /no partition of relation/.test(messageOf(error))) return "later";
  const group = code.slice(0, 2);
  if (DATA_CLASSES.includes(group)) return "data";
  return SETUP_CLASSES.includes(group) ? "setup" : "later";
}

/** The five characters of SQLSTATE, or null for a failure of the connection. */
export function sqlState(error: unknown): string | null {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : null;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith("E")
    ? code
    : null;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}

/** True if the connection may be used for the next transaction after a ROLLBACK. */
export function isConnectionUsable(error: unknown): boolean {
  const code = sqlState(error);
  return code !== null && code !== READ_ONLY && !/^(08|57P|XX|58)/.test(code);
}
