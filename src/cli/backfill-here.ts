import type { BackfillProgress, BackfillRequest } from "../core/query/ports.ts";
import { isRead, type PolledKind, type Sensor, sameCode } from "../core/sensor.ts";
import { fixedSite } from "../core/site-source.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { Backoff } from "../lib/backoff.ts";
import { systemClock } from "../lib/clock.ts";
import { BackfillJob } from "../pipeline/poll/backfill-job.ts";
import { createBackfillJobs } from "../pipeline/poll/backfill-jobs.ts";
import type { DayRead } from "../pipeline/poll/day-read.ts";
import { UsageError } from "./command.ts";
import type { ComparedConfiguration } from "./configuration.ts";
import { openGateway } from "./gateway-access.ts";
import { openOwnStore } from "./own-store.ts";

const FEATURE_SPECS: readonly FeatureSpec[] = SPECS;

/** A person is waiting: a failed read is retried this often, not forever. */
const TRIES_MAX = 4;
const PAUSE_MIN_MS = 500;
const PAUSE_MAX_MS = 5_000;

interface Read {
  readonly sensor: Sensor;
  readonly kind: PolledKind;
  readonly day: string;
}

/** Reads days in this process, into the store that the next agent publishes from. */
export async function backfillHere(
  configuration: ComparedConfiguration,
  request: BackfillRequest,
  show: (now: BackfillProgress) => void,
  signal: AbortSignal,
): Promise<BackfillProgress> {
  const { settings, site } = configuration;
  const store = openOwnStore(configuration);
  // Each worker waits for the commit of a day before it reads the next one.
  store.commitAtOnce();
  const gateway = await openGateway(configuration);
  const readDay = gateway.readDay(store.readings);
  const reads: Read[] = [];
  let days: readonly string[] = [];
  let job = new BackfillJob(0);

  const tryRead = async (read: Read, signal: AbortSignal): Promise<DayRead> => {
    const backoff = new Backoff(PAUSE_MIN_MS, PAUSE_MAX_MS);
    for (let tries = 1; ; tries++) {
      const result = await readDay(
        { ...read, acceptPartial: tries >= 3, gatewayNow: (dateMs) => gateway.gatewayNow(dateMs) },
        signal,
      );
      const isFinal = result.ok || result.failureClass === "configuration" || signal.aborted;
      if (isFinal || tries >= TRIES_MAX) return result;
      await systemClock.sleep(Math.max(backoff.next(), result.retryAfterMs ?? 0), signal);
    }
  };
  const work = async ({ signal }: AbortController): Promise<void> => {
    for (let read = reads.shift(); read !== undefined; read = reads.shift()) {
      if (signal.aborted) {
        job.settle(0, 0, `${read.day} ${read.sensor.code} ${read.kind}: stopped`);
        continue;
      }
      const result = await tryRead(read, signal);
      if (result.ok) job.settle(result.stored, result.known, null);
      else job.settle(0, 0, `${read.day} ${read.sensor.code} ${read.kind}: ${result.message}`);
      const now = jobs.current();
      if (now) show(now);
    }
  };
  const jobs = createBackfillJobs({
    site: fixedSite(site),
    clock: systemClock,
    gatewayNow: () => gateway.clock.now(),
    zone: settings.gatewayTimezone,
    canReread: (key) => store.readings.canReread(key),
    read: (asked, code) => {
      days = asked;
      for (const day of asked) {
        for (const sensor of site.sensors.filter(isRead)) {
          if (code !== null && !sameCode(sensor.code, code)) continue;
          for (const kind of sensor.kinds) reads.push({ sensor, kind, day });
        }
      }
      job = new BackfillJob(reads.length);
      return job;
    },
  });

  try {
    const start = jobs.start(request);
    if (!start.accepted) throw new UsageError(start.detail);
    // One listener for all: each read and pause of a worker waits on the worker's own signal.
    const workers = Array.from(
      { length: settings.gatewayConcurrency },
      () => new AbortController(),
    );
    const stop = () => {
      for (const worker of workers) worker.abort(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    await Promise.all(workers.map(work));
    signal.removeEventListener("abort", stop);
    const end = jobs.current() ?? start.progress;
    if (!signal.aborted)
      for (const spec of FEATURE_SPECS) spec.readAgain?.(store.meta, days, request.sensor);
    return signal.aborted ? { ...end, state: "cancelled" } : end;
  } finally {
    await store.readings.flush();
    await gateway.client.close();
    await store.close();
  }
}
