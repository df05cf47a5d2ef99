import type { Clock } from "../core/ports.ts";
import type { Reading } from "../core/reading.ts";
import type { Database } from "./database.ts";
import type { Growth } from "./growth.ts";
import type { Identities } from "./identities.ts";
import type { SqliteOutbox } from "./outbox.ts";
import type { Streams } from "./streams.ts";
import type { Waveforms } from "./waveforms.ts";
import type { WriteQueue } from "./write-queue.ts";

/** What storing readings touches. */
export interface ReadingLogParts {
  readonly db: Database;
  readonly queue: WriteQueue;
  readonly streams: Streams;
  readonly identities: Identities;
  readonly waveforms: Waveforms;
  readonly outbox: SqliteOutbox;
  readonly growth: Growth;
  readonly clock: Clock;
}

export interface ReadingLogOptions {
  /** Longest time a finished answer waits for others to share its commit, ms. */
  readonly commitWindowMs: number;
  /** An answer larger than this is written in several transactions, its progress with the last. */
  readonly transactionBytesMax: number;
  /** True where PUBLISH_WAVEFORMS lets this reading's samples out. */
  readonly waveformPolicy: (reading: Reading) => boolean;
}
