/**
 * What is pending for each destination: a row per reading and lane, deleted when its delivery is settled.
 *
 * - The disk is authoritative; memory holds a few numbers per sensor and kind, whatever the length of the backlog.
 * - Rows are keyed by hour first, so that a round's inserts of all sensors share pages.
 * - A lease exists only in memory: after a crash everything not settled on disk is pending again (at least once).
 */

import type {
  DeliveryOutcome,
  Lane,
  LaneDepth,
  OutboxEntry,
  OutboxUplink,
} from "../../core/delivery.ts";
import type { GatewayTime } from "../../core/gateway-time.ts";
import { isWaveform, type LaneChange, laneName } from "../../core/lane-plan.ts";
import type { Clock, Logger, Outbox } from "../../core/ports.ts";
import type { Kind } from "../../core/sensor.ts";
import type { Database } from "../database/database.ts";
import type { Meta } from "../database/meta.ts";
import { StoreFailure } from "../database/store-failure.ts";
import { EVENT_STREAM_KIND, type Streams } from "../database/streams.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import type { FiledLane } from "./lane-book.ts";
import type { LaneQueue, Page, Place, Slot, StreamQueue } from "./lane-queue.ts";
import { LaneSet } from "./lane-set.ts";
import { Leasing, OUTBOX_SQL } from "./leasing.ts";
import { newestPending } from "./outbox-loader.ts";
import { OutboxRows } from "./outbox-rows.ts";
import { Settlement } from "./settlement.ts";
import { Thinning } from "./thinning.ts";

interface OutboxParts {
  readonly db: Database;
  readonly streams: Streams;
  readonly queue: WriteQueue;
  readonly clock: Clock;
  readonly age: Pick<GatewayTime, "now">;
  readonly logger: Logger;
  /** How long outcomes wait to share a commit of readings, ms; a full page of them is written at once. */
  readonly settleWindowMs: number;
  readonly meta: Meta;
  /** Readings that an uplink leaves out. */
  readonly onNotSelected: (uplink: string, count: number) => void;
  /** A delivery that damage made impossible. */
  readonly onLost: () => void;
}

const OLDEST_SQL = `SELECT min(time_ms) FROM outbox
  WHERE lane = ? AND hour = ? AND seq NOT IN (SELECT value FROM json_each(?))`;
/** Oversize rows remembered individually in a lane. */
const PARKED_MAX = 10_000;
/** An uplink delivers for this long after its last acknowledgement. */
const DELIVERING_MS = 30_000;
/** This many are written at once: a kill repeats at most this number. */
const SETTLE_ROWS = 100;

export class SqliteOutbox {
  readonly #parts: OutboxParts;
  readonly #lanes: LaneSet;
  readonly #slots = new WeakMap<OutboxEntry, Slot>();
  readonly #depths = new WeakMap<
    LaneQueue,
    { readonly version: number; readonly depth: LaneDepth }
  >();
  readonly #closing = new AbortController();
  readonly #leasing: Leasing;
  /** For the parts that write and remove readings. */
  readonly rows: OutboxRows;
  #settlement: Settlement | null = null;
  /** Outcomes that could not be written wait for the disk; nothing more is leased meanwhile. */
  #isBlocked = false;

