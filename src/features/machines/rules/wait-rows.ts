/** What waits for a signal, as it is kept on disk. */
export interface WaitRow {
  /** Ascending in the order of arrival, over all queues. */
  readonly number: number;
  /** Of the reading. */
  readonly timeMs: number;
  /** The agent's running time when it arrived, ms. */
  readonly sinceMs: number;
  readonly text: string;
}

/** Rows of the running transaction, and those that are committed. */
export interface WaitRows {
  /** Every row without its text, by number: read at the start. */
  all(): readonly (Omit<WaitRow, "text"> & { readonly queue: string })[];
  add(queue: string, row: WaitRow): void;
  /** The oldest rows of a queue. */
  first(queue: string, max: number): readonly WaitRow[];
  /** Removes the rows of a queue up to this number. */
  remove(queue: string, number: number): void;
  /** The text of the row of this number, which was taken, could not be read. */
  damaged(number: number): void;
}

/** Rows that no store keeps. */
export class WaitRowsInMemory implements WaitRows {
  #rows: (WaitRow & { readonly queue: string })[] = [];

  all(): readonly (WaitRow & { readonly queue: string })[] {
    return this.#rows;
  }

  add(queue: string, row: WaitRow): void {
    this.#rows.push({ queue, ...row });
  }

  first(queue: string, max: number): readonly WaitRow[] {
    return this.#rows.filter((row) => row.queue === queue).slice(0, max);
  }

  remove(queue: string, number: number): void {
    this.#rows = this.#rows.filter((row) => row.queue !== queue || row.number > number);
  }

  damaged(): void {}
}
