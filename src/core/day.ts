/** One day of one sensor and kind: how it is requested, what comes back, and what is remembered of it. */
import { known, type Of, object, TEXT } from "./schema.ts";
import type { Kind, PolledKind, Sensor } from "./sensor.ts";

export interface DayRequest {
  readonly sensor: Pick<Sensor, "code" | "type">;
  readonly kind: PolledKind;
  /** yyyy-MM-dd, a calendar day of the gateway's zone. */
  readonly date: string;
}

export interface StateRequest {
  readonly sensor: Pick<Sensor, "code" | "type">;
  /** Neutral name of the operation. */
  readonly operation: string;
  /** yyyy-MM-dd; null for an operation without a day. */
  readonly date: string | null;
}

/** A response whose head has arrived with a 2xx status; the body follows as it arrives. */
export interface DayResponse {
  /** The gateway's clock: HTTP `Date`, ms UTC; null if it sent none. */
  readonly gatewayTimeMs: number | null;
  /**
   * Decoded bytes (gzip removed). Throws CallFailure if truncated, stalled, too slow or too large.
   * A chunk is valid until the next one is requested: its memory is reused.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /** Gives its connection back where `body` is not read to its end; one that was not begun cannot do that itself. */
  cancel(): void;
}

/** `day`: yyyy-MM-dd in the gateway's zone. */
export const DAY_KEY = { sensor: TEXT, kind: known<Kind>(TEXT), day: TEXT };
const DAY = object(DAY_KEY);
export type DayKey = Of<typeof DAY>;

/** What is remembered of a day's last good read. Small, and written only if something was new. */
export interface DayProgress {
  /** Decoder checkpoint (core/decode/day-reader.ts): how many bytes are known, and their hash. Opaque to the store. */
  readonly checkpoint: string | null;
  /** Records of the day seen in its last full read. */
  readonly records: number;
}

export interface AppendResult {
  /** New readings; if the buffer is full, the oldest of them may have been dropped at once. */
  readonly stored: number;
  /** Readings skipped because their identity was stored before (or dropped before). */
  readonly duplicates: number;
}

/** One good read of a day, complete with its readings. */
export interface DayReadAt {
  /** yyyy-MM-dd in the gateway's zone. */
  readonly day: string;
  /** The gateway's time when it answered, ms. */
  readonly atMs: number;
}
