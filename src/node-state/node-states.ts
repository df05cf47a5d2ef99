/** Runs the state reads of all sensors: one at a time per source, after the day's records, and in a small share of the time. */
import { CallFailure } from "../core/failure.ts";
import { isRead, type Site } from "../core/sensor.ts";
import type { SiteSource } from "../core/site-source.ts";
import { type ReadStateParts, readState } from "./read-state.ts";
import { createJob, isModbus, keyOf, type StateJob } from "./state-job.ts";

/** Records come first; but if the gateway does not return all of them, states are requested after this long, ms. */
const FIRST_WAIT_MAX_MS = 60_000;
const LOOK_MS = 1_000;
/** Nothing due: new reads and the end wake the loop, the rest can wait this long, ms. */
const IDLE_MS = 30_000;
/** Sources read in parallel. */
const LANES_MAX = 8;
/** Intervals are shortened at random by up to this share, so that sensors and boxes spread out. */
const JITTER = 0.1;
/**
 * The gateway may be being redeployed: an operation that it rejects as a wrong request is retried after this long,
 * ms.
 */
const REQUEST_RETRY_MS = 300_000;
/**
 * After a read without an interval of its own, its source pauses for this many times the duration of the read: records
 * have the rest.
 */
const REST = 9;
/** After this many intervals without a good read, what is known of the node is no longer current. */
const STALE_INTERVALS = 3;
/** The same for reads of an earlier process: an unchanged state is published once a day. */
const STALE_STORED_MS = 27 * 3_600_000;

export interface NodeStatesParts extends Omit<ReadStateParts, "inTurn"> {
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

interface Lane {
  isBusy: boolean;
  /** Monotonic, ms: its source is away. */
  pausedUntilMs: number;
}

export class NodeStates {
  readonly #parts: NodeStatesParts;
  readonly #random: () => number;
  #jobs: readonly StateJob[] = [];
  readonly #lanes = new Map<string, Lane>();
  readonly #running = new Set<Promise<void>>();
  #hasModbus = false;
  #wake: () => void = () => {};
  /** Resolves when the last piece of work that was started ends. */
  #turn: Promise<void> = Promise.resolve();

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
    const jobs = this.#jobs.filter(({ sensor }) => sensor.code === code);
    if (jobs.length === 0) return null;
    const now = this.#parts.clock.now();
    const lastReadingMs = this.#parts.newestTimeMs(code);
    const readAt = jobs.flatMap(({ lastReadAtMs }) => lastReadAtMs ?? []);
    const errors = jobs.flatMap(({ lastError }) => lastError ?? []);
    const isStale = jobs.some(({ lastGoodAtMs, patienceMs }) =>
      lastGoodAtMs === null
        ? lastReadingMs === null || now - lastReadingMs > STALE_STORED_MS
        : now - lastGoodAtMs > STALE_INTERVALS * patienceMs,
    );
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
    for (const [name, { isBusy }] of this.#lanes) {
      if (!isBusy && !lanes.has(name)) this.#lanes.delete(name);
    }
    this.#wake();
  }

  async #untilPolled(signal: AbortSignal): Promise<void> {
    const { clock, isPolled } = this.#parts;
    const startedAtMs = clock.monotonic();
    while (!signal.aborted && !isPolled()) {
      if (clock.monotonic() - startedAtMs >= FIRST_WAIT_MAX_MS) return;
      await clock.sleep(LOOK_MS, signal);
    }
  }

  #start(signal: AbortSignal): void {
    const now = this.#parts.clock.monotonic();
    const due = this.#jobs
      .filter((job) => !job.isRunning && job.dueAtMs <= now)
      .sort((a, b) => a.dueAtMs - b.dueAtMs);
    for (const job of due) {
      const lane = this.#lane(job.lane);
      if (this.#running.size >= LANES_MAX) return;
      if (lane.isBusy || lane.pausedUntilMs > now) continue;
      lane.isBusy = true;
      job.isRunning = true;
      const read = this.#read(job, lane, signal).finally(() => {
        lane.isBusy = false;
        job.isRunning = false;
        this.#running.delete(read);
        this.#wake();
      });
      this.#running.add(read);
    }
  }

  #lane(name: string): Lane {
    let lane = this.#lanes.get(name);
    if (lane === undefined) this.#lanes.set(name, (lane = { isBusy: false, pausedUntilMs: 0 }));
    return lane;
  }

  async #read(job: StateJob, lane: Lane, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#parts;
    if (isModbus(job.read)) this.#hasModbus = true;
    const subject = { sensor: job.sensor.code, source: sourceOf(job) };
    const isFirst = job.lastGoodAtMs === null;
    const startedAtMs = clock.monotonic();
    try {
      // By code: after a reload, an old read and a new one have the sensor objects of two site files.
      const siblings = this.#jobs.filter(({ sensor }) => sensor.code === job.sensor.code);
      const inTurn = (work: () => Promise<void>) => {
        const done = this.#turn.then(work);
        this.#turn = done.catch(() => {});
        return done;
      };
      await readState({ ...this.#parts, inTurn }, job, siblings, signal);
      job.lastReadAtMs = job.lastGoodAtMs = clock.now();
      if (job.lastError !== null) logger.info(subject, "state reads of this node work again");
      job.lastError = null;
      job.backoff.reset();
      const now = clock.monotonic();
      job.dueAtMs = now + job.intervalMs * (1 - JITTER * this.#random());
      if (job.isPaced && !isFirst) lane.pausedUntilMs = now + REST * (now - startedAtMs);
    } catch (error) {
      if (signal.aborted) return;
      const detail = error instanceof Error ? error.message : String(error);
      if (job.lastError !== detail) logger.warn({ ...subject, detail }, "state read failed");
      job.lastReadAtMs = clock.now();
      job.lastError = detail;
      const retryMs = retryIn(error, job);
      job.dueAtMs = clock.monotonic() + retryMs;
      if (isSourceAway(error)) lane.pausedUntilMs = job.dueAtMs;
    }
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const now = clock.monotonic();
    let until = now + IDLE_MS;
    if (this.#running.size < LANES_MAX) {
      for (const { lane, isRunning, dueAtMs } of this.#jobs) {
        const { isBusy, pausedUntilMs } = this.#lane(lane);
        if (!isRunning && !isBusy) until = Math.min(until, Math.max(dueAtMs, pausedUntilMs));
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

/** Its name in the log: the operation, or the device. */
function sourceOf({ read }: StateJob): string {
  return isModbus(read) ? read.url : read.operation;
}

function retryIn(error: unknown, job: StateJob): number {
  const { intervalMs, backoff } = job;
  if (!(error instanceof CallFailure)) return backoff.next();
  const own = (): number => {
    switch (error.failureClass) {
      case "service_status":
      case "configuration":
        return intervalMs;
      case "request":
        return Math.max(REQUEST_RETRY_MS, backoff.next());
      case "transient":
      case "not_json":
      case "truncated":
      case "too_large":
      case "aborted":
        return backoff.next();
    }
  };
  return Math.max(own(), error.retryAfterMs ?? 0);
}

/** True if every other read of the same source would fail the same way. */
function isSourceAway(error: unknown): boolean {
  if (error instanceof CallFailure) return error.isGatewayFault;
  return error instanceof Error && "isDeviceAway" in error && error.isDeviceAway === true;
}
