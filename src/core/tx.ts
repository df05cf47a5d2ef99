/** One transaction of the store, for the parts that hold in memory what is on disk. */

export interface Tx {
  /** Seen by others only once it is on disk; in order of registration. Neither writes nor throws. */
  onCommit(act: () => void): void;
  /**
   * Takes back what had to hold at once: last first, before anything is read from disk again. It is the inverse of one
   * change: a copy of the former state would lose what changed meanwhile.
   */
  onRollback(undo: () => void): void;
  /** What later writes of this transaction must see, made for the first of them; ends with it. */
  draft<T>(owner: object, make: () => T): T;
}

/** Collects what belongs to one transaction. Whoever runs that calls `committed` or `rolledBack`, once. */
export class UnitOfWork implements Tx {
  readonly #acts: (() => void)[] = [];
  readonly #undos: (() => void)[] = [];
  readonly #drafts = new Map<object, unknown>();
  #isOver = false;

  onCommit(act: () => void): void {
    this.#requireOpen();
    this.#acts.push(act);
  }

  onRollback(undo: () => void): void {
    this.#requireOpen();
    this.#undos.push(undo);
  }

  draft<T>(owner: object, make: () => T): T {
    this.#requireOpen();
    if (!this.#drafts.has(owner)) this.#drafts.set(owner, make());
    return this.#drafts.get(owner) as T;
  }

  committed(): void {
    this.#end();
    for (const act of this.#acts) act();
  }

  rolledBack(): void {
    this.#end();
    for (const undo of this.#undos.toReversed()) undo();
  }

  #end(): void {
    this.#requireOpen();
    this.#isOver = true;
  }

  /** Memory that changes with a transaction that is over would never be made to match the disk. */
  #requireOpen(): void {
    if (this.#isOver) throw new Error("the transaction is over");
  }
}

/** A map whose changes hold at once and are taken back if their transaction is rolled back. */
export class TxMap<K, V> extends Map<K, V> {
  /** @param value undefined removes the entry */
  change(tx: Tx, key: K, value: V | undefined): void {
    const before = this.get(key);
    this.#put(key, value);
    tx.onRollback(() => {
      // Unless something outside the transaction has changed it since.
      if (this.get(key) === value) this.#put(key, before);
    });
  }

  #put(key: K, value: V | undefined): void {
    if (value === undefined) this.delete(key);
    else this.set(key, value);
  }
}