  constructor(parts: OutboxParts, uplinks: readonly OutboxUplink[]) {
    this.#parts = parts;
    this.#lanes = new LaneSet(parts, uplinks);
    const rows = { ...parts, thinning: new Thinning(parts) };
    this.rows = new OutboxRows(rows, () => this.lanes);
    this.#leasing = new Leasing(parts, {
      seqMax: () => this.rows.seqMax,
      taken: (entry, slot) => this.#slots.set(entry, slot),
      stray: (lane, place, page) => this.#strayRow(lane, place, page),
    });
  }

  /** Reads the state of all lanes from disk; leases end. */
  load(): void {
    const { db } = this.#parts;
    const [row] = db.read("SELECT max(seq) FROM readings").all();
    this.rows.seqMax = Number(row?.[0] ?? 0);
    this.#lanes.load();
  }

  // For these four see LaneSet.

  fileDeferred(): void {
    this.#lanes.fileDeferred();
  }

  configure(uplinks: readonly OutboxUplink[]): readonly LaneChange[] {
    return this.#lanes.configure(uplinks);
  }

  file(): readonly FiledLane[] {
    return this.#lanes.file();
  }

  owes(lane: FiledLane, sensor: string, kind: string, values: string): boolean {
    return this.#lanes.owes(lane, sensor, kind, values);
  }

  get lanes(): readonly LaneQueue[] {
    return this.#lanes.all;
  }

  /** Uplinks of which something was acknowledged within the last half minute (plant section 17). */
  delivering(): ReadonlySet<string> {
    const sinceMs = this.#parts.clock.monotonic() - DELIVERING_MS;
    const lanes = this.lanes.filter(({ acknowledgedAtMs }) => acknowledgedAtMs >= sinceMs);
    return new Set(lanes.map(({ uplink }) => uplink.name));
  }

  /** The other uplinks that readings are pending for, largest backlog first. */
  notDelivering(): readonly string[] {
    const delivering = this.delivering();
    const pending = new Map<string, number>();
    for (const lane of this.lanes) {
      const { name } = lane.uplink;
      if (!isWaveform(lane.lane) && !delivering.has(name))
        pending.set(name, (pending.get(name) ?? 0) + lane.pending);
    }
    const held = [...pending].filter(([, rows]) => rows > 0);
    return held.sort(([, one], [, other]) => other - one).map(([name]) => name);
  }

  /** The outbox of one uplink, whether it is configured now or later. */
  of(uplink: string): Outbox {
    const name = (lane: Lane) => laneName(uplink, lane);
    return {
      lease: (lane, which, max) => this.#lease(name(lane), which, max),
      settle: (lane, outcomes) => this.#settle(name(lane), outcomes),
      release: (lane) => this.#release(name(lane)),
      unpark: (lane) => this.#unpark(name(lane)),
      changed: (lane, signal) => this.#changed(name(lane), signal),
      depth: (lane) => this.depth(name(lane)),
      liveMark: (lane, sensor, kind) => this.#liveMark(name(lane), sensor, kind),
      owesEvents: (lane, sensor) => this.#owesEvents(name(lane), sensor),
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

  /** A row whose reading is gone can only come from a damaged file; it would be pending for ever. */
  #strayRow(lane: LaneQueue, place: Place, page: Page): void {
    this.#parts.logger.error(
      { lane: lane.name, seq: place.seq },
      "the reading of an outbox row is missing",
    );
    this.#parts.onLost();
    const reading = { seq: place.seq } as OutboxEntry["reading"];
    const entry: OutboxEntry = { reading, live: false };
    const slot: Slot = { place, page, index: -1, live: false, entry, isSettled: true };
    lane.lease(slot);
    const stream = lane.stream(place.stream);
    if (stream.candidate?.seq === place.seq) stream.candidate = null;
    this.#openSettlement().add(lane, slot);
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
      const slot = this.#slots.get(entry);
      if (slot === undefined || slot.isSettled) continue;
      // A live-only lane has nothing that could replace an oversize one later.
      const isOver = outcome === "oversize" && queue.isLiveOnly;
      if (outcome === "sent" || outcome === "skipped" || isOver) {
        settlement ??= this.#openSettlement();
        if (outcome === "sent") queue.acknowledgedAtMs = this.#parts.clock.monotonic();
        this.#leave(queue, slot, outcome === "sent");
        settlement.add(queue, slot);
      } else if (queue.endLease(slot)) {
        this.#return(queue, slot, outcome);
        hasNews = true;
      }
    }
    if (hasNews) queue.wake();
    if (settlement === null) return Promise.resolve();
    if (settlement.size >= SETTLE_ROWS) this.#closeSettlement();
    return settlement.done;
  }

  #leave(lane: LaneQueue, slot: Slot, wasSent: boolean): void {
    const stream = lane.stream(slot.place.stream);
    slot.isSettled = true;
    if (stream.candidate?.seq === slot.place.seq) stream.candidate = null;
    if (!wasSent) return;
    if (slot.live) {
      // At once, not when it is on disk: the broker has it, and its topic must not go back.
      stream.mark = Math.max(stream.mark, slot.place.timeMs);
      stream.liveRefusal.clear();
    } else stream.historyRefusal.clear();
  }

  #return(lane: LaneQueue, slot: Slot, outcome: "kept" | "refused" | "oversize"): void {
    const stream = lane.stream(slot.place.stream);
    if (outcome === "oversize") this.#park(lane, stream, slot);
    else stream.rewind(slot.place);
    if (outcome !== "refused") return;
    const refusal = slot.live ? stream.liveRefusal : stream.historyRefusal;
    const { clock } = this.#parts;
    const waitMs = refusal.add(clock.monotonic());
    if (waitMs > 0) void clock.sleep(waitMs, this.#closing.signal).then(() => lane.wake());
  }

  #park(lane: LaneQueue, stream: StreamQueue, slot: Slot): void {
    if (stream.candidate?.seq === slot.place.seq) stream.candidate = null;
    if (lane.parked.size < PARKED_MAX) {
      lane.parked.set(slot.place.seq, { place: slot.place, live: slot.live });
    } else {
      stream.isParked = true;
      stream.rewind(slot.place);
    }
  }

  #release(lane: string): void {
    const queue = this.#lanes.get(lane);
    if (queue === undefined) return;
    for (const slot of queue.leases) {
      if (slot.isSettled || !queue.endLease(slot)) continue;
      queue.stream(slot.place.stream).rewind(slot.place);
    }
    queue.wake();
  }

  #unpark(lane: string): void {
    const queue = this.#lanes.get(lane);
    if (queue === undefined) return;
    const parked = [...queue.parked.values()];
    queue.parked.clear();
    for (const { place } of parked) queue.stream(place.stream).rewind(place);
    for (const stream of queue.order) {
      stream.isParked = false;
      stream.liveRefusal.clear();
      stream.historyRefusal.clear();
    }
    for (const number of new Set(parked.map(({ place }) => place.stream))) {
      const stream = queue.stream(number);
      stream.candidate = newestPending(this.#parts.db, queue, stream, (seq) => queue.isTaken(seq));
    }
    queue.wake();
  }

  #changed(lane: string, signal: AbortSignal): Promise<void> {
    const queue = this.#lanes.get(lane);
    if (queue !== undefined) return queue.waitForNews(signal);
    return aborted(AbortSignal.any([signal, this.#lanes.followed]));
  }

  #liveMark(lane: string, sensor: string, kind: Kind): number | null {
    const stream = this.#parts.streams.find(sensor, kind);
    const mark = stream && this.#lanes.get(lane)?.streams.get(stream.stream)?.mark;
    return mark === undefined || mark === null || !Number.isFinite(mark) ? null : mark;
  }

  #owesEvents(lane: string, sensor: string): boolean {
    const stream = this.#parts.streams.find(sensor, EVENT_STREAM_KIND);
    const queue = stream && this.#lanes.get(lane)?.streams.get(stream.stream);
    return (queue?.pending ?? 0) > 0;
  }

  /** By the lane's name. */
  depth(lane: string): LaneDepth {
    const queue = this.#lanes.get(lane);
    if (queue === undefined) return { readings: 0, oldestTimeMs: null };
    const known = this.#depths.get(queue);
    if (known?.version === queue.rowsVersion) return known.depth;
    // While the disk is gone the counts are still right, the oldest is the last known one.
    if (!this.#parts.db.isOpen) {
      return { readings: queue.owed, oldestTimeMs: known?.depth.oldestTimeMs ?? null };
    }
    if (queue.owed === 0) return { readings: 0, oldestTimeMs: null };
    try {
      const oldestTimeMs = this.#parts.queue.read(`read the age of the backlog of ${lane}`, () =>
        this.#oldest(queue),
      );
      const depth = { readings: queue.owed, oldestTimeMs };
      this.#depths.set(queue, { version: queue.rowsVersion, depth });
      return depth;
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      return { readings: queue.owed, oldestTimeMs: known?.depth.oldestTimeMs ?? null };
    }
  }

  /** Rows whose settlement waits for its commit are on disk, but no longer pending. */
  #oldest(queue: LaneQueue): number | null {
    const { db } = this.#parts;
    const settled = [...queue.leases].filter(({ isSettled }) => isSettled);
    const seqs = JSON.stringify(settled.map(({ place }) => place.seq));
    let hour = Number.MIN_SAFE_INTEGER;
    for (;;) {
      const [next] = db.read(OUTBOX_SQL.nextHour).all(queue.number, hour);
      if (next === undefined) return null;
      hour = next[0] as number;
      const [row] = db.read(OLDEST_SQL).all(queue.number, hour, seqs);
      if (row !== undefined && row[0] !== null) return row[0] as number;
    }
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

  #openSettlement(): Settlement {
    if (this.#settlement !== null) return this.#settlement;
    const hooks = {
      isBlocked: (isBlocked: boolean) => {
        this.#isBlocked = isBlocked;
        if (!isBlocked) for (const lane of this.#lanes.all) lane.wake();
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

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
