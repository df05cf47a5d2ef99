import type { FailureClass } from "../core/failure.ts";
import type { PolledKind, Sensor } from "../core/sensor.ts";

export interface ReadRequest {
  readonly sensor: Sensor;
  readonly kind: PolledKind;
  readonly day: string;
  /** True from the third cut answer on: what is complete counts, marked `partial_answer`. */
  readonly takeCut: boolean;
  /** Takes the response's HTTP `Date`; returns the gateway's now, ms. */
  readonly gatewayNow: (dateMs: number | null) => number;
  /** True, after `gatewayNow`, where that says that the day is not to be read now: the answer is given up as `aborted`. */
  readonly isVoid?: () => boolean;
  /** Called when the response is in and only its commit is awaited, with what that commit holds (ResponseBatch.weight). */
  readonly received?: (weight: number) => void;
}

export type DayRead =
  | {
      readonly ok: true;
      readonly durationMs: number;
      readonly stored: number;
      /** Records that the store had already. */
      readonly known: number;
      /** Times of the records that were new, ms. */
      readonly newTimesMs: readonly number[];
      /** UTC offset of the newest new record, minutes. */
      readonly offsetMinutes: number | null;
    }
  | {
      readonly ok: false;
      readonly durationMs: number;
      readonly failureClass: FailureClass;
      /** Nothing of the gateway could be reached, so other keys would fail too. */
      readonly isGatewayFault: boolean;
      readonly retryAfterMs: number | null;
      readonly message: string;
    };

/** One read of one day of one sensor; never rejects for anything that the wire can do. */
export type ReadDay = (request: ReadRequest, signal: AbortSignal) => Promise<DayRead>;
