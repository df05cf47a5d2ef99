import { INTEGER, list, MS, named, type Of, object, orNull, TEXT } from "./schema.ts";

/** A change that somebody made or tried to make: who, when, what, and the result. */
export interface AuditEntry {
  readonly timeMs: number;
  /**
   * Name of the token, or the way the request arrived: HTTP_TOKEN, HTTP_VIEW_TOKEN, loopback, local socket, SIGHUP,
   * signed document, MQTT and the uplink.
   */
  readonly who: string;
  /** Address it came from; empty if there is none. */
  readonly address: string;
  /** Whom a trusted proxy names (HTTP_USER_HEADER); absent for nobody. */
  readonly person?: string | null;
  /** Method and route, or the name of the action. */
  readonly what: string;
  /** The subject: codes and names, no secrets. */
  readonly detail: string;
  /** HTTP status, or a word such as applied or refused. */
  readonly outcome: string;
}

const STORED_AUDIT_ENTRY = named(
  "AuditEntry",
  object({
    entry: INTEGER,
    timeMs: MS,
    who: TEXT,
    person: { ...orNull(TEXT), description: "Whom a trusted proxy names (HTTP_USER_HEADER)." },
    address: TEXT,
    what: TEXT,
    detail: TEXT,
    outcome: TEXT,
    /** Number of occurrences; more than one for refusals of one kind within a minute. */
    times: INTEGER,
    /** When it happened last. */
    lastTimeMs: MS,
  }),
);
export type StoredAuditEntry = Of<typeof STORED_AUDIT_ENTRY>;
export const AUDIT_PAGE = object({ entries: list(STORED_AUDIT_ENTRY), before: orNull(INTEGER) });
export type AuditPage = Of<typeof AUDIT_PAGE>;

/** Refused at once: nothing was changed. A change that may have happened is not one. */
export function isRefused(outcome: string): boolean {
  return /^(4\d\d|501)$/.test(outcome) || REFUSED.has(outcome);
}

const REFUSED: ReadonlySet<string> = new Set(["refused", "rejected", "rejected_local", "replayed"]);

export interface AuditLog {
  /**
   * Durable once it resolves, except for the count of a repeated refusal, which is written once its minute is over.
   * Rejects if the store cannot be written.
   */
  add(entry: AuditEntry): Promise<void>;
  /** Newest first; `before`: entries older than this number. */
  newest(limit: number, before: number | null): readonly StoredAuditEntry[];
}
