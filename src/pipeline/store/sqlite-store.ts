import { setImmediate as immediate } from "node:timers/promises";
import type { BufferState } from "../../core/agent-status.ts";
import type { OutboxUplink } from "../../core/delivery/delivery.ts";
import type { LaneChange } from "../../core/delivery/lane-plan.ts";
import type { GapLog, Outbox } from "../../core/ports.ts";
import { NO_MEDIANS } from "../../core/query/day-medians.ts";
import { NO_HOURS } from "../../core/query/ports.ts";
import type { StreamKey } from "../../core/sensor.ts";
import { MAIN_UPLINK } from "../../core/uplink.ts";
import { NOTHING_COUNTED } from "./counting.ts";
import type { Database } from "./database/database.ts";
import { DirectoryLock } from "./database/directory-lock.ts";
import { SCHEMA_VERSION } from "./database/migrate.ts";
import { StoreFailure } from "./database/store-failure.ts";
import { NOTHING_KEPT } from "./keeping.ts";
import { openOrRecover } from "./recovery/open-or-recover.ts";
import { probeTables } from "./recovery/probe.ts";
import type { Store, StoreOptions } from "./store.ts";
import { createStoreParts, type StoreParts } from "./store-parts.ts";

/** Opens DATA_DIR for one agent. Throws StoreFailure: the operator must resolve `in_use` and `schema_newer`. */
export function openStore(options: StoreOptions): Store {
  const parts = createStoreParts(options);
  const store = new SqliteStore(options, parts);
  store.open();
  return withRooms(store, parts);
}

/**
 * The same to look at, also while an agent runs: no file is made or changed, and no uplink filed. What would write throws
 * StoreFailure.
 */
export function openStoreToRead(options: StoreOptions): Store {
  const parts = createStoreParts(options);
  const store = new SqliteStore(options, parts);
  store.openToRead();
  return withRooms(store, parts);
}

function withRooms(store: SqliteStore, parts: StoreParts): Store {
  const { audit, commands, counting, gaps, history, keeping } = parts;
  const { measurements, meta, outbox, queue, readings, sessions, steps, waveforms } = parts;
  return Object.assign(store, {
    audit,
    commands,
    counting,
    dayMedians: counting?.dayMedians ?? NO_MEDIANS,
    gaps,
    history,
    hours: counting?.values ?? NO_HOURS,
    keeping,
    measurements,
    meta,
    outbox: { ...outbox.of(MAIN_UPLINK), flush: () => outbox.flush() },
    readings,
    sessions,
    steps,
    watch: parts.watch,
    tables: { db: parts.db, queue, streams: parts.streams, events: parts.events },
    statistics: queue.statistics,
    waveforms,
  });
}

/** The store in one SQLite file, over its parts. The constructor connects them; `open` does the work. */
class SqliteStore {
  readonly #parts: StoreParts;
  readonly #options: StoreOptions;
  readonly #recovered = new Set<() => void>();
  #lock: DirectoryLock | null = null;
  #isSuspected = false;
  #isClosed = false;
  #isToRead = false;

  constructor(options: StoreOptions, parts: StoreParts) {
    this.#options = options;
    this.#parts = parts;
    parts.queue.connect({
      makeRoom: (oldestMs, isAwaited) =>
        parts.watch.isSuspected ? noRoom() : parts.full.makeRoom(oldestMs, isAwaited),
      guard: parts.watch,
      quotaRefused: () => parts.monitor.quotaRefused(),
      reopen: (seen) => this.#reopen(seen),
    });
  }

