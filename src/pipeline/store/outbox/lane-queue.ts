import type { Lane } from "../../../core/delivery.ts";
import { laneName } from "../../../core/lane-plan.ts";
import type { Tx } from "../../../core/tx.ts";
import { Backoff } from "../../../lib/backoff.ts";
import type { LaneUplink } from "./lane-uplink.ts";

/** Position of a row of the outbox: its key within one lane. */
export interface Place {
  readonly stream: number;
  readonly hour: number;
  readonly timeMs: number;
  readonly seq: number;
}

/** A row number that a rollback gave up may have come to another reading. */
const isSameRow = (one: Place, other: Place) =>
  one.seq === other.seq && one.timeMs === other.timeMs && one.stream === other.stream;

export interface Slot {
  readonly place: Place;
  readonly live: boolean;
  /** True once its outcome is known and waits to be written. */
  isSettled: boolean;
  /** Its row is no longer on disk: a newer one took its place. */
  isReplaced?: boolean;
}

const REFUSED_MIN_MS = 5_000;
const REFUSED_MAX_MS = 300_000;
/** A live topic is tried again after this long at most, ms, or in a lane with many refused ones after as long as trying each takes. */
const LIVE_REFUSED_MAX_MS = 12_000;
const LIVE_TRY_MS = 400;

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

/** One lane: its streams, leased and parked rows, and waiters. */
export class LaneQueue {
  readonly lane: Lane;
  /** As stored. */
  readonly number: number;
  /** Its uplink; the selection may change while the lane stays. */
  uplink: LaneUplink;
  readonly streams = new Map<number, StreamQueue>();
  /** By seq. Settled ones stay until they are written, so that they are not leased again. */
  readonly #leased = new Map<number, Slot>();
  /** Oversize rows by seq. */
  readonly parked = new Map<number, Place>();
  /**
   * By seq: rows that the running transaction drops. Until its commit the reading connection still sees them, and
   * what is counted as lost must not be sent.
   */
  readonly #withdrawn = new Set<number>();
  /** Advances the round-robin. */
  turn = 0;
  /** Changes with each event that may make something leasable. */
  version = 0;
  /** The version at the last lease. */
  seenVersion = -1;
  hasLeasedLive = false;
  /** Changes with the rows, and with settlements. */
  rowsVersion = 0;
  /** Rows whose settlement waits for its commit: they are no longer pending. */
  settled = 0;
  #order: StreamQueue[] = [];
  #waiting: (() => void)[] = [];

  constructor(lane: Lane, number: number, uplink: LaneUplink) {
    this.lane = lane;
    this.number = number;
    this.uplink = uplink;
  }

  /** Holds the newest of each stream only. */
  get isLiveOnly(): boolean {
    return this.lane === "plain" || !this.uplink.history;
  }

  get name(): string {
    return laneName(this.uplink.name, this.lane);
  }

  stream(stream: number): StreamQueue {
    let queue = this.streams.get(stream);
    if (queue === undefined) {
      queue = new StreamQueue(stream);
      this.streams.set(stream, queue);
      this.#order.push(queue);
    }
    return queue;
  }

  get order(): readonly StreamQueue[] {
    return this.#order;
  }

  get pending(): number {
    let sum = 0;
    for (const queue of this.#order) sum += queue.pending;
    return sum;
  }

  /** Rows that are still to be delivered. */
  get undelivered(): number {
    return Math.max(0, this.pending - this.settled);
  }

  /** Longest wait of a refused live topic now, ms: rights may be corrected at any time. */
  get liveRefusedMaxMs(): number {
    const refused = this.#order.filter(({ liveRefusal }) => liveRefusal.stands).length;
    return Math.max(LIVE_REFUSED_MAX_MS, refused * LIVE_TRY_MS);
  }

  /** The broker accepts what it refused: the others are tried soon. Returns the longest wait until then, ms. */
  hastenRefused(now: number): number {
    let waitMs = 0;
    for (const { liveRefusal, historyRefusal } of this.#order)
      for (const refusal of [liveRefusal, historyRefusal])
        if (refusal.stands && !refusal.isOver(now)) waitMs = Math.max(waitMs, refusal.hasten(now));
    return waitMs;
  }

  wake(): void {
    this.version += 1;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  waitForNews(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.version !== this.seenVersion) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener("abort", done);
        this.#waiting = this.#waiting.filter((other) => other !== done);
        resolve();
      };
      this.#waiting.push(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }

  get leasedCount(): number {
    return this.#leased.size;
  }

  get leases(): Iterable<Slot> {
    return this.#leased.values();
  }

  isLeased(seq: number): boolean {
    return this.#leased.has(seq);
  }

  /** Leased, or about to be dropped. */
  isTaken(seq: number): boolean {
    return this.#leased.has(seq) || this.#withdrawn.has(seq);
  }

  /** Inside the transaction that deletes the row. If that is rolled back, a read may have passed the row. */
  withdraw(tx: Tx, place: Place): void {
    this.#withdrawn.add(place.seq);
    tx.onCommit(() => this.#withdrawn.delete(place.seq));
    tx.onRollback(() => {
      this.#withdrawn.delete(place.seq);
      this.stream(place.stream).rewind(place);
      this.wake();
    });
  }

  lease(slot: Slot): void {
    if (!this.#leased.has(slot.place.seq)) this.stream(slot.place.stream).leased += 1;
    this.#leased.set(slot.place.seq, slot);
  }

  /** False if it is no longer leased, or leased again. */
  endLease(slot: Slot): boolean {
    const { seq, stream } = slot.place;
    if (!this.holds(slot)) return false;
    this.#leased.delete(seq);
    this.stream(stream).leased -= 1;
    return true;
  }

  /** Whether its row is leased by it. Not after the disk was read again: leases end with that. */
  holds(slot: Slot): boolean {
    return this.#leased.get(slot.place.seq) === slot;
  }

  /** Its row is no longer on disk, even if that was read, or leased again, while the outcome waited. */
  leave({ place }: Slot): void {
    this.stream(place.stream).dropCandidate(place);
    const slot = this.#leased.get(place.seq);
    if (slot !== undefined && isSameRow(slot.place, place)) this.endLease(slot);
  }

  /** In a lane of the newest only, another row took the place of this one. */
  replaced(place: Place): void {
    const slot = this.#leased.get(place.seq);
    if (slot === undefined || !isSameRow(slot.place, place)) return;
    slot.isReplaced = true;
    if (slot.isSettled) this.settled = Math.max(0, this.settled - 1);
  }

  /** Whether the outbox contains rows of this stream besides those that are leased or about to go live. */
  hasBacklog(stream: StreamQueue): boolean {
    const { pending, leased, candidate } = stream;
    const isLiveWaiting = candidate !== null && !this.#leased.has(candidate.seq);
    return pending > leased + (isLiveWaiting ? 1 : 0);
  }

  /** Whether more of its backlog may be read now. */
  isReadable(stream: StreamQueue, now: number): boolean {
    if (stream.isExhausted || stream.isParked || !stream.historyRefusal.isOver(now)) return false;
    return this.hasBacklog(stream);
  }

  forgetLeases(): void {
    this.#leased.clear();
    this.#withdrawn.clear();
    this.settled = 0;
    for (const stream of this.#order) stream.leased = 0;
    this.parked.clear();
  }
}
