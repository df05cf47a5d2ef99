import { Backoff } from "../../../lib/backoff.ts";

/** Position of a row of the outbox: its key within one lane. */
export interface Place {
  readonly stream: number;
  readonly hour: number;
  readonly timeMs: number;
  readonly seq: number;
}

/** A row number that a rollback gave up may have come to another reading. */
export const isSameRow = (one: Place, other: Place) =>
  one.seq === other.seq && one.timeMs === other.timeMs && one.stream === other.stream;

const REFUSED_MIN_MS = 5_000;
const REFUSED_MAX_MS = 300_000;

/** Back-off of one direction (live or history) of a sensor and kind that the broker refuses. */
class Refusal {
  readonly #backoff = new Backoff(REFUSED_MIN_MS, REFUSED_MAX_MS);
  #until = 0;
  #refusedAt = Number.NEGATIVE_INFINITY;

  /** Nothing has been accepted since. */
  get stands(): boolean {
    return this.#backoff.failures > 0;
  }
  isOver(now: number): boolean {
    return now >= this.#until;
  }
  /** Several messages refused in one window count once. Returns the wait, ms; 0 if it is running already. */
  add(now: number, maxMs = REFUSED_MAX_MS): number {
    if (!this.isOver(now)) return 0;
    const wait = Math.min(this.#backoff.next(), maxMs);
    this.#refusedAt = now;
    this.#until = now + wait;
    return wait;
  }
  /** There is reason to try before the wait is over, but not at once again. Returns what is left of it, ms. */
  hasten(now: number): number {
    this.#until = Math.min(this.#until, this.#refusedAt + REFUSED_MIN_MS);
    return Math.max(0, this.#until - now);
  }
  clear(): void {
    this.#until = 0;
    this.#backoff.reset();
  }
}

/** Delivery state of one sensor and kind in one lane. Its size does not depend on the number of pending readings. */
export class StreamQueue {
  readonly stream: number;
  /** Rows in the outbox. */
  pending = 0;
  /** Of these, leased or settled and not written yet. */
  leased = 0;
  /** The backlog is read from after this row on. */
  cursor: Place;
  /** True if nothing follows the cursor. */
  isExhausted = false;
  /** Newest pending row that may go live; null if none. */
  candidate: Place | null = null;
  /** Newest time published live, ms. */
  mark = Number.NEGATIVE_INFINITY;
  /** Newest time that may have been: its outcome is not known. */
  perhapsMark = Number.NEGATIVE_INFINITY;
  /** Rows that the backlog passed because they are too old, and the limit by which they are; null if none. */
  passed: { readonly from: Place; readonly oldestMs: number } | null = null;
  /** Since the start the broker's retained reading has been read back. */
  isProven = false;
  /** Too many oversize messages to remember each: the whole backlog waits for `unpark`. */
  isParked = false;
  readonly liveRefusal = new Refusal();
  readonly historyRefusal = new Refusal();

  constructor(stream: number) {
    this.stream = stream;
    this.cursor = { stream, hour: -1e9, timeMs: Number.MIN_SAFE_INTEGER, seq: -1 };
  }

  /** Newer than what went live and than what is about to. Equal time is not newer. */
  isNewer(timeMs: number): boolean {
    return timeMs > this.mark && timeMs > (this.candidate?.timeMs ?? Number.NEGATIVE_INFINITY);
  }

  /** It went, or never will. */
  dropCandidate(place: Place): void {
    if (this.candidate !== null && isSameRow(this.candidate, place)) this.candidate = null;
  }

  /** The next backlog read begins at this row, unless it begins earlier already. */
  rewind(to: Place): void {
    this.isExhausted = false;
    const { cursor } = this;
    // By hour first: a cursor that advanced to an hour without rows of this stream has no time yet.
    const isBehind =
      to.hour > cursor.hour ||
      (to.hour === cursor.hour &&
        (to.timeMs > cursor.timeMs || (to.timeMs === cursor.timeMs && to.seq > cursor.seq)));
    if (!isBehind) this.cursor = { ...to, seq: to.seq - 1 };
  }
}
