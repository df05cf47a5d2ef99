/** Renews a session before the token expires that it was opened with. */
export class TokenTimer {
  readonly #lifetimeMs: number;
  readonly #renew: () => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(lifetimeMs: number, renew: () => void) {
    this.#lifetimeMs = lifetimeMs;
    this.#renew = renew;
  }

  /** A session has begun with a new token. */
  begin(): void {
    this.end();
    this.#timer = setTimeout(this.#renew, this.#lifetimeMs);
    this.#timer.unref();
  }

  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
