import type { Meta } from "../database/meta.ts";
import type { WriteQueue } from "../database/write-queue.ts";

const KEY = "dropped";

/** How many readings and waveforms were dropped, by reason; across restarts. */
export class DroppedCounts {
  readonly #meta: Meta;
  readonly #queue: WriteQueue;
  readonly #onDropped: ((reason: string, count: number) => void) | undefined;
  #counts: Readonly<Record<string, number>> = {};
  /** What the running transaction drops. */
  #staged: Readonly<Record<string, number>> = {};

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
    this.#staged = plus(this.#staged, reason, count);
    let all = this.#counts;
    for (const [one, more] of Object.entries(this.#staged)) all = plus(all, one, more);
    this.#meta.put(KEY, JSON.stringify(all));
  }

  /** Without `put` before it, it is written with the next count: this may be in the middle of a read. */
  dropped(reason: string, count: number): void {
    this.#counts = plus(this.#counts, reason, count);
    const { [reason]: staged = 0, ...others } = this.#staged;
    this.#staged = staged > count ? { ...others, [reason]: staged - count } : others;
    this.#onDropped?.(reason, count);
  }

  /** A transaction was rolled back. */
  undone(): void {
    this.#staged = {};
  }

  /** In a separate write. */
  add(reason: string, count: number): void {
    this.#queue.direct("keep counters", () => this.put(reason, count));
    this.dropped(reason, count);
  }
}

const plus = (
  counts: Readonly<Record<string, number>>,
  reason: string,
  count: number,
): Record<string, number> => ({ ...counts, [reason]: (counts[reason] ?? 0) + count });
