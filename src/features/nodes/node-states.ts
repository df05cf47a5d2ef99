/** Runs the state reads of all sensors: one at a time per source, after the day's records, and in a small share of the time. */

import { isRead, sameCode } from "../../core/sensor.ts";
import type { Site } from "../../core/site.ts";
import type { SiteSource } from "../../core/site-source.ts";
import { messageOf } from "../../core/thrown.ts";
import { HOUR_MS } from "../../core/time-units.ts";
import { type ReadStateParts, readState } from "./read-state.ts";
import { createJob, isModbus, isSourceAway, keyOf, retryIn, type StateJob } from "./state-job.ts";

/** Records come first; but if the gateway does not return all of them, states are requested after this long, ms. */
const FIRST_WAIT_MAX_MS = 60_000;
const CHECK_MS = 1_000;
/** Nothing due: new reads and the end wake the loop, the rest can wait this long, ms. */
const IDLE_MS = 30_000;
/** Sources read in parallel. */
const LANES_MAX = 8;
/** Intervals are shortened at random by up to this share, so that sensors and boxes spread out. */
const JITTER = 0.1;
/**
 * After a read without its own interval, its source pauses for this many times the duration of the request:
 * records have the rest.
 */
const REST = 9;
/** A source that responds faster may rest less, so that each of its nodes is read within its interval. */
const QUICK_MS = 1000;
/** After this many intervals without a good read, what is known of the node is no longer current. */
const STALE_INTERVALS = 3;
/** The same for reads of an earlier process: an unchanged state is published once a day. */
const STALE_STORED_MS = 27 * HOUR_MS;

export interface NodeStatesParts extends Omit<ReadStateParts, "inTurn" | "onAnswered"> {
  readonly site: SiteSource;
  /** POLL_INTERVAL_S, ms: how often a state is read if neither the read nor its sensor says so. */
  readonly pollIntervalMs: number;
  /** True once the day's records of all sensors were requested. */
  readonly isPolled: () => boolean;
  /** Time of the newest stored reading of kind `node`, ms; null when none. */
  readonly newestTimeMs: (sensor: string) => number | null;
  /** 0…1; for tests. */
  readonly random?: () => number;
}

/** The condition of a sensor's state reads. */
export interface NodeCondition {
  readonly lastReadingMs: number | null;
  readonly lastReadAtMs: number | null;
  readonly lastError: string | null;
  readonly isStale: boolean;
}

interface SourceQueue {
  /** The read whose response is awaited. */
  reader: StateJob | null;
  /** Monotonic, ms: its source is away, or rests. */
  pausedUntilMs: number;
  /** Monotonic, ms: when the last of the second reads is due. The first ones follow each other at once. */
  spreadToMs: number;
}

