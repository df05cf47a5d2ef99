/** What a feature does inside the store's transactions, in the order of features/all.ts. */

import type { DayReadAt } from "../../core/day.ts";
import type { MachineState } from "../../core/followed-reading.ts";
import type { MachineAt } from "../../core/query/measurements.ts";
import type { StreamKey } from "../../core/sensor.ts";
import type { Tx } from "../../core/tx.ts";
import type { PendingReading } from "./readings/pending-response.ts";

export interface StoreSteps {
  /** Reads what it holds in memory: at the start, and whenever the file was opened again. */
  load?(): void;
  /**
   * Readings of one response are stored in this transaction, which may run again from its beginning. Neither waits nor
   * changes memory before `onCommit`.
   * @param refused those that a full buffer did not accept
   * @param read the read of a day that they complete; null while there is more of it to come
   */
  stored?(
    tx: Tx,
    stream: StreamKey,
    fresh: readonly PendingReading[],
    refused: readonly PendingReading[],
    read: DayReadAt | null,
  ): void;
  /**
   * Whether the machine was running when a reading was taken, to be published with it; null while that is unknown, if
   * nothing shows it, and for readings of the signal that shows it.
   */
  machineStateFor?(stream: StreamKey, timeMs: number): MachineState | null;
  /** The machine of a sensor at a time, as measurements show it. */
  machineAt?(sensor: string, timeMs: number): MachineAt;
}