  /** Locks DATA_DIR and opens the file; copies a damaged one first, which may take minutes. Throws StoreFailure. */
  open(): void {
    const { dataDir, logger, nativeBinding } = this.#options;
    const lock = DirectoryLock.take(dataDir, nativeBinding);
    try {
      this.#parts.monitor.alarm = openOrRecover(this.#parts.db, this.#parts.recovery, {
        load: () => {
          this.#load();
          this.#parts.waveforms.sweepStaged();
        },
      });
      this.#begin();
    } catch (error) {
      lock.release();
      throw error;
    }
    this.#lock = lock;
    this.#parts.outbox.begin();
    try {
      this.#parts.commands.endInterrupted();
    } catch (error) {
      // They are reported as unknown all the same; a full disk must not keep the agent from starting.
      logger.warn({ err: error }, "outcomes of interrupted commands could not be recorded");
    }
  }

  openToRead(): void {
    const { db, streams, readings, events } = this.#parts;
    this.#isToRead = true;
    db.openReadOnly();
    try {
      requireThisVersion(db);
      streams.load();
      readings.load();
      events.load();
      probeTables(db);
    } catch (error) {
      db.close();
      throw StoreFailure.from(error, `cannot read ${db.path}`);
    }
  }

  #begin(): void {
    try {
      this.#parts.monitor.start();
      this.#parts.full.load();
    } catch (error) {
      this.#parts.db.close();
      throw error;
    }
  }

  onRecovered(listener: () => void): void {
    this.#recovered.add(listener);
  }

  #load(): void {
    this.#parts.counting?.load();
    this.#parts.streams.load();
    this.#parts.identities.load();
    this.#parts.readings.load();
    this.#parts.lanes.load();
    this.#parts.gaps.load();
    this.#parts.events.load();
    probeTables(this.#parts.db);
    for (const steps of this.#parts.steps.list) steps.load?.();
  }

  /**
   * After a failed sync the kernel may have dropped pages that it reports as written; only a new connection reads the
   * disk.
   */
  #reopen(seen: StoreFailure | null): void {
    if (this.#isToRead) throw new StoreFailure("readonly", "the store was opened to read");
    this.#parts.db.disconnect();
    // A disk that fails to read for a moment can look like damage; a damaged page is found again.
    const isSuspicious = seen?.code === "corrupt";
    const isDamaged = isSuspicious && this.#isSuspected;
    this.#isSuspected = isSuspicious && !isDamaged;
    const alarm = openOrRecover(this.#parts.db, this.#parts.recovery, {
      load: () => this.#load(),
      seen: isDamaged ? seen : null,
    });
    if (alarm === null) return;
    this.#parts.monitor.alarm = alarm;
    this.#parts.monitor.start();
    for (const listener of this.#recovered) listener();
  }

  outboxOf(uplink: string): Outbox {
    return this.#parts.outbox.of(uplink);
  }

  noteRead({ sensor, kind }: StreamKey, fromMs: number): void {
    this.#parts.outbox.read(sensor, kind, fromMs);
  }

  gapsOf(uplink: string): GapLog {
    return this.#parts.gaps.of(uplink);
  }

  spell(codes: readonly string[]): void {
    this.#parts.streams.spell(codes);
  }

  setUplinks(uplinks: readonly OutboxUplink[]): readonly LaneChange[] {
    const changes = this.#parts.lanes.configure(uplinks);
    this.#parts.gaps.uplinks = uplinks;
    try {
      this.#parts.pending.follow();
    } catch (error) {
      this.#options.logger.warn({ err: error }, "what is held no longer will be queued later");
    }
    this.#parts.retention.wake();
    return changes;
  }

  state(): BufferState {
    const lanes = Object.fromEntries(
      this.#parts.lanes.all.map((lane) => [lane.name, this.#parts.pending.depth(lane)]),
    );
    const { hours, ...sizes } = this.#parts.monitor.shown(
      this.#parts.queue.statistics.commits,
      () => ({
        hours: this.#hoursState(),
        hoursUntilFull: this.#hoursUntilFull(),
      }),
    );
    const { notLasting = null } = this.#options;
    const { watch } = this.#parts;
    const isRefused = watch.refusal() !== null;
    return {
      lanes,
      ...(notLasting !== null && { notLasting }),
      readings: this.#parts.stored.count,
      ...sizes,
      limitBytes: this.#parts.limits.totalBytes,
      hours: { ...hours, limitBytes: this.#parts.limits.hoursBytes },
      dropped: this.#parts.counts.counts,
      alarm:
        watch.text ??
        this.#pause ??
        this.#parts.queue.failure?.message ??
        this.#parts.monitor.alarm,
      isWritable:
        !this.#isClosed &&
        !isRefused &&
        (this.#parts.queue.failure === null || this.#pause !== null),
      ...(watch.hold !== null && { held: watch.hold }),
      kept: this.#parts.keeping?.state ?? NOTHING_KEPT,
    };
  }

  /** Unknown, too, while the disk cannot be read: displays continue. */
  #hoursUntilFull(): number | null {
    if (!this.#parts.db.isOpen) return null;
    try {
      return this.#parts.queue.read("check sizes", () => this.#parts.monitor.hoursUntilFull());
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      return null;
    }
  }

  /** Zero, too, while the disk cannot be read. */
  #hoursState(): Omit<BufferState["hours"], "limitBytes"> {
    const { counting, queue } = this.#parts;
    if (counting === null) return NOTHING_COUNTED;
    try {
      return queue.read("look up hourly values", () => counting.state());
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      return NOTHING_COUNTED;
    }
  }

  get writeFailure(): string | null {
    const { failure } = this.#parts.queue;
    const isPause = failure?.code === "full" && this.#parts.full.isWaitingForDelivery;
    const isExpected = isPause || failure?.code === "held";
    return failure === null || isExpected ? null : failure.message;
  }

  /** Why reading pauses; null if it does not, or if more than readings finds no room. */
  get #pause(): string | null {
    const { db, full, monitor, queue } = this.#parts;
    const isPause = queue.failure?.code === "full" && full.isWaitingForDelivery && db.isOpen;
    if (!isPause || !monitor.isAtLimit()) return null;
    const what =
      full.reason === "disk_full" ? "the disk has as little room as it may" : "the buffer is full";
    return `${what}: reading pauses until more readings are delivered; they are read from the gateway later`;
  }

  isInPlace(): boolean {
    return this.#isClosed || this.#parts.db.isInPlace;
  }

  isAlive(): boolean {
    if (!this.isInPlace()) return false;
    try {
      // Uses the file's lock and first page: SELECT 1 would not touch either.
      return this.#parts.db.read("SELECT count(*) FROM sqlite_schema").all().length === 1;
    } catch {
      return false;
    }
  }

  async runRetention(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#parts.retention.run(signal), this.#parts.watch.run(signal)]);
  }

  retain(): Promise<void> {
    return this.#parts.retention.pass();
  }

  started(): void {
    this.#parts.db.started();
  }

  commitAtOnce(): void {
    this.#parts.queue.commitAtOnce();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#isToRead) return this.#parts.db.close();
    await this.#parts.outbox.flush();
    this.#parts.audit.close();
    this.#parts.outbox.close();
    this.#parts.queue.close();
    // Whoever waits for outcomes gets their failure first.
    await immediate();
    this.#parts.outbox.closed();
    this.#parts.db.close();
    this.#parts.monitor.keepRoomToOpen();
    this.#lock?.release();
  }
}

/** While a reader keeps the log, what is freed lengthens it: nothing is given up for that. */
function* noRoom(): Generator<void, boolean, void> {
  yield;
  return false;
}

/** Only an agent may migrate. */
function requireThisVersion({ path, reader }: Database): void {
  const version = Number(reader.pragma("user_version", { simple: true }));
  if (version < SCHEMA_VERSION)
    throw new StoreFailure(
      "unusable",
      `${path} has schema version ${version} and this program needs ${SCHEMA_VERSION}: start the agent once, which migrates it`,
    );
}
