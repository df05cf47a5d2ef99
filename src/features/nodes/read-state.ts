/** One state read, from the request to the commit. */
import type { ReadingLog, Runtime } from "../../core/ports.ts";
import type { Reading } from "../../core/reading.ts";
import type { Timestamp } from "../../core/record.ts";
import type { ServiceStateRead } from "../../core/sensor.ts";
import {
  type StoredReading,
  storedQuality,
  storedUnits,
  storedValues,
} from "../../core/stored-reading.ts";
import { addDays, dayOf } from "../../core/time/time-zone.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { ModbusStates } from "./modbus-states.ts";
import {
  answerTimeMs,
  contentOf,
  partOf,
  REMEMBERED_MS,
  StateSeries,
  stateReading,
  UNCHANGED_MS,
} from "./rules/state-reading.ts";
import type { StateSample } from "./rules/state-sample.ts";
import type { ServiceStates } from "./service-states.ts";
import { isModbus, type StateJob } from "./state-job.ts";

export interface ReadStateParts extends Runtime {
  readonly service: Pick<ServiceStates, "read">;
  /** Loads the Modbus client at its first use. */
  readonly modbus: () => Promise<Pick<ModbusStates, "read" | "keep" | "close">>;
  readonly log: ReadingLog;
  /** Stored readings of kind `node` of a sensor since an instant, oldest first. */
  readonly stored: (sensor: string, fromMs: number) => Iterable<StoredReading>;
  readonly metrics: Metrics;
  /** The gateway's clock, ms. */
  readonly gatewayNow: () => number;
  /** GATEWAY_TIMEZONE. */
  readonly zone: string;
  /** The source has responded; what follows concerns the store alone. */
  readonly onAnswered?: () => void;
  /** Runs one piece of work of a sensor after the other. */
  readonly inTurn: (work: () => Promise<void>) => Promise<void>;
  /** Called with each reading once it is durable. */
  readonly onStored?: (reading: Reading) => void;
}

/**
 * Rejects with the failure of the source or the store; the state of the job is then unchanged.
 * `siblings` are all reads of the sensor.
 */
export async function readState(
  parts: ReadStateParts,
  job: StateJob,
  siblings: readonly StateJob[],
  signal: AbortSignal,
): Promise<void> {
  const { read } = job;
  if (isModbus(read)) {
    const sample = await (await parts.modbus()).read(read, signal);
    await store(parts, job, siblings, [sample], parts.gatewayNow());
    return;
  }
  await readService(parts, job, siblings, read, signal);
}

async function readService(
  parts: ReadStateParts,
  job: StateJob,
  siblings: readonly StateJob[],
  read: ServiceStateRead,
  signal: AbortSignal,
): Promise<void> {
  const { service } = parts;
  if (read.request === "none") {
    const response = await service.read(job.sensor, read, null, signal);
    await store(
      parts,
      job,
      siblings,
      response.samples,
      response.gatewayTimeMs ?? parts.gatewayNow(),
    );
    checkGiven(response.records, response.samples.length, read);
    return;
  }
  const today = dayOf(parts.gatewayNow(), parts.zone);
  const response = await service.read(job.sensor, read, today, signal);
  const samples = [...response.samples];
  let { records } = response;
  // The previous day is read along with it once, and used if only that day has records.
  const isNewDay = job.lastDay !== null && job.lastDay !== today;
  if (isNewDay || (job.lastDay === null && records === 0)) {
    const before = isNewDay ? (job.lastDay ?? today) : addDays(today, -1);
    const earlier = await service.read(job.sensor, read, before, signal);
    records += earlier.records;
    // A record of that day without its own time is older than today's.
    const dated = earlier.samples.filter(({ time }) => time !== null || response.records === 0);
    samples.unshift(...dated);
  }
  await store(parts, job, siblings, samples, response.gatewayTimeMs ?? parts.gatewayNow());
  checkGiven(records, samples.length, read);
  job.lastDay = today;
}

