import { normalCode, type Sensor, type StateRead } from "../core/sensor.ts";
import type { StateContent, StateSeries } from "../core/state/state-reading.ts";
import { Backoff } from "../lib/backoff.ts";

/** Battery and firmware change over weeks. */
const INTERVAL_S = 3_600;
/** Retries of what failed: from here up to the interval. */
const RETRY_MIN_MS = 10_000;
/** Reads of the service share this lane; every Modbus device has its own. */
const SERVICE_LANE = "service";

/** One state read of one sensor, as it is kept going. */
export interface StateJob {
  readonly key: string;
  readonly sensor: Sensor;
  readonly read: StateRead;
  /** What must not be read at the same time. */
  readonly lane: string;
  readonly intervalMs: number;
  readonly names: ReadonlySet<string>;
  readonly backoff: Backoff;
  /** Null until the store was asked. */
  series: StateSeries | null;
  /** What it said last; null before that. */
  current: StateContent | null;
  /** Monotonic, ms. */
  dueAtMs: number;
  isRunning: boolean;
  /** Day of the last good read, in the gateway's zone. */
  lastDay: string | null;
  /** Wall clock, ms. */
  lastReadAtMs: number | null;
  /** Wall clock, ms. */
  lastGoodAtMs: number | null;
  lastError: string | null;
}

export function isModbus(read: StateRead): read is Extract<StateRead, { via: "modbus" }> {
  return read.via === "modbus";
}

/** The names of the values that a read gives. */
function valueNames(read: StateRead): string[] {
  return isModbus(read) ? read.registers.map(({ value }) => value) : Object.keys(read.fields);
}

/** Equal for a read that is asked and understood as before. */
export function keyOf(sensor: Sensor, read: StateRead): string {
  return `${normalCode(sensor.code)} ${sensor.type} ${JSON.stringify(read)}`;
}

/** @param dueAtMs monotonic, ms */
export function createJob(
  sensor: Sensor,
  read: StateRead,
  dueAtMs: number,
  random: () => number,
): StateJob {
  const intervalMs = (read.intervalS ?? INTERVAL_S) * 1000;
  return {
    key: keyOf(sensor, read),
    sensor,
    read,
    lane: isModbus(read) ? read.url : SERVICE_LANE,
    intervalMs,
    names: new Set(valueNames(read)),
    backoff: new Backoff(RETRY_MIN_MS, intervalMs, random),
    series: null,
    current: null,
    dueAtMs,
    isRunning: false,
    lastDay: null,
    lastReadAtMs: null,
    lastGoodAtMs: null,
    lastError: null,
  };
}
