import { CallFailure } from "../../core/failure.ts";
import { normalCode, type Sensor, type StateRead } from "../../core/sensor.ts";
import { HOUR_MS } from "../../core/time-units.ts";
import { Backoff } from "../../lib/backoff.ts";
import type { StateContent, StateSeries } from "./rules/state-reading.ts";

/** Retries after a failure: from here up to the interval, or up to an hour if the read has none of its own. */
const RETRY_MIN_MS = 10_000;
const RETRY_MAX_MS = HOUR_MS;
/**
 * The gateway may be being redeployed: an operation that it rejects as a wrong request is retried after this long,
 * ms.
 */
const REQUEST_RETRY_MS = 300_000;
/** Reads of the service share this lane; every Modbus device has its own. */
const SERVICE_LANE = "service";
const MODBUS_PORT = 502;

/** One state read of one sensor and its schedule. */
export interface StateJob {
  readonly key: string;
  readonly sensor: Sensor;
  readonly read: StateRead;
  /** Reads with the same source must not overlap. */
  readonly lane: string;
  readonly intervalMs: number;
  /** Longest time between two tries; a node that returned nothing in three of it is not current. */
  readonly patienceMs: number;
  /** True without `intervalS`: read with the polls, and less often if its source is slow. */
  readonly isPaced: boolean;
  readonly names: ReadonlySet<string>;
  readonly backoff: Backoff;
  /** Null until the store was queried. */
  series: StateSeries | null;
  /** Its last state; null before that. */
  current: StateContent | null;
  /** Monotonic, ms. */
  readonly createdAtMs: number;
  /** Monotonic, ms. */
  dueAtMs: number;
  isRunning: boolean;
  /** Day of the last good read, in the gateway's zone. */
  lastDay: string | null;
  /** Wall clock, ms. */
  lastReadAtMs: number | null;
  /** Monotonic, ms: the wall clock may be set meanwhile. */
  lastGoodAt: number | null;
  lastError: string | null;
}

export function isModbus(read: StateRead): read is Extract<StateRead, { via: "modbus" }> {
  return read.via === "modbus";
}

/** One for each way to write the address of a Modbus device: most take one connection at a time. */
export function deviceOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `tcp://${hostname.toLowerCase()}:${port || MODBUS_PORT}`;
}

/** The names of the values that a read gives. */
function valueNames(read: StateRead): string[] {
  return isModbus(read) ? read.registers.map(({ value }) => value) : Object.keys(read.fields);
}

/** Equal for a read with the same request and interpretation as before. */
export function keyOf(sensor: Sensor, read: StateRead): string {
  const { code, type, pollIntervalS = "" } = sensor;
  return `${normalCode(code)} ${type} ${pollIntervalS} ${JSON.stringify(read)}`;
}

/**
 * @param dueAtMs monotonic, ms
 * @param pollIntervalMs POLL_INTERVAL_S, ms
 */
export function createJob(
  sensor: Sensor,
  read: StateRead,
  dueAtMs: number,
  random: () => number,
  pollIntervalMs: number,
): StateJob {
  const seconds = read.intervalS ?? sensor.pollIntervalS;
  const intervalMs = seconds === undefined ? pollIntervalMs : seconds * 1000;
  const isPaced = read.intervalS === undefined;
  const patienceMs = isPaced ? Math.max(intervalMs, RETRY_MAX_MS) : intervalMs;
  return {
    key: keyOf(sensor, read),
    sensor,
    read,
    lane: isModbus(read) ? deviceOf(read.url) : SERVICE_LANE,
    intervalMs,
    patienceMs,
    isPaced,
    names: new Set(valueNames(read)),
    backoff: new Backoff(RETRY_MIN_MS, patienceMs, random),
    series: null,
    current: null,
    createdAtMs: dueAtMs,
    dueAtMs,
    isRunning: false,
    lastDay: null,
    lastReadAtMs: null,
    lastGoodAt: null,
    lastError: null,
  };
}

/** When a read that failed is tried again, ms from now. */
export function retryIn(error: unknown, job: StateJob): number {
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
export function isSourceAway(error: unknown): boolean {
  if (error instanceof CallFailure) return error.isGatewayFault;
  return error instanceof Error && "isDeviceAway" in error && error.isDeviceAway === true;
}
