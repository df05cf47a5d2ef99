import type { DeliveryOutcome, Lane, OutboxEntry } from "../../core/delivery/delivery.ts";
import type { Outbox } from "../../core/ports.ts";
import type { Encode } from "./formats/encoder.ts";

export interface LaneOptions {
  readonly lane: Lane;
  readonly encode: Encode;
  /** Waits until every other lane has nothing to send, and uses only a few slots then: big waveforms after scalars. */
  readonly isBackground?: boolean;
}

/** At most one per sensor and kind, so this limits memory, not speed. */
const LIVE_PAGE = 1000;
const BACKLOG_PAGE = 500;
const BACKGROUND_PAGE = 16;
/** Entries sent or answered whose settlement is not durable yet: a slow disk slows the drain instead of filling memory. */
const UNSETTLED_MAX = 8192;
/** Outcomes are passed to the store in batches: large ones make its syncs rare, and old ones do not wait long. */
const SETTLE_ENTRIES = 1000;
export const SETTLE_MS = 25;

/**
 * The leased entries of one lane that are not settled yet. Leases in pages ahead of the window, so that the window
 * stays full.
 */
export class LeasedEntries {
  readonly lane: Lane;
  readonly encode: Encode;
  readonly isBackground: boolean;
  readonly #outbox: Outbox;
  readonly #page: number;
  #live: OutboxEntry[] = [];
  #liveAt = 0;
  #backlog: OutboxEntry[] = [];
  #backlogAt = 0;
  #mayHaveLive = true;
  #mayHaveBacklog = true;
  #isWatching = false;
  #outcomes: { entry: OutboxEntry; outcome: DeliveryOutcome }[] = [];
  #unsettled = 0;
  #hasKept = false;
  #settledAt = 0;
  /** Messages sent and not answered. */
  outstanding = 0;

  constructor(outbox: Outbox, options: LaneOptions) {
    this.#outbox = outbox;
    this.lane = options.lane;
    this.encode = options.encode;
    this.isBackground = options.isBackground === true;
    this.#page = this.isBackground ? BACKGROUND_PAGE : BACKLOG_PAGE;
  }

  /** No leased entry waits to be sent, and as far as known nothing more can be leased. */
  get isIdle(): boolean {
    return (
      this.#liveAt === this.#live.length &&
      this.#backlogAt === this.#backlog.length &&
      !this.#mayHaveLive &&
      !this.#mayHaveBacklog
    );
  }
  /** A leased live entry waits to be sent, or one may be in the store. */
  get hasLive(): boolean {
    return this.#liveAt < this.#live.length || this.#mayHaveLive;
  }
  get hasBacklog(): boolean {
    return this.#backlogAt < this.#backlog.length || this.#mayHaveBacklog;
  }
  get unsettled(): number {
    return this.#unsettled;
  }

  /** Something new may be in the store. */
  markChanged(): void {
    this.#mayHaveLive = true;
    this.#mayHaveBacklog = true;
  }
  markLive(): void {
    this.#mayHaveLive = true;
  }

  /** The next entry for a live topic, older before newer. */
  nextLive(): OutboxEntry | null {
    if (this.#liveAt === this.#live.length && this.#mayHaveLive) {
      this.#live = this.#outbox.lease(this.lane, "live", LIVE_PAGE);
      this.#liveAt = 0;
      this.#unsettled += this.#live.length;
      this.#mayHaveLive = this.#live.length === LIVE_PAGE;
    }
    return this.#live[this.#liveAt++] ?? this.#none("live");
  }

  nextBacklog(): OutboxEntry | null {
    if (this.#backlogAt === this.#backlog.length && this.#mayHaveBacklog) {
      if (this.#unsettled >= UNSETTLED_MAX) return null;
      this.#backlog = this.#outbox.lease(this.lane, "backlog", this.#page);
      this.#backlogAt = 0;
      this.#unsettled += this.#backlog.length;
      // A short page may be short for fairness or because of a backed-off sensor: only an empty one ends the search.
      this.#mayHaveBacklog = this.#backlog.length > 0;
    }
    return this.#backlog[this.#backlogAt++] ?? this.#none("backlog");
  }

  #none(which: "live" | "backlog"): null {
    if (which === "live") this.#liveAt = this.#live.length;
    else this.#backlogAt = this.#backlog.length;
    return null;
  }

  record(entry: OutboxEntry, outcome: DeliveryOutcome): void {
    this.#outcomes.push({ entry, outcome });
    if (outcome === "kept") this.#hasKept = true;
  }

  get hasOutcomes(): boolean {
    return this.#outcomes.length > 0;
  }

  /** Hands over what was recorded, where it is much, old, or all there is; else null. Rejects as the store does. */
  settle(now: number): Promise<void> | null {
    const outcomes = this.#outcomes;
    if (outcomes.length === 0) {
      this.#settledAt = now;
      return null;
    }
    const isDue =
      this.outstanding === 0 ||
      outcomes.length >= SETTLE_ENTRIES ||
      now - this.#settledAt >= SETTLE_MS;
    if (!isDue) return null;
    this.#settledAt = now;
    this.#outcomes = [];
    const hasKept = this.#hasKept;
    this.#hasKept = false;
    const settled = this.#outbox.settle(this.lane, outcomes);
    // Those kept are free already; the commit of the others may be minutes away.
    if (hasKept) this.markChanged();
    return settled.finally(() => {
      this.#unsettled -= outcomes.length;
    });
  }

  /**
   * Calls back once when an idle lane may have work again. Returns true if the watch begins now: for earlier entries,
   * the caller must check the store once more.
   */
  watch(signal: AbortSignal, wake: () => void): boolean {
    if (this.#isWatching || !this.isIdle) return false;
    this.#isWatching = true;
    this.markChanged();
    void this.#outbox.changed(this.lane, signal).then(() => {
      this.#isWatching = false;
      this.markChanged();
      if (!signal.aborted) wake();
    });
    return true;
  }

  /** Drops all leases: the connection is gone, or the store failed. */
  release(): void {
    this.#live = [];
    this.#backlog = [];
    this.#outcomes = [];
    this.#liveAt = 0;
    this.#backlogAt = 0;
    this.#unsettled = 0;
    this.#settledAt = 0;
    this.outstanding = 0;
    this.markChanged();
    this.#outbox.release(this.lane);
  }
}
