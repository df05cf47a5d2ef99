/** A change that somebody made or tried to make: who, when, what, and what became of it. */
export interface AuditEntry {
  readonly timeMs: number;
  /** Name of the token, or how else they came in: HTTP_TOKEN, HTTP_VIEW_TOKEN, loopback, local socket, SIGHUP, signed document. */
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
}

export interface AuditLog {
  /** Durable once it returns. Throws where the store cannot be written. */
  add(entry: AuditEntry): void;
  /** Newest first; `before`: entries older than this number. */
  newest(limit: number, before: number | null): readonly StoredAuditEntry[];
}