export class NodeStates {
  readonly #parts: NodeStatesParts;
  readonly #random: () => number;
  #jobs: readonly StateJob[] = [];
  readonly #lanes = new Map<string, SourceQueue>();
  readonly #running = new Set<Promise<void>>();
  #hasModbus = false;
  #wake: () => void = () => {};
  /** By sensor: resolves when its last piece of work that was started ends. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor(parts: NodeStatesParts) {
    this.#parts = parts;
    this.#random = parts.random ?? Math.random;
    this.#take(parts.site.current);
  }

  /** Reads until aborted; reads in progress are awaited. */
  async run(signal: AbortSignal): Promise<void> {
    const endWatch = this.#parts.site.onChange((site) => this.#take(site));
    await this.#untilPolled(signal);
    while (!signal.aborted) {
      this.#start(signal);
      await this.#untilDue(signal);
    }
    endWatch();
    await Promise.all(this.#running);
    if (this.#hasModbus) (await this.#parts.modbus()).close();
  }

  /** Null for a sensor without state reads. */
  condition(code: string): NodeCondition | null {
    const jobs = this.#jobs.filter(({ sensor }) => sameCode(sensor.code, code));
    if (jobs.length === 0) return null;
    const now = this.#parts.clock.now();
    const lastReadingMs = this.#parts.newestTimeMs(code);
    const readAt = jobs.flatMap(({ lastReadAtMs }) => lastReadAtMs ?? []);
    const errors = jobs.flatMap(({ lastError }) => lastError ?? []);
    const isStale = jobs.some(({ lastGoodAt, patienceMs, lastError, createdAtMs }) => {
      const longestMs = STALE_INTERVALS * patienceMs;
      const uptimeMs = this.#parts.clock.monotonic();
      if (lastGoodAt !== null) return uptimeMs - lastGoodAt > longestMs;
      if (lastReadingMs === null || now - lastReadingMs > STALE_STORED_MS) return true;
      return lastError !== null && uptimeMs - createdAtMs > longestMs;
    });
    return {
      lastReadingMs,
      lastReadAtMs: readAt.length === 0 ? null : Math.max(...readAt),
      lastError: errors.length === 0 ? null : errors.join("; "),
      isStale,
    };
  }

  /** An unchanged read keeps its place and its state; a new one is due at once. */
  #take({ sensors }: Site): void {
    const known = new Map(this.#jobs.map((job) => [job.key, job]));
    const now = this.#parts.clock.monotonic();
    this.#jobs = sensors.filter(isRead).flatMap((sensor) =>
      (sensor.stateReads ?? []).map((read) => {
        const job = known.get(keyOf(sensor, read));
        // The same object is kept, because a read may be in progress.
        return job !== undefined && job.sensor.code === sensor.code
          ? job
          : createJob(sensor, read, now, this.#random, this.#parts.pollIntervalMs);
      }),
    );
    const lanes = new Set(this.#jobs.map(({ lane }) => lane));
    for (const [name, { reader }] of this.#lanes) {
      if (reader === null && !lanes.has(name)) this.#lanes.delete(name);
    }
    this.#wake();
  }

  async #untilPolled(signal: AbortSignal): Promise<void> {
    const { clock, isPolled } = this.#parts;
    const startedAtMs = clock.monotonic();
    while (!signal.aborted && !isPolled()) {
      if (clock.monotonic() - startedAtMs >= FIRST_WAIT_MAX_MS) return;
      await clock.sleep(CHECK_MS, signal);
    }
  }

  #start(signal: AbortSignal): void {
    const now = this.#parts.clock.monotonic();
    const due = this.#jobs
      .filter((job) => !job.isRunning && job.dueAtMs <= now)
      .sort((a, b) => a.dueAtMs - b.dueAtMs);
    for (const job of due) {
      const lane = this.#lane(job.lane);
      if (this.#busyLanes >= LANES_MAX) return;
      if (lane.reader !== null || lane.pausedUntilMs > now) continue;
      lane.reader = job;
      job.isRunning = true;
      const read = this.#read(job, lane, signal).finally(() => {
        job.isRunning = false;
        this.#running.delete(read);
        this.#wake();
      });
      this.#running.add(read);
    }
  }

  /** Reads that wait for their commit need no lane: it comes seconds later, for all of them together. */
  get #busyLanes(): number {
    return [...this.#lanes.values()].filter(({ reader }) => reader !== null).length;
  }

  /**
   * The source has responded: the next read of it need not wait for the commit of this one. Returns when this one is due
   * again so that its turn comes within its interval, monotonic ms; null if it waits for no other.
   */
  #release(job: StateJob, lane: SourceQueue, startedAtMs: number): number | null {
    const now = this.#parts.clock.monotonic();
    const tookMs = now - startedAtMs;
    const restMs = this.#restMs(job.lane, tookMs);
    lane.reader = null;
    const isFirst = job.lastGoodAt === null;
    if (job.isPaced && !isFirst) lane.pausedUntilMs = now + restMs;
    this.#wake();
    if (!job.isPaced || tookMs >= QUICK_MS || this.#paced(job.lane).length < 2) return null;
    // Always the same distance: the reads of a source keep their order, and none waits for others that were due by chance.
    const againMs = startedAtMs + (1 - JITTER) * job.intervalMs;
    if (!isFirst) return againMs;
    lane.spreadToMs = Math.max(lane.spreadToMs, now) + this.#spacingMs(job.lane);
    return Math.min(againMs, lane.spreadToMs);
  }

