import type { Lane, OutboxUplink } from "../../../core/delivery/delivery.ts";
import {
  isWaveform,
  type LaneChange,
  laneChangeText,
  laneName,
  planLanes,
} from "../../../core/delivery/lane-plan.ts";
import type { Runtime } from "../../../core/ports.ts";
import type { Database } from "../database/database.ts";
import { StoreFailure } from "../database/store-failure.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import { LaneQueue } from "./lane-queue.ts";
import { loadLanes } from "./lane-rows.ts";
import { LaneUplink } from "./lane-uplink.ts";
import { addLane, carryNewest } from "./new-lane.ts";
import { IN_USE_SQL, isCarried, numberOf, type StoredLane } from "./stored-lane.ts";
import { setAside } from "./thinning-state.ts";

interface LanesParts extends Runtime {
  readonly db: Database;
  readonly queue: WriteQueue;
  /** How long after the start an uplink counts as delivering that has something in hand, ms. */
  readonly startGraceMs?: number | undefined;
}

/** An uplink delivers for this long after its last acknowledgement. */
const DELIVERING_MS = 30_000;
/** Sessions are open this long after a start; until then nothing is given up. */
const CONNECTING_MS = 5_000;

/** The lanes of the configured uplinks: creates, converts and removes them on disk, and holds those in use. */
export class Lanes {
  readonly #parts: LanesParts;
  /** By their names (lane-plan.ts). */
  readonly #lanes = new Map<string, LaneQueue>();
  /** The same. */
  #all: readonly LaneQueue[] = [];
  #uplinks: readonly OutboxUplink[];
  /** The lanes on disk do not match the configured uplinks yet. */
  #isDeferred = false;
  /** Ended when lanes are added. */
  #followed = new AbortController();

  readonly #startedAtMs: number;
  /** When something of an uplink was acknowledged last, by its name. */
  readonly #acceptedAtMs = new Map<string, number>();

  constructor(parts: LanesParts, uplinks: readonly OutboxUplink[]) {
    this.#parts = parts;
    this.#startedAtMs = parts.clock.monotonic();
    this.#uplinks = uplinks;
  }

  get all(): readonly LaneQueue[] {
    return this.#all;
  }

  /** By its name; undefined if no configured uplink has it. */
  get(name: string): LaneQueue | undefined {
    return this.#lanes.get(name);
  }

  /** Aborted the next time lanes are added or removed. */
  get followed(): AbortSignal {
    return this.#followed.signal;
  }

  /** Something of this uplink was acknowledged: a reading, or what else its session sends. */
  accepted(uplink: string): void {
    this.#acceptedAtMs.set(uplink, this.#parts.clock.monotonic());
  }

  /**
   * Uplinks of which something was acknowledged within the last half minute (plant section 17). Right after the start
   * nothing can have been: nobody is given up before sessions can be open, and then none that has something in hand.
   */
  delivering(): ReadonlySet<string> {
    const nowMs = this.#parts.clock.monotonic();
    const runsMs = nowMs - this.#startedAtMs;
    const graceMs = this.#parts.startGraceMs ?? 0;
    const isStarting = ({ leasedCount }: LaneQueue) =>
      runsMs < (leasedCount > 0 ? graceMs : Math.min(graceMs, CONNECTING_MS));
    const lanes = this.#all.filter(
      (lane) =>
        (this.#acceptedAtMs.get(lane.uplink.name) ?? Number.NEGATIVE_INFINITY) >=
          nowMs - DELIVERING_MS || isStarting(lane),
    );
    return new Set(lanes.map(({ uplink }) => uplink.name));
  }

  /** The other uplinks that readings are pending for, largest backlog first. */
  notDelivering(): readonly string[] {
    const delivering = this.delivering();
    const pending = new Map<string, number>();
    for (const lane of this.#all) {
      const { name } = lane.uplink;
      if (!isWaveform(lane.lane) && !delivering.has(name))
        pending.set(name, (pending.get(name) ?? 0) + lane.pending);
    }
    const held = [...pending].filter(([, rows]) => rows > 0);
    return held.sort(([, one], [, other]) => other - one).map(([name]) => name);
  }

  /** Reads all of them from disk; leases end. */
  load(): void {
    this.#fileOrDefer();
    for (const lane of this.all) lane.forgetLeases();
    this.#follow();
    loadLanes(this.#parts.db, this.all);
    for (const lane of this.all) lane.wake();
  }

  /**
   * A full disk must not prevent opening the store: retention adds and removes lanes once there is space. Until then
   * nothing is pending for a new one, and it begins with everything stored by then. One whose format changes is treated
   * as already converted or, if only its newest readings will be kept, stays as it was.
   */
  #fileOrDefer(): void {
    this.#isDeferred = false;
    try {
      this.file();
    } catch (error) {
      const { code } = StoreFailure.from(error, "create the lanes of uplinks");
      if (code !== "full") throw error;
      this.#isDeferred = true;
      const changes = this.#plan().map(laneChangeText);
      this.#parts.logger.error({ changes }, "changes to uplinks wait for free disk space");
    }
  }

