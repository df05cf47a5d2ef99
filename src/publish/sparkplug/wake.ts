/** A bell: whoever waits on the armed signal is woken by `ring`, also when it rang before the waiting began. */
export class Wake {
  #bell = new AbortController();

  /** To be called before looking at what the bell announces, so that no ring in between is missed. */
  arm(): AbortSignal {
    if (this.#bell.signal.aborted) this.#bell = new AbortController();
    return this.#bell.signal;
  }
  ring(): void {
    this.#bell.abort();
  }
}
