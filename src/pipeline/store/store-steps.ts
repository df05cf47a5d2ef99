/** What a feature does inside the store's transactions, in the order of features/all.ts. */
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
   */
  stored?(
    tx: Tx,
    stream: StreamKey,
    fresh: readonly PendingReading[],
    refused: readonly PendingReading[],
  ): void;
}
