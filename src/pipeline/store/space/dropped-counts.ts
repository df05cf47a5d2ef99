import { parsedObject } from "../../../core/parsed-json.ts";
import type { Tx } from "../../../core/tx.ts";
import type { DamagedRows } from "../database/damaged-rows.ts";
import type { Meta } from "../database/meta.ts";

const KEY = "dropped";

/** How many readings and waveforms were dropped, by reason; across restarts. */
export class DroppedCounts {
  readonly #meta: Meta;
  readonly #onDropped: ((reason: string, count: number) => void) | undefined;
  readonly #damaged: DamagedRows;
  #counts: Readonly<Record<string, number>> = {};

  constructor(
    meta: Meta,
    onDropped: ((reason: string, count: number) => void) | undefined,
    damaged: DamagedRows,
  ) {
    this.#meta = meta;
    this.#onDropped = onDropped;
    this.#damaged = damaged;
  }

  get counts(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  load(): void {
    const text = this.#meta.get(KEY) ?? "{}";
    const saved = parsedObject(text);
    // They begin again at 0, as after a new DATA_DIR.
    if (saved === null) this.#damaged.found("meta", KEY);
    const counts = Object.entries(saved ?? {});
    this.#counts = Object.fromEntries(
      counts.flatMap(([reason, count]) => (typeof count === "number" ? [[reason, count]] : [])),
    );
  }

  /** Inside the transaction that drops them. */
  add(tx: Tx, reason: string, count: number): void {
    const added = tx.draft(this, () => {
      const made = new Map<string, number>();
      tx.onCommit(() => {
        for (const [one, more] of made) this.note(one, more);
      });
      return made;
    });
    added.set(reason, (added.get(reason) ?? 0) + count);
    let all = this.#counts;
    for (const [one, more] of added) all = plus(all, one, more);
    this.#meta.put(KEY, JSON.stringify(all));
  }

  /** Found to be lost outside any transaction, perhaps in the middle of a read: written with the next count. */
  note(reason: string, count: number): void {
    this.#counts = plus(this.#counts, reason, count);
    this.#onDropped?.(reason, count);
  }
}

const plus = (
  counts: Readonly<Record<string, number>>,
  reason: string,
  count: number,
): Record<string, number> => ({ ...counts, [reason]: (counts[reason] ?? 0) + count });
