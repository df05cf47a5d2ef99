import type { Meta } from "./meta.ts";
import type { WriteQueue } from "./write-queue.ts";

const KEY = "dropped";

/** How many readings and waveforms were given up, by reason; over restarts. */
export class DroppedCounts {
  readonly #meta: Meta;
  readonly #queue: WriteQueue;
  readonly #onDropped: ((reason: string, count: number) => void) | undefined;
  #counts: Readonly<Record<string, number>> = {};

  constructor(
    parts: { readonly meta: Meta; readonly queue: WriteQueue },
    onDropped: ((reason: string, count: number) => void) | undefined,
  ) {
    this.#meta = parts.meta;
    this.#queue = parts.queue;
    this.#onDropped = onDropped;
  }

  get counts(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  load(): void {
    this.#counts = JSON.parse(this.#meta.get(KEY) ?? "{}") as Record<string, number>;
  }

  /** Inside the transaction that drops; `dropped` follows its commit. */
  put(reason: string, count: number): void {
    this.#meta.put(KEY, JSON.stringify(this.#with(reason, count)));
  }

  /** Without `put` before it, it is written with the next count: this may be in the middle of a read. */
  dropped(reason: string, count: number): void {
    this.#counts = this.#with(reason, count);
    this.#onDropped?.(reason, count);
  }

  /** In a write of its own. */
  add(reason: string, count: number): void {
    this.#queue.direct("keep counters", () => this.put(reason, count));
    this.dropped(reason, count);
  }

  #with(reason: string, count: number): Record<string, number> {
    return { ...this.#counts, [reason]: (this.#counts[reason] ?? 0) + count };
  }
}
