/** A session that outlives the process. Neither its key nor its token can be found from it. */
export interface StoredSession {
  /** Digest of the token and the key. */
  readonly name: string;
  /** Two bytes of the digest of the token: enough to see that it was changed, too few to guess it. */
  readonly token: number;
  /** ms since 1970 UTC, whole. */
  readonly lastUsedMs: number;
}

export interface SessionStore {
  all(): readonly StoredSession[];
  /** Adds it, or renews its time. Rejects if the store cannot be written; so does `remove`. */
  put(session: StoredSession): Promise<void>;
  remove(names: readonly string[]): Promise<void>;
}
