/**
 * Many calls may wait on one signal, as all reads of a poller do: the signal gets one listener while at least one of
 * them waits, and none after. From the eleventh listener on, Node warns of a leak.
 */
export class AbortCallbacks {
  readonly #waiting = new WeakMap<AbortSignal, Waiting>();

  /** Calls back once, when the signal aborts; not if it has aborted already. Returns a function that cancels it. */
  add(signal: AbortSignal, callback: () => void): () => void {
    const waiting = this.#waiting.get(signal) ?? this.#listen(signal);
    waiting.callbacks.add(callback);
    return () => {
      if (!waiting.callbacks.delete(callback) || waiting.callbacks.size > 0) return;
      this.#waiting.delete(signal);
      signal.removeEventListener("abort", waiting.abort);
    };
  }

  #listen(signal: AbortSignal): Waiting {
    const callbacks = new Set<() => void>();
    const abort = () => {
      this.#waiting.delete(signal);
      const due = [...callbacks];
      callbacks.clear();
      for (const callback of due) callback();
    };
    signal.addEventListener("abort", abort, { once: true });
    const waiting = { callbacks, abort };
    this.#waiting.set(signal, waiting);
    return waiting;
  }
}

interface Waiting {
  readonly callbacks: Set<() => void>;
  readonly abort: () => void;
}
