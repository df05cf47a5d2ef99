/** One read of a sensor's day that stores nothing: what `probe` shows and `doctor` tries. */
import type { AnswerWriter, ReadingLog } from "../core/ports.ts";
import type { Reading } from "../core/reading.ts";
import type { Kind, Sensor } from "../core/sensor.ts";
import type { DayRead } from "../poll/day-read.ts";
import type { GatewayAccess } from "./gateway-access.ts";

export interface OneRead {
  readonly result: DayRead;
  /** Records of the day that became readings. */
  readonly count: number;
  readonly newest: Reading | null;
}

/** Keeps the newest reading and counts the rest: a day of waveforms would not fit. */
class NewestOnly implements ReadingLog, AnswerWriter {
  newest: Reading | null = null;
  count = 0;

  progress(): null {
    return null;
  }
  begin(): AnswerWriter {
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
    if (this.newest === null || reading.timeMs >= this.newest.timeMs) this.newest = reading;
  }
  commit(): Promise<{ stored: number; duplicates: number }> {
    return Promise.resolve({ stored: this.count, duplicates: 0 });
  }
  discard(): void {
    this.newest = null;
    this.count = 0;
  }
}

export async function readOnce(
  gateway: GatewayAccess,
  request: { readonly sensor: Sensor; readonly kind: Kind; readonly day: string },
  signal: AbortSignal,
): Promise<OneRead> {
  const log = new NewestOnly();
  const result = await gateway.readDay(log)(
    { ...request, takeCut: false, gatewayNow: (dateMs) => gateway.gatewayNow(dateMs) },
    signal,
  );
  return { result, count: log.count, newest: log.newest };
}
