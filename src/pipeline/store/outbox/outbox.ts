/**
 * What is pending for each destination: a row per reading and lane, deleted when its delivery is settled.
 *
 * - The disk is authoritative; memory holds a few numbers per sensor and kind, for a backlog of any length.
 * - Rows are keyed by hour first, so that a round's inserts of all sensors share pages.
 * - A lease exists only in memory: after a crash everything not settled on disk is pending again (at least once).
 *
 * In one file: each outcome of a delivery changes the lease, the live mark and the refusals of the same row.
 */

import type { DeliveryOutcome, Lane, OutboxEntry } from "../../../core/delivery/delivery.ts";
import { isEvent } from "../../../core/delivery/event-kind.ts";
import { laneName } from "../../../core/delivery/lane-plan.ts";
import type { Outbox } from "../../../core/ports.ts";
import type { Kind, StreamKey } from "../../../core/sensor.ts";
import type { GatewayTime } from "../../../core/time/gateway-time.ts";
import { aborted } from "../../../lib/aborted.ts";
import { StoreFailure } from "../database/store-failure.ts";
import { EVENT_STREAM_KIND, type Streams } from "../database/streams.ts";
import { oneStep } from "../database/write-job.ts";
import type { LaneQueue, Slot } from "./lane-queue.ts";
import { newestPending } from "./lane-rows.ts";
import type { Lanes } from "./lanes.ts";
import { Leasing } from "./leasing.ts";
import { MARK_SQL, type Pending } from "./pending.ts";
import { Settlement, type SettlementParts } from "./settlement.ts";
import type { StartProof } from "./start-proof.ts";
import type { Place, StreamQueue } from "./stream-queue.ts";

interface OutboxParts extends SettlementParts {
  readonly streams: Streams;
  readonly pending: Pending;
  readonly age: Pick<GatewayTime, "now">;
  /** How long outcomes wait to share a commit of readings, ms; a full page of them is written at once. */
  readonly settleWindowMs: number;
  /** Little may be written: outcomes wait for their turn, however many they are. */
  readonly isSparing: () => boolean;
  readonly proof: StartProof;
}

/** Oversize rows remembered individually in a lane. */
const PARKED_MAX = 10_000;
/** From this many on, outcomes wait no longer than `SETTLE_SOON_MS` for readings to share their commit. */
const SETTLE_ROWS = 100;
/** Written at once instead, two of five commits of a backfill held nothing but a hundred outcomes. */
const SETTLE_SOON_MS = 200;
/** While another program keeps the store from being written, sending goes on until so many outcomes wait. */
const HELD_ROWS_MAX = 100_000;
/** This many are written at once: a kill repeats what is not written. */
const SETTLE_ROWS_MAX = 1000;

/** Hands out what is pending, and takes back how each delivery ended. */
export class SqliteOutbox {
  readonly #parts: OutboxParts;
  readonly #lanes: Lanes;
  readonly #closing = new AbortController();
  readonly #leasing: Leasing;
  #settlement: Settlement | null = null;
  /** Outcomes that a stop found unwritten. */
  #unwritten = 0;
  /**
   * Outcomes that could not be written wait for the disk; nothing is leased before all of them are on it, except while
   * another program holds the store (true).
   */
  readonly #blocked = new Map<Settlement, boolean>();

