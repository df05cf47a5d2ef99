import type { LiveEvent, LiveSource } from "../../../core/query/ports.ts";

/** Passes newly stored readings to current subscribers (the dashboard's event streams). Costs nothing without any. */
export class LiveHub implements LiveSource {
  readonly #listeners = new Set<(event: LiveEvent) => void>();

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  subscribe(listener: (event: LiveEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event: LiveEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
