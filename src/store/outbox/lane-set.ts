import type { Lane, OutboxUplink } from "../../core/delivery.ts";
import { type LaneChange, laneChangeText, laneName } from "../../core/lane-plan.ts";
import type { Logger } from "../../core/ports.ts";
import type { Database } from "../database/database.ts";
import { StoreFailure } from "../database/store-failure.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import { type FiledLane, hasChosen, LaneBook } from "./lane-book.ts";
import { LaneQueue } from "./lane-queue.ts";
import { LaneUplink } from "./lane-uplink.ts";
import { loadLanes } from "./outbox-loader.ts";

interface LaneSetParts {
  readonly db: Database;
  readonly queue: WriteQueue;
  readonly logger: Logger;
}

/** The lanes of the configured uplinks: creates, converts and removes them on disk, and holds those in use. */
export class LaneSet {
  readonly #parts: LaneSetParts;
  /** By their names (lane-plan.ts). */
  readonly #lanes = new Map<string, LaneQueue>();
  readonly #book: LaneBook;
  #uplinks: readonly OutboxUplink[];
  /** The lanes on disk do not match the configured uplinks yet. */
  #isDeferred = false;
  /** Ended when lanes are added. */
  #followed = new AbortController();

  constructor(parts: LaneSetParts, uplinks: readonly OutboxUplink[]) {
    this.#parts = parts;
    this.#uplinks = uplinks;
    this.#book = new LaneBook(parts.db);
  }

  get all(): readonly LaneQueue[] {
    return [...this.#lanes.values()];
  }

  /** By its name; undefined if no configured uplink has it. */
  get(name: string): LaneQueue | undefined {
    return this.#lanes.get(name);
  }

  /** Aborted the next time lanes are added or removed. */
  get followed(): AbortSignal {
    return this.#followed.signal;
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
      const changes = this.#book.plan(this.#uplinks).map(laneChangeText);
      this.#parts.logger.error({ changes }, "changes to uplinks wait for free disk space");
    }
  }

  /**
   * The lanes on disk in the form to be used: those whose conversion waits for space and loses nothing count as
   * converted.
   */
  #filed(): readonly FiledLane[] {
    const filed = this.#book.inUse();
    const renamed = this.#isDeferred
      ? this.#book.plan(this.#uplinks).filter((change) => isCarried(change) && !change.isNewestOnly)
      : [];
    return filed.map((one) => {
      const change = renamed.find(
        ({ uplink, lane }) => uplink === one.uplink && lane === one.format,
      );
      return change?.what === "carried" ? { ...one, format: change.to } : one;
    });
  }

  /** Lanes in use of a configured uplink: the configured ones, and those that it must keep until they can be converted. */
  #lanesToFollow({ name, lanes }: OutboxUplink): readonly Lane[] {
    if (!this.#isDeferred) return lanes;
    const kept = this.#book
      .plan(this.#uplinks)
      .filter((change) => change.uplink === name && isCarried(change) && change.isNewestOnly);
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
      this.#book.file(uplinks),
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
    const uplinks = new Map(this.#uplinks.map((one) => [one.name, new LaneUplink(one)]));
    const former = new Map(this.#lanes);
    const fresh: LaneQueue[] = [];
    this.#lanes.clear();
    const filed = this.#filed();
    for (const one of this.#uplinks) {
      const { name } = one;
      for (const lane of this.#lanesToFollow(one)) {
        const number = filed.find((known) => known.uplink === name && known.format === lane)?.lane;
        const uplink = uplinks.get(name);
        if (number === undefined || uplink === undefined) continue;
        const key = laneName(name, lane);
        let queue = former.get(key);
        if (queue === undefined || queue.number !== number) {
          queue = new LaneQueue(lane, number, uplink);
          fresh.push(queue);
        }
        queue.uplink = uplink;
        this.#lanes.set(key, queue);
      }
    }
    this.#followed.abort();
    this.#followed = new AbortController();
    // A waiter on a removed lane finds nothing there.
    for (const lane of former.values()) if (this.#lanes.get(lane.name) !== lane) lane.wake();
    return fresh;
  }

  /** The lanes of the configured uplinks, created if missing. */
  file(): readonly FiledLane[] {
    const { writer } = this.#parts.db;
    this.#announce(writer.transaction(() => this.#book.file(this.#uplinks)).immediate());
    return this.#book.inUse();
  }

  /** Whether a lane of a configured uplink should carry such a reading, ignoring samples. */
  owes({ uplink, format }: FiledLane, sensor: string, kind: string, values: string): boolean {
    const selector = this.#uplinks.find(({ name }) => name === uplink)?.selector;
    if (selector === undefined || (kind === "event" && format !== "json")) return false;
    if (!selector.includes(sensor, kind)) return false;
    if (selector.value === null || kind === "event") return true;
    return hasChosen(values, selector.value);
  }
}

const isCarried = (change: LaneChange) => change.what === "carried";