  constructor(parts: OutboxParts) {
    this.#parts = parts;
    this.#lanes = parts.lanes;
    this.#leasing = new Leasing(parts, {
      stray: (lane, place) => this.#strayRow(lane, place),
      unproven: (lane, place) => this.#drop(lane, place, true),
    });
  }

  /** That of one uplink, whether it is configured now or later. */
  of(uplink: string): Outbox {
    const name = (lane: Lane) => laneName(uplink, lane);
    return {
      lease: (lane, which, max) => this.#lease(name(lane), which, max),
      settle: (lane, outcomes) => this.#settle(name(lane), outcomes),
      release: (lane) => this.#release(name(lane)),
      unpark: (lane) => this.#unpark(name(lane)),
      changed: (lane, signal) => this.#changed(name(lane), signal),
      depth: (lane) => {
        const queue = this.#lanes.get(name(lane));
        return queue ? this.#parts.pending.depth(queue) : { readings: 0, oldestTimeMs: null };
      },
      liveMark: (lane, sensor, kind) => this.#liveMark(name(lane), sensor, kind),
      owesEvents: (lane, sensor) =>
        (this.#streamOf(name(lane), sensor, EVENT_STREAM_KIND)?.pending ?? 0) > 0,
      unproven: () => this.#unproven(name("json")),
      readBack: (sensor, kind, retainedMs) => {
        for (const lane of [name("json"), name("plain")]) {
          const [queue, stream] = [this.#lanes.get(lane), this.#streamOf(lane, sensor, kind)];
          if (queue && stream) this.#parts.proof.readBack(queue, stream, retainedMs);
        }
      },
      accepted: () => this.#lanes.accepted(uplink),
      flush: () => this.flush(),
    };
  }

  #lease(lane: string, which: "live" | "backlog", max: number): OutboxEntry[] {
    const queue = this.#lanes.get(lane);
    if (queue === undefined) return [];
    if (which === "live") queue.hasLeasedLive = true;
    if (which === "live" || !queue.hasLeasedLive) queue.seenVersion = queue.version;
    if (this.#isBlocked) return [];
    try {
      return this.#parts.queue.read(`read the pending rows of ${lane}`, () =>
        which === "live" ? this.#leasing.live(queue, max) : this.#leasing.backlog(queue, max),
      );
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      this.#parts.logger.error({ err: error, lane }, "outbox cannot be read");
      return [];
    }
  }

  get #isBlocked(): boolean {
    if (this.#blocked.size === 0) return false;
    const waiting = new Set(this.#blocked.keys());
    if (this.#settlement !== null) waiting.add(this.#settlement);
    let rows = 0;
    for (const { size } of waiting) rows += size;
    return rows >= HELD_ROWS_MAX || [...this.#blocked.values()].some((isHeld) => !isHeld);
  }

  /** A row whose reading is gone can only come from a damaged file; it would be pending for ever. */
  #strayRow(lane: LaneQueue, place: Place): void {
    this.#parts.logger.error(
      { lane: lane.name, seq: place.seq },
      "the reading of an outbox row is missing",
    );
    this.#parts.counts.note("damaged", 1);
    this.#drop(lane, place);
  }

  #drop(lane: LaneQueue, place: Place, isGivenUp = false): void {
    const slot: Slot = { place, live: false, isSettled: true };
    lane.lease(slot);
    lane.stream(place.stream).dropCandidate(place);
    this.#openSettlement().add(lane, slot, isGivenUp);
  }

  #settle(
    lane: string,
    outcomes: readonly { readonly entry: OutboxEntry; readonly outcome: DeliveryOutcome }[],
  ): Promise<void> {
    const queue = this.#lanes.get(lane);
    if (queue === undefined) return Promise.resolve();
    let settlement: Settlement | null = null;
    let hasNews = false;
    for (const { entry, outcome } of outcomes) {
      const slot = this.#leasing.slotOf(entry);
      if (slot === undefined || slot.isSettled) continue;
      // A live-only lane has nothing that could replace an oversize one later; an event is not replaced.
      const isOver = outcome === "oversize" && queue.isLiveOnly && !isEvent(entry.reading);
      if (outcome === "sent" || outcome === "skipped" || isOver) {
        settlement ??= this.#openSettlement();
        if (outcome === "sent") this.#lanes.accepted(queue.uplink.name);
        this.#leave(queue, slot, outcome === "sent");
        settlement.add(queue, slot);
      } else if (queue.endLease(slot)) {
        this.#return(queue, slot, outcome);
        hasNews = true;
      }
    }
    if (hasNews) queue.wake();
    if (settlement === null) return Promise.resolve();
    if (this.#parts.isSparing()) return settlement.done;
    if (settlement.size >= SETTLE_ROWS_MAX) this.#closeSettlement();
    else if (settlement.size >= SETTLE_ROWS) this.#parts.queue.hasten(SETTLE_SOON_MS);
    return settlement.done;
  }

  #leave(lane: LaneQueue, slot: Slot, wasSent: boolean): void {
    const stream = lane.stream(slot.place.stream);
    slot.isSettled = true;
    stream.dropCandidate(slot.place);
    if (!wasSent) return this.#markPerhaps(lane, stream, slot);
    const refusal = slot.live ? stream.liveRefusal : stream.historyRefusal;
    if (refusal.stands) {
      refusal.clear();
      this.#wakeAfter(lane, lane.hastenRefused(this.#parts.clock.monotonic()));
    }
    if (slot.live) {
      // At once, not when it is on disk: the broker has it, and its topic must not go back.
      stream.mark = Math.max(stream.mark, slot.place.timeMs);
      return;
    }
    const now = this.#parts.clock.monotonic();
    // The broker took as history what it had refused as live: the live topic must not stay behind for minutes.
    if (slot.place.timeMs > stream.mark && !stream.liveRefusal.isOver(now))
      this.#wakeAfter(lane, stream.liveRefusal.hasten(now));
  }

  #wakeAfter(lane: LaneQueue, ms: number): void {
    void this.#parts.clock.sleep(ms, this.#closing.signal).then(() => lane.wake());
  }

  #return(lane: LaneQueue, slot: Slot, outcome: "kept" | "refused" | "oversize"): void {
    const stream = lane.stream(slot.place.stream);
    if (outcome === "oversize") this.#park(lane, stream, slot);
    else stream.rewind(slot.place);
    if (outcome === "kept") notePerhaps(stream, slot);
    if (outcome !== "refused") return;
    const refusal = slot.live ? stream.liveRefusal : stream.historyRefusal;
    const maxMs = slot.live ? lane.liveRefusedMaxMs : undefined;
    const waitMs = refusal.add(this.#parts.clock.monotonic(), maxMs);
    if (waitMs > 0) this.#wakeAfter(lane, waitMs);
  }

  #park(lane: LaneQueue, stream: StreamQueue, slot: Slot): void {
    stream.dropCandidate(slot.place);
    this.#markPerhaps(lane, stream, slot);
    if (lane.parked.size < PARKED_MAX) {
      lane.parked.set(slot.place.seq, slot.place);
    } else {
      stream.isParked = true;
      stream.rewind(slot.place);
    }
  }

  /** It does not go live now. Nothing older than what may have been published may either; that itself still may. */
  #markPerhaps(lane: LaneQueue, stream: StreamQueue, { live, place }: Slot): void {
    const timeMs = stream.perhapsMark - 1;
    if (!live || stream.mark >= timeMs) return;
    stream.mark = timeMs;
    const { db, queue } = this.#parts;
    const mark = () => void db.write(MARK_SQL).run(lane.number, place.stream, timeMs);
    const job = { ...oneStep("store a live mark", 1, mark), canWait: true };
    // Without it the mark holds until the restart.
    queue.enqueue(job, SETTLE_SOON_MS).catch(() => {});
  }

  #release(lane: string): void {
    const queue = this.#lanes.get(lane);
    if (queue === undefined) return;
    for (const slot of queue.leases) {
      if (slot.isSettled || !queue.endLease(slot)) continue;
      const stream = queue.stream(slot.place.stream);
      stream.rewind(slot.place);
      notePerhaps(stream, slot);
    }
    queue.wake();
  }

  #unpark(lane: string): void {
    const queue = this.#lanes.get(lane);
    if (queue === undefined) return;
    const parked = [...queue.parked.values()];
    queue.parked.clear();
    for (const place of parked) queue.stream(place.stream).rewind(place);
    for (const stream of queue.order) {
      stream.isParked = false;
      stream.liveRefusal.clear();
      stream.historyRefusal.clear();
    }
    for (const number of new Set(parked.map(({ stream }) => stream))) {
      const stream = queue.stream(number);
      if (stream.candidate !== null) stream.rewind(stream.candidate);
      stream.candidate = newestPending(this.#parts.db, queue, stream, (seq) => queue.isTaken(seq));
    }
    queue.wake();
  }

  #changed(lane: string, signal: AbortSignal): Promise<void> {
    const queue = this.#lanes.get(lane);
    if (queue !== undefined) return queue.waitForNews(signal);
    return aborted(AbortSignal.any([signal, this.#lanes.followed]));
  }

  #streamOf(lane: string, sensor: string, kind: Kind): StreamQueue | undefined {
    const stream = this.#parts.streams.find(sensor, kind);
    return stream ? this.#lanes.get(lane)?.streams.get(stream.stream) : undefined;
  }

  #liveMark(lane: string, sensor: string, kind: Kind): number | null {
    const mark = this.#streamOf(lane, sensor, kind)?.mark;
    return mark === undefined || !Number.isFinite(mark) ? null : mark;
  }

  /** Sensors and kinds with a reading that waits for a proof to go live. */
  #unproven(lane: string): StreamKey[] {
    const { proof, streams } = this.#parts;
    return (this.#lanes.get(lane)?.order ?? [])
      .filter((stream) => stream.candidate !== null && !proof.isProven(stream))
      .map(({ stream }) => streams.get(stream));
  }

  /** At the start: whoever waits for a proof is looked at again once that is late. */
  begin(): void {
    const { proof } = this.#parts;
    if (proof.leftMs === 0) return;
    this.#proofsLate(
      proof.leftMs,
      "readings wait to go live until their sensors are read, for an hour at most: the store may be an older one, restored",
    );
    this.#proofsLate(
      proof.leftOfLiveOnlyMs,
      "readings are not sent: newer ones may be live, and their sensors have not been read since the start",
    );
  }

  #proofsLate(ms: number, text: string): void {
    const { clock, logger, proof } = this.#parts;
    const { signal } = this.#closing;
    void clock.sleep(ms, signal).then(() => {
      if (signal.aborted) return;
      for (const lane of this.#lanes.all) {
        const readings = proof.waiting(lane);
        if (readings > 0) logger.warn({ lane: lane.name, readings }, text);
        lane.wake();
      }
    });
  }

  /** It has been read since the start, as far as days from `fromMs` on are concerned. */
  read(sensor: string, kind: Kind, fromMs: number): void {
    const stream = this.#parts.streams.find(sensor, kind);
    if (stream !== null) this.#parts.proof.read(this.#lanes.all, stream.stream, fromMs);
  }

  /** Writes the waiting outcomes. */
  flush(): Promise<void> {
    this.#closeSettlement();
    return this.#parts.queue.flush();
  }

  close(): void {
    this.#closing.abort();
    this.#closeSettlement();
  }

  /** Once the queue is closed: one line for all outcomes that could not be written. */
  closed(): void {
    if (this.#unwritten === 0) return;
    this.#parts.logger.warn(
      { deliveries: this.#unwritten },
      "deliveries could not be recorded before the stop: they are sent again, with the same ids",
    );
  }

  #openSettlement(): Settlement {
    if (this.#settlement !== null) return this.#settlement;
    const hooks = {
      blocked: (settlement: Settlement, isHeld: boolean) =>
        void this.#blocked.set(settlement, isHeld),
      over: (settlement: Settlement, isTold: boolean) => {
        if (!isTold) this.#unwritten += settlement.size;
        this.#blocked.delete(settlement);
        if (this.#blocked.size === 0) for (const lane of this.#lanes.all) lane.wake();
      },
      closing: this.#closing.signal,
      started: () => {
        if (this.#settlement === settlement) this.#settlement = null;
      },
    };
    const settlement = new Settlement(this.#parts, hooks, this.#parts.settleWindowMs);
    this.#settlement = settlement;
    return settlement;
  }

  #closeSettlement(): void {
    if (this.#settlement === null) return;
    this.#settlement = null;
    void this.#parts.queue.flush();
  }
}

/** It may have been published: its outcome is not known. */
function notePerhaps(stream: StreamQueue, { live, place }: Slot): void {
  if (live) stream.perhapsMark = Math.max(stream.perhapsMark, place.timeMs);
}
