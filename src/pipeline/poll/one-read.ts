/** One read of a sensor's day that stores nothing: used by `probe` and `doctor`. */
import type { ReadingLog, ResponseWriter } from "../../core/ports.ts";
import type { Reading } from "../../core/reading.ts";
import type { PolledKind, Sensor } from "../../core/sensor.ts";
import type { DayRead, ReadDay } from "./day-read.ts";

/** The gateway for a read that stores nothing. */
export interface ReadingGateway {
  readDay(log: ReadingLog): ReadDay;
  /** For ReadRequest.gatewayNow. */
  gatewayNow(dateMs: number | null): number;
}

interface NewestOfDay {
  readonly result: DayRead;
  /** Records of the day that became readings. */
  readonly count: number;
  readonly newest: Reading | null;
}

/** Keeps the newest reading and counts the rest: a day of waveforms would not fit. */
class NewestOnly implements ReadingLog, ResponseWriter {
  newest: Reading | null = null;
  count = 0;

  progress(): null {
    return null;
  }
  begin(): ResponseWriter {
    this.discard();
    return this;
  }
  newestTimeMs(): null {
    return null;
  }
  isKnown(): boolean {
    return false;
  }
  add(reading: Reading): void {
    this.count += 1;
    if (this.newest === null || reading.timeMs > this.newest.timeMs) this.newest = reading;
  }
  commit(): Promise<{ stored: number; duplicates: number }> {
    return Promise.resolve({ stored: this.count, duplicates: 0 });
  }
  discard(): void {
    this.newest = null;
    this.count = 0;
  }
}

/**
 * The day that `today` gives. The first response may show that the gateway is on another day than our clock: then that
 * day is read instead.
 */
export async function readToday(
  gateway: ReadingGateway,
  request: { readonly sensor: Sensor; readonly kind: PolledKind },
  today: () => string,
  signal: AbortSignal,
): Promise<NewestOfDay & { readonly day: string }> {
  const expected = today();
  const read = await readOnce(gateway, { ...request, day: expected }, signal);
  const day = today();
  if (day === expected || !read.result.ok) return { ...read, day: expected };
  return { ...(await readOnce(gateway, { ...request, day }, signal)), day };
}

export async function readOnce(
  gateway: ReadingGateway,
  request: { readonly sensor: Sensor; readonly kind: PolledKind; readonly day: string },
  signal: AbortSignal,
): Promise<NewestOfDay> {
  const log = new NewestOnly();
  const result = await gateway.readDay(log)(
    { ...request, acceptPartial: false, gatewayNow: (dateMs) => gateway.gatewayNow(dateMs) },
    signal,
  );
  return { result, count: log.count, newest: log.newest };
}
