/** The queues of what waits for a signal: rows on disk, and of each queue the first in memory. */
import type { Kind } from "../../../core/sensor.ts";
import { DAY_MS } from "../../../core/time-units.ts";
import { type Tx, TxMap } from "../../../core/tx.ts";
import type { WaitRow, WaitRows } from "./wait-rows.ts";

export type WaitPurpose = "alarm" | "finding" | "bands";

export interface WaitOf {
  readonly purpose: WaitPurpose;
  /** Normalised code. */
  readonly sensor: string;
  readonly kind: Kind;
  /** Arrived after a newer reading of its sensor and kind. */
  readonly isLate: boolean;
}

export interface WaitQueue {
  readonly key: string;
  readonly of: WaitOf;
  readonly head: Omit<WaitRow, "text">;
  readonly count: number;
}

/** Rows of a queue, several days of one a minute; beyond it the first is judged by what is known. */
const ROWS_MAX = 5_000;
/** The same of findings, whose rows are ten times as large. */
const FINDING_ROWS_MAX = 1_000;
/** Nothing waits longer, ms of running time. */
const WAIT_MAX_MS = DAY_MS;
/** Time alone makes nothing due more often than this, ms. */
const RECHECK_MS = 5_000;

export class WaitQueues {
  readonly #rows: WaitRows;
  readonly #runningMs: () => number;
  readonly #queues = new TxMap<string, WaitQueue>();
  /** Queues that were not due when they were last checked, with the running time then. */
  readonly #checked = new Map<string, { readonly number: number; readonly atMs: number }>();
  #nextNumber = 1;
  /** Running time of earlier processes, ms. */
  #beforeMs = 0;

  constructor(rows: WaitRows, runningMs: () => number) {
    this.#rows = rows;
    this.#runningMs = runningMs;
  }

  load(): void {
    this.#queues.clear();
    this.#checked.clear();
    for (const { queue: key, ...row } of this.#rows.all()) {
      this.#nextNumber = Math.max(this.#nextNumber, row.number + 1);
      this.#beforeMs = Math.max(this.#beforeMs, row.sinceMs - this.#runningMs());
      const known = this.#queues.get(key);
      const queue = {
        key,
        of: keyed(key),
        head: known?.head ?? row,
        count: (known?.count ?? 0) + 1,
      };
      this.#queues.set(key, queue);
    }
  }

  /** How long a row has waited, ms of running time. */
  heldMs({ sinceMs }: Pick<WaitRow, "sinceMs">): number {
    return this.#nowMs - sinceMs;
  }

  get #nowMs(): number {
    return Math.round(this.#beforeMs + this.#runningMs());
  }

  /** Whether something waits that must be judged before a reading that arrives now. */
  isBlocked(of: WaitOf): boolean {
    return (
      this.#queues.has(keyOf(of)) ||
      (of.isLate && this.#queues.has(keyOf({ ...of, isLate: false })))
    );
  }

  /** Time of the first reading that waits in order of time, ms; null if none does. */
  firstMs(of: Omit<WaitOf, "isLate">): number | null {
    return this.#queues.get(keyOf({ ...of, isLate: false }))?.head.timeMs ?? null;
  }

  add(tx: Tx, of: WaitOf, timeMs: number, text: string): void {
    const key = keyOf(of);
    const row = { number: this.#nextNumber, timeMs, sinceMs: this.#nowMs };
    this.#nextNumber += 1;
    this.#rows.add(key, { ...row, text });
    const known = this.#queues.get(key);
    const count = (known?.count ?? 0) + 1;
    this.#change(tx, key, { key, of, head: known?.head ?? row, count });
  }

  #change(tx: Tx, key: string, queue: WaitQueue | undefined): void {
    this.#queues.change(tx, key, queue);
    tx.onRollback(() => this.#checked.delete(key));
  }

  /** Something has changed that may end a wait. */
  lookAgain(): void {
    this.#checked.clear();
  }

  /** The queues of a purpose that may be due: those in order of time before the late ones. */
  *toCheck(purpose: WaitPurpose): Generator<WaitQueue, void, void> {
    for (const isLate of [false, true]) {
      // As they are now: what is taken changes them.
      yield* [...this.#queues.values()].filter(
        ({ of }) => of.purpose === purpose && of.isLate === isLate,
      );
    }
  }

  /** Takes the first rows of a queue, while they are due. */
  *take(
    tx: Tx,
    queue: WaitQueue,
    max: number,
    isDue: (queue: WaitQueue) => boolean,
  ): Generator<WaitRow, void, void> {
    let left: WaitQueue | undefined = queue;
    for (
      let taken = 0;
      left !== undefined && taken < max && this.#mayTake(left, isDue);
      taken += 1
    ) {
      const [row, next] = this.#rows.first(queue.key, 2);
      left = next === undefined ? undefined : { ...left, head: next, count: left.count - 1 };
      this.#change(tx, queue.key, left);
      if (row === undefined) return;
      this.#rows.remove(queue.key, row.number);
      yield row;
    }
  }

  isAnyDue(isDue: (queue: WaitQueue) => boolean): boolean {
    for (const queue of this.#queues.values()) if (this.#mayTake(queue, isDue)) return true;
    return false;
  }

  #mayTake(queue: WaitQueue, isDue: (queue: WaitQueue) => boolean): boolean {
    const { key, of, head, count } = queue;
    if (of.isLate) {
      const inOrder = this.#queues.get(keyOf({ ...of, isLate: false }));
      if (inOrder !== undefined && inOrder.head.number < head.number) return false;
    }
    const most = of.purpose === "alarm" ? ROWS_MAX : FINDING_ROWS_MAX;
    if (count > most || this.heldMs(head) > WAIT_MAX_MS) return true;
    const checked = this.#checked.get(key);
    if (checked?.number === head.number && this.#nowMs - checked.atMs < RECHECK_MS) return false;
    if (isDue(queue)) return true;
    this.#checked.set(key, { number: head.number, atMs: this.#nowMs });
    return false;
  }
}

function keyOf({ purpose, sensor, kind, isLate }: WaitOf): string {
  return `${purpose} ${isLate ? "late" : "live"} ${kind} ${sensor}`;
}

function keyed(key: string): WaitOf {
  const [purpose, when, kind, ...sensor] = key.split(" ");
  return {
    purpose: purpose as WaitPurpose,
    sensor: sensor.join(" "),
    kind: kind as Kind,
    isLate: when === "late",
  };
}
