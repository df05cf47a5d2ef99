import type { FailureClass } from "../../core/failure.ts";
import type { WantedRecords } from "../../core/ports.ts";
import type { PolledKind, Sensor } from "../../core/sensor.ts";

export interface ReadRequest {
  readonly sensor: Sensor;
  readonly kind: PolledKind;
  readonly day: string;
  /** True from the third truncated response on: complete records count, flagged `partial_answer`. */
  readonly acceptPartial: boolean;
  /** Takes the response's HTTP `Date`; returns the gateway's now, ms. */
  readonly gatewayNow: (dateMs: number | null) => number;
  /** True, after `gatewayNow`, if the day should not be read now: the response is then abandoned as `aborted`. */
  readonly isVoid?: () => boolean;
  /**
   * Called when the response has arrived and only its commit is awaited, with the size of that commit
   * (ResponseBatch.weight).
   */
  readonly received?: (weight: number) => void;
  /** The day is due again that soon after its response, ms: its commit waits no longer. */
  readonly waitMaxMs?: number;
  /** With it the day is read whole, and these stored records are handed out. */
  readonly wanted?: WantedRecords;
}

export interface Rejected {
  readonly count: number;
  /** True if there was a usable record before them in the same read. */
  readonly isAfterUsable: boolean;
  /** Of the last one. */
  readonly reason: string;
}

/** That records cannot be used, in words. */
export function rejectedText({ count, reason }: Pick<Rejected, "count" | "reason">): string {
  const records = count === 1 ? "the only new record was" : `the last ${count} records were`;
  return `${records} rejected: ${reason}`;
}

export type DayRead =
  | {
      readonly ok: true;
      readonly durationMs: number;
      readonly stored: number;
      /** Records that were already stored. */
      readonly known: number;
      /** Times of the new records, ms. */
      readonly newTimesMs: readonly number[];
      /** UTC offset of the newest new record, minutes. */
      readonly offsetMinutes: number | null;
      /** New records of this read that cannot be used, after the last one that can. */
      readonly rejected?: Rejected;
    }
  | {
      readonly ok: false;
      readonly durationMs: number;
      readonly failureClass: FailureClass;
      /** The gateway could not be reached at all, so other keys would fail too. */
      readonly isGatewayFault: boolean;
      /** The response arrived, but could not be stored. */
      readonly isStoreFault?: boolean;
      readonly retryAfterMs: number | null;
      readonly message: string;
    };

/** What a read found, before its time is known. */
export type DayOutcome =
  | Omit<DayRead & { ok: true }, "durationMs">
  | Omit<DayRead & { ok: false }, "durationMs">;

/** One read of one day of one sensor; never rejects because of anything received. */
export type ReadDay = (request: ReadRequest, signal: AbortSignal) => Promise<DayRead>;
