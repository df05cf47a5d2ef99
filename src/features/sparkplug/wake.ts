/** A wake-up signal: a waiter on the armed signal is woken by `ring`, also if it rang before the waiting began. */
export class Wake {
  #bell = new AbortController();

  /** To be called before checking for work, so that no ring in between is missed. */
  arm(): AbortSignal {
    if (this.#bell.signal.aborted) this.#bell = new AbortController();
    return this.#bell.signal;
  }
  ring(): void {
    this.#bell.abort();
  }
}