/** Records that lack all configured fields are a response that does not match the site file. */
function checkGiven(records: number, samples: number, read: ServiceStateRead): void {
  if (records === 0 || samples > 0) return;
  const wanted = Object.values(read.fields).map(({ from }) => from);
  throw new Error(
    `no record of ${read.operation} is from this sensor and has one of the fields ${wanted.join(", ")}`,
  );
}

/** In turn: what one read stores is known to the next one of its sensor. */
function store(...[parts, job, siblings, samples, gatewayNowMs]: StoreArguments): Promise<void> {
  parts.onAnswered?.();
  return parts.inTurn(() => storeNews(parts, job, siblings, samples, gatewayNowMs));
}
type StoreArguments = Parameters<typeof storeNews>;

async function storeNews(
  parts: ReadStateParts,
  job: StateJob,
  siblings: readonly StateJob[],
  samples: readonly StateSample[],
  gatewayNowMs: number,
): Promise<void> {
  const { sensor } = job;
  const series = recall(parts, job, gatewayNowMs);
  const others = siblings.filter((one) => one !== job);
  for (const other of others) recall(parts, other, gatewayNowMs);
  const day = dayOf(gatewayNowMs, parts.zone);
  const writer = parts.log.begin({ sensor: sensor.code, kind: "node", day });
  const added: Reading[] = [];
  // Compared one by one with changes made by earlier ones; the job's own memory follows the commit.
  const draft = series.copy();
  const carried = others.flatMap(({ current }) => current ?? []);
  const add = async (reading: Reading) => {
    if (writer.isKnown(reading.timeMs, reading.id)) return;
    await writer.add(reading);
    added.push(reading);
  };
  try {
    for (const sample of samples) {
      const content = contentOf(sample);
      if (!draft.isNews(sample.time?.ms ?? gatewayNowMs, content)) continue;
      const newestMs = newestOf([draft, ...others.map((other) => other.series)]);
      const now: Timestamp = {
        ms: answerTimeMs(gatewayNowMs, job.intervalMs, newestMs),
        offsetMinutes: null,
      };
      const time = sample.time ?? now;
      // The newest reading is the whole state of the node; a late record contains only its own values.
      const isNewest = newestMs === null || time.ms > newestMs;
      await add(stateReading(sensor.code, sample, time, gatewayNowMs, isNewest ? carried : []));
      if (time.ms <= gatewayNowMs + UNCHANGED_MS) draft.add(time.ms, content);
      // Older than news from another source: the whole state as known now follows.
      if (isNewest || sample !== samples.at(-1) || carried.length === 0) continue;
      const whole = { ...sample, time: null };
      await add(stateReading(sensor.code, whole, now, gatewayNowMs, carried));
      draft.add(now.ms, content);
    }
    if (added.length === 0) writer.discard();
    else {
      const { stored } = await writer.commit({ checkpoint: null, records: added.length });
      parts.metrics.readings.inc({ kind: "node" }, stored);
    }
  } catch (error) {
    writer.discard();
    throw error;
  }
  job.series = draft;
  job.current = samples.at(-1) ?? job.current;
  for (const reading of added) parts.onStored?.(reading);
}

function newestOf(series: readonly (StateSeries | null)[]): number | null {
  const times = series.flatMap((one) => one?.newestMs ?? []);
  return times.length === 0 ? null : Math.max(...times);
}

/** What earlier processes have stored of this read. */
function recall(parts: ReadStateParts, job: StateJob, gatewayNowMs: number): StateSeries {
  if (job.series !== null) return job.series;
  const series = new StateSeries();
  for (const stored of parts.stored(job.sensor.code, gatewayNowMs - REMEMBERED_MS)) {
    if (stored.timeMs > gatewayNowMs + UNCHANGED_MS) continue;
    const whole = {
      values: storedValues(stored),
      units: storedUnits(stored),
      quality: storedQuality(stored),
    };
    const own = partOf(whole, job.names);
    // Every value belongs to one read of the sensor.
    if (Object.keys(own.values).length === 0) continue;
    series.add(stored.timeMs, contentOf(own));
    job.current = own;
  }
  job.series = series;
  return series;
}