  #paced(lane: string): readonly StateJob[] {
    return this.#jobs.filter((job) => job.lane === lane && job.isPaced);
  }

  /** Between two reads of a source, so that each has its turn within its interval, and some time is left. */
  #spacingMs(lane: string): number {
    const readsPerMs = this.#paced(lane).reduce((sum, { intervalMs }) => sum + 1 / intervalMs, 0);
    return (1 - 2 * JITTER) / readsPerMs;
  }

  /** @param tookMs duration of the request */
  #restMs(lane: string, tookMs: number): number {
    if (tookMs >= QUICK_MS) return REST * tookMs;
    return Math.min(REST * tookMs, Math.max(tookMs, this.#spacingMs(lane) - tookMs));
  }

  #lane(name: string): SourceQueue {
    let lane = this.#lanes.get(name);
    if (lane === undefined)
      this.#lanes.set(name, (lane = { reader: null, pausedUntilMs: 0, spreadToMs: 0 }));
    return lane;
  }

  async #read(job: StateJob, lane: SourceQueue, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#parts;
    const { read } = job;
    if (isModbus(read)) this.#hasModbus = true;
    const source = isModbus(read) ? read.url : read.operation;
    const subject = { sensor: job.sensor.code, source };
    const startedAtMs = clock.monotonic();
    try {
      // By code: after a reload, an old read and a new one have the sensor objects of two site files.
      const siblings = this.#jobs.filter(({ sensor }) => sensor.code === job.sensor.code);
      const inTurn = (work: () => Promise<void>) => this.#inTurn(job.sensor.code, work);
      let againMs: number | null = null;
      const onAnswered = () => {
        againMs = this.#release(job, lane, startedAtMs);
      };
      await readState({ ...this.#parts, inTurn, onAnswered }, job, siblings, signal);
      job.lastReadAtMs = clock.now();
      job.lastGoodAt = clock.monotonic();
      if (job.lastError !== null) logger.info(subject, "state reads of this node work again");
      job.lastError = null;
      job.backoff.reset();
      job.dueAtMs = againMs ?? startedAtMs + job.intervalMs * (1 - JITTER * this.#random());
    } catch (error) {
      if (signal.aborted) return;
      const detail = messageOf(error);
      if (job.lastError !== detail) logger.warn({ ...subject, detail }, "state read failed");
      job.lastReadAtMs = clock.now();
      job.lastError = detail;
      const retryMs = retryIn(error, job);
      job.dueAtMs = clock.monotonic() + retryMs;
      if (isSourceAway(error)) lane.pausedUntilMs = job.dueAtMs;
    } finally {
      if (lane.reader === job) lane.reader = null;
    }
  }

  async #inTurn(sensor: string, work: () => Promise<void>): Promise<void> {
    const done = (this.#turns.get(sensor) ?? Promise.resolve()).then(work);
    const settled = done.catch(() => {});
    this.#turns.set(sensor, settled);
    await done.finally(() => {
      if (this.#turns.get(sensor) === settled) this.#turns.delete(sensor);
    });
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const now = clock.monotonic();
    let until = now + IDLE_MS;
    if (this.#busyLanes < LANES_MAX) {
      for (const { lane, isRunning, dueAtMs } of this.#jobs) {
        const { reader, pausedUntilMs } = this.#lane(lane);
        if (!isRunning && reader === null)
          until = Math.min(until, Math.max(dueAtMs, pausedUntilMs));
      }
    }
    const woken = new AbortController();
    const abort = () => woken.abort(null);
    this.#wake = abort;
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    await clock.sleep(Math.max(0, until - now), woken.signal);
    signal.removeEventListener("abort", abort);
  }
}