  /**
   * The lanes on disk in the form to be used: those whose conversion waits for space and loses nothing count as
   * converted.
   */
  #asUsed(): readonly StoredLane[] {
    const stored = this.#stored();
    const renamed = this.#isDeferred
      ? this.#plan().filter((change) => isCarried(change) && !change.isNewestOnly)
      : [];
    return stored.map((one) => {
      const change = renamed.find(
        ({ uplink, lane }) => uplink === one.uplink && lane === one.format,
      );
      return change?.what === "carried" ? { ...one, format: change.to } : one;
    });
  }

  /** Lanes in use of a configured uplink: the configured ones, and those that it must keep until they can be converted. */
  #lanesToFollow({ name, lanes }: OutboxUplink): readonly Lane[] {
    if (!this.#isDeferred) return lanes;
    const kept = this.#plan().filter(
      (change) => change.uplink === name && isCarried(change) && change.isNewestOnly,
    );
    return [...lanes, ...kept.map(({ lane }) => lane)];
  }

  /** Makes the changes for which opening found no space. Throws StoreFailure while there is none. */
  fileDeferred(): void {
    if (!this.#isDeferred) return;
    this.configure(this.#uplinks);
  }

  /**
   * From now on readings are pending for these uplinks. The destination of one that is removed, or whose formats
   * change, is closed before. Retention does the work on long backlogs, a slice at a time. Throws StoreFailure, and
   * then nothing has changed.
   */
  configure(uplinks: readonly OutboxUplink[]): readonly LaneChange[] {
    const changes = this.#parts.queue.direct("create the lanes of uplinks", () =>
      this.#write(uplinks),
    );
    this.#uplinks = uplinks;
    this.#isDeferred = false;
    this.#announce(changes);
    const fresh = this.#follow();
    loadLanes(this.#parts.db, fresh);
    for (const lane of this.all) lane.wake();
    return changes;
  }

  #announce(changes: readonly LaneChange[]): void {
    for (const change of changes) {
      const isLoss = change.what !== "added" && change.readings > 0;
      const text = laneChangeText(change);
      if (isLoss) this.#parts.logger.warn(change, text);
      else this.#parts.logger.info(change, text);
    }
  }

  /** Updates memory from the book; lanes that stay keep their state. Returns the lanes that are new in memory. */
  #follow(): LaneQueue[] {
    const former = new Map(this.#lanes);
    const fresh: LaneQueue[] = [];
    this.#lanes.clear();
    const stored = this.#asUsed();
    for (const one of this.#uplinks) {
      const uplink = new LaneUplink(one);
      for (const lane of this.#lanesToFollow(one)) {
        const number = numberOf(stored, one.name, lane);
        if (number === undefined) continue;
        const key = laneName(one.name, lane);
        let queue = former.get(key);
        if (queue === undefined || queue.number !== number) {
          queue = new LaneQueue(lane, number, uplink);
          fresh.push(queue);
        }
        queue.uplink = uplink;
        this.#lanes.set(key, queue);
      }
    }
    this.#all = [...this.#lanes.values()];
    this.#followed.abort();
    this.#followed = new AbortController();
    // A waiter on a removed lane finds nothing there.
    for (const lane of former.values()) if (this.#lanes.get(lane.name) !== lane) lane.wake();
    return fresh;
  }

  /** The lanes of the configured uplinks, created if missing. */
  file(): readonly StoredLane[] {
    const { writer } = this.#parts.db;
    this.#announce(writer.transaction(() => this.#write(this.#uplinks)).immediate());
    return this.#stored();
  }

  /** The configured uplink of a lane. */
  uplinkOf({ uplink }: StoredLane): LaneUplink | undefined {
    const found = this.#uplinks.find(({ name }) => name === uplink);
    return found && new LaneUplink(found);
  }

  #stored(): StoredLane[] {
    return this.#parts.db.write<StoredLane>(IN_USE_SQL).all();
  }

  /** What `#write` would change. */
  #plan(uplinks = this.#uplinks): readonly LaneChange[] {
    const count = this.#parts.db.write<{ n: number }>(
      "SELECT count(*) AS n FROM outbox WHERE lane = ?",
    );
    const known = this.#stored().map(({ lane, uplink, format }) => {
      const wanted = uplinks.find(({ name }) => name === uplink)?.lanes ?? [];
      // Counted only if needed: a long backlog takes a while.
      const readings = wanted.includes(format) ? 0 : (count.get(lane)?.n ?? 0);
      return { uplink, lane: format, readings };
    });
    return planLanes(known, uplinks);
  }

  /**
   * Creates and updates the lanes of these uplinks, inside a transaction. Returns the changes; without changes nothing
   * is written.
   */
  #write(uplinks: readonly OutboxUplink[]): readonly LaneChange[] {
    const before = this.#stored();
    const changes = this.#plan(uplinks);
    for (const change of changes) this.#apply(change, before, uplinks);
    return changes;
  }

  #apply(
    change: LaneChange,
    before: readonly StoredLane[],
    uplinks: readonly OutboxUplink[],
  ): void {
    const { db } = this.#parts;
    const { uplink, lane, what } = change;
    if (what === "added") {
      const chosen = uplinks.find(({ name }) => name === uplink)?.selector.value ?? null;
      addLane(db, uplink, lane, change.from, chosen);
      return;
    }
    const number = numberOf(before, uplink, lane) ?? -1;
    if (what === "carried" && !change.isNewestOnly) {
      db.write("UPDATE lanes SET format = ? WHERE lane = ?").run(change.to, number);
      return;
    }
    if (what === "carried") {
      const plain =
        numberOf(this.#stored(), uplink, "plain") ?? addLane(db, uplink, "plain", "now");
      carryNewest(db, number, plain);
    }
    if (what === "uplink_removed") setAside(db, uplink, number);
    const leaving = what === "carried" ? "format_off" : what;
    db.write("UPDATE lanes SET leaving = ? WHERE lane = ?").run(leaving, number);
  }
}
