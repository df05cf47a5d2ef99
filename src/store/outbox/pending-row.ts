import type { Place } from "./lane-queue.ts";
import type { OwedReading } from "./lane-uplink.ts";

/** A row about to be written with its reading. */
export interface PendingRow extends Place {
  readonly isFuture: boolean;
  /** Of the reading, for selections. */
  readonly owed: OwedReading;
}
