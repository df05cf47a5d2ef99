import type { Lane } from "../../../core/delivery/delivery.ts";
import { laneName } from "../../../core/delivery/lane-plan.ts";
import type { Tx } from "../../../core/tx.ts";
import type { LaneUplink } from "./lane-uplink.ts";
import { isSameRow, type Place, StreamQueue } from "./stream-queue.ts";

export interface Slot {
  readonly place: Place;
  readonly live: boolean;
  /** True once its outcome is known and waits to be written. */
  isSettled: boolean;
  /** Its row is no longer on disk: a newer one took its place. */
  isReplaced?: boolean;
}

/** A live topic is tried again after this long at most, ms, or in a lane with many refused ones after as long as trying each takes. */
const LIVE_REFUSED_MAX_MS = 12_000;
const LIVE_TRY_MS = 400;

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
