/**
 * What is counted of readings by hour and day, where a feature counts them: the store tells it what comes and what leaves, in
 * the same transaction. Without it only readings that are stored can be shown.
 */
import type { HoursState } from "../../core/agent-status.ts";
import type { DayMedianStore } from "../../core/query/day-medians.ts";
import type { HourValues } from "../../core/query/ports.ts";
import type { ReadingTexts } from "../../core/stored-reading.ts";
import type { Database } from "./database/database.ts";
import type { Streams } from "./database/streams.ts";
import type { WriteQueue } from "./database/write-queue.ts";

export interface CountingParts {
  readonly db: Database;
  readonly queue: WriteQueue;
  readonly streams: Streams;
}

/** A reading on its way into the store, or refused by it. */
export interface Arrival extends ReadingTexts {
  readonly hour: number;
  readonly isFuture: boolean;
}

/** A reading that is about to be deleted. */
export interface LeavingReading {
  readonly seq: number;
  readonly stream: number;
  readonly hour: number;
  /** 1 where the gateway's clock was ahead: it was never counted. */
  readonly isFuture: number;
}

/** Everything but `values`, `dayMedians`, `file` and `state` is inside the caller's transaction. */
export interface Counting {
  readonly values: HourValues;
  readonly dayMedians: DayMedianStore;
  /**
   * Readings of a stream arrive.
   * @param stored already inserted
   * @param refused by a full buffer, for good
   */
  came(stream: number, stored: readonly Arrival[], refused: readonly Arrival[]): void;
  /** Readings are removed. `write` follows once they are deleted: a full disk has room then. */
  leave(): { before(reading: LeavingReading): void; write(): void };
  /**
   * Writes the next hour before `untilHour` that is not written yet, in its own transaction; false once there is
   * none.
   */
  file(untilHour: number): Promise<boolean>;
  /** Merges the oldest hours to days, or drops the oldest day; false if there is nothing to free. */
  thin(): boolean;
  /** Drops the oldest day that is older than it is kept; false once there is none. @param today UTC days since 1970 */
  dropOld(today: number): boolean;
  /** What it takes, approximately. */
  readonly bytes: number;
  /** By committed rows. */
  state(): Omit<HoursState, "limitBytes">;
  /** The file was opened. */
  load(): void;
  /** After a damaged store was copied as far as it can be read. @param copied whether the identities of all readings were */
  mend(copied: { readonly identities: boolean }): void;
}

export type CreateCounting = (parts: CountingParts) => Counting;

/** What was counted, for a program that only reads. */
export type ReadCounted = (db: Database, streams: Streams) => HourValues;

/** Of a store that counts nothing. */
export const NOTHING_COUNTED = { bytes: 0, oldestHourMs: null, oldestDayMs: null } as const;
