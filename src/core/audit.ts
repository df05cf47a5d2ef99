/** A change that somebody made or tried to make: who, when, what, and what became of it. */
export interface AuditEntry {
  readonly timeMs: number;
  /** Name of the token, or how else they came in: HTTP_TOKEN, HTTP_VIEW_TOKEN, loopback, local socket, SIGHUP, signed document, MQTT and the uplink. */
  readonly who: string;
  /** Address they came from; empty where there is none. */
  readonly address: string;
  /** Method and route, or the name of the action. */
  readonly what: string;
  /** What of: codes and names, and no secret. */
  readonly detail: string;
  /** HTTP status, or a word such as applied or refused. */
  readonly outcome: string;
}

export interface StoredAuditEntry extends AuditEntry {
  readonly entry: number;
  /** How often it happened; more than once for refusals of one kind that came within a minute. */
  readonly times: number;
  /** When it happened last. */
  readonly lastTimeMs: number;
}

/** Refused on sight: nothing was changed. A change that may have happened is none. */
export function isRefused(outcome: string): boolean {
  return /^(4\d\d|501)$/.test(outcome) || REFUSED.has(outcome);
}

const REFUSED: ReadonlySet<string> = new Set(["refused", "rejected", "rejected_local", "replayed"]);

export interface AuditLog {
  /**
   * Durable once it returns, but for the count of a refusal that repeats, which is written once its minute is over. Throws where the store
   * cannot be written.
   */
  add(entry: AuditEntry): void;
  /** Newest first; `before`: entries older than this number. */
  newest(limit: number, before: number | null): readonly StoredAuditEntry[];
}
