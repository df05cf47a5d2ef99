/** One read of a day, from the request to the commit. */
import type { DayKey, DayResponse } from "../../core/day.ts";
import { CallFailure, type FailureClass } from "../../core/failure.ts";
import type { ReadingLog, RecordSource, Runtime } from "../../core/ports.ts";
import type { Reading } from "../../core/reading.ts";
import type { PolledKind } from "../../core/sensor.ts";
import type { ReadingMarks } from "../../core/status/set-aside.ts";
import { openGate } from "../../lib/secrets.ts";
import type { DayReader, DayResult } from "../decode/day-reader.ts";
import type { DayOutcome, ReadDay, ReadRequest } from "./day-read.ts";
import { LARGE_RECORD_BYTES, LargeRecords } from "./large-records.ts";
import { RecordTaker, type RecordTakerParts } from "./record-taker.ts";
import { RejectLog } from "./reject-log.ts";
import { ResponseBatch } from "./response-batch.ts";
import { failedRead, failureOf, isCut } from "./response-failure.ts";
import { ScannedDays } from "./scanned-days.ts";
import { TimeSlice } from "./time-slice.ts";

/**
 * From this many unknown bytes on, a day is marked as being read: fewer cannot exhaust the heap, and what a checkpoint covers is only
 * hashed. A mark writes a small file twice, which each poll of a large day would otherwise do.
 */
const MARKED_BYTES = 1_048_576;
/**
 * Limit of cached record hashes over all days that are read completely; beyond it records are decoded and looked up in
 * the store.
 */
const KNOWN_HASHES_MAX = 500_000;

export interface ReadDayParts extends Runtime, RecordTakerParts {
  readonly source: RecordSource;
  readonly log: ReadingLog;
  readonly createReader: (
    kind: PolledKind,
    checkpoint: string | null,
    isKnownBytes: ((hash: bigint) => boolean) | null,
  ) => DayReader;
  /** GATEWAY_EMPTY_STATUSES: numbers that this gateway uses for a day without records. */
  readonly emptyStatuses: ReadonlySet<number>;
  /** Marks large days while they are read; absent if nothing survives the process. */
  readonly marks?: Pick<ReadingMarks, "begin" | "waitMs">;
  /** Called with a response that arrived intact and is not a day of records. */
  readonly onUnusable?: (failureClass: FailureClass, message: string, key: DayKey) => void;
  /** Called with the newest reading of each response once it is durable (live events). */
  readonly onStored?: (newest: Reading) => void;
  /** Called once the readings of a response are durable, with the times of its oldest and newest one, ms. */
  readonly onStoredBetween?: (key: DayKey, fromMs: number, toMs: number) => void;
  /** Called when a day has been read, whether it held anything new or not, with the gateway's time of its response, ms. */
  readonly onRead?: (key: DayKey, atMs: number) => void;
}

/** Builds the one-day read over its parts. */
export function createReadDay(parts: ReadDayParts): ReadDay {
  const scanned = new ScannedDays(KNOWN_HASHES_MAX);
  const rejects = new RejectLog(parts.logger, parts.metrics, parts.gate ?? openGate);
  const large = new LargeRecords();
  return async (request, signal) => {
    const startedAt = parts.clock.monotonic();
    const read = new OneRead(parts, request, scanned, rejects, large, signal);
    const outcome = await read.run().catch((error: unknown) => failedRead(error, signal.aborted));
    const durationMs = (read.receivedAt ?? parts.clock.monotonic()) - startedAt;
    parts.metrics.pollDuration.observe(durationMs / 1000);
    return { ...outcome, durationMs };
  };
}

type LostPrefix = (DayResult & { outcome: `prefix_${string}` })["outcome"];

class OneRead {
  readonly #parts: ReadDayParts;
  readonly #request: ReadRequest;
  readonly #scanned: ScannedDays;
  readonly #large: LargeRecords;
  readonly #signal: AbortSignal;
  readonly #key: DayKey;
  readonly #slice: TimeSlice;
  readonly #taker: RecordTaker;
  /** Clears the mark of a large day. */
  #unmark: ((isRead: boolean) => void) | null = null;
  /** The gateway's time when it began its response, ms. */
  #answeredAtMs = 0;
  /** When the response had arrived and only its commit was awaited: that time is not the gateway's. */
  receivedAt: number | null = null;

  constructor(
    parts: ReadDayParts,
    request: ReadRequest,
    scanned: ScannedDays,
    rejects: RejectLog,
    large: LargeRecords,
    signal: AbortSignal,
  ) {
    this.#parts = parts;
    this.#request = request;
    this.#scanned = scanned;
    this.#large = large;
    this.#signal = signal;
    this.#key = { sensor: request.sensor.code, kind: request.kind, day: request.day };
    this.#slice = new TimeSlice(parts.clock);
    this.#taker = new RecordTaker(parts, request, {
      reject: (reason, detail) => rejects.add(this.#key, reason, detail),
      takeLarge: () => this.#large.take(this),
      slice: this.#slice,
    });
  }

  async run(): Promise<DayOutcome> {
    const progress = this.#parts.log.progress(this.#key);
    // Stored records that are needed once more lie before the checkpoint.
    const isWhole = this.#request.wanted !== undefined;
    const checkpoint = isWhole ? null : (progress?.checkpoint ?? null);
    // If the store knows nothing about the day, it has none of the records that we remember of it.
    if (progress === null) this.#scanned.forget(this.#key);
    const known = isWhole ? null : this.#scanned.of(this.#key);
    // A response of a gateway that rewrites earlier data is read completely; records are recognised by the hash of
    // their bytes.
    if (known === null) {
      const outcome = await this.#attempt(checkpoint, null);
      if (typeof outcome !== "string") {
        if (checkpoint !== null && outcome.ok) this.#scanned.forget(this.#key);
        return outcome;
      }
      // Truncated responses say nothing about how the gateway writes.
      if (outcome === "prefix_changed") this.#scanned.countMiss(this.#key);
    }
    const again = await this.#attempt(null, this.#scanned.of(this.#key));
    if (typeof again === "string")
      throw new Error("a read without a checkpoint has no prefix to change");
    return again;
  }

  /** One response, from the request to the commit. */
  async #attempt(
    checkpoint: string | null,
    known: ReadonlySet<bigint> | null,
  ): Promise<DayOutcome | LostPrefix> {
    const { sensor, kind, day } = this.#request;
    const response = await this.#parts.source.read({ sensor, kind, date: day }, this.#signal);
    try {
      return await this.#evaluate(response, checkpoint, known);
    } finally {
      response.cancel();
    }
  }

  async #evaluate(
    response: DayResponse,
    checkpoint: string | null,
    known: ReadonlySet<bigint> | null,
  ): Promise<DayOutcome | LostPrefix> {
    const { log, metrics } = this.#parts;
    const { kind } = this.#request;
    const gatewayNowMs = this.#request.gatewayNow(response.gatewayTimeMs);
    const isVoid = this.#request.isVoid?.() ?? false;
    const reader = this.#parts.createReader(kind, checkpoint, known && ((hash) => known.has(hash)));
    const batch = new ResponseBatch(
      log.begin(this.#key, gatewayNowMs),
      this.#request.acceptPartial,
    );
    this.#slice.begin();
    this.#answeredAtMs = gatewayNowMs;
    let isRead = false;
    try {
      let failure: CallFailure | null = null;
      let bytes = 0;
      try {
        for await (const chunk of response.body) {
          if (isVoid) throw new CallFailure({ message: "not this day", failureClass: "aborted" });
          bytes += chunk.length;
          if (bytes - reader.prefixBytes > MARKED_BYTES) this.#mark();
          for (const item of reader.push(chunk)) {
            // A large record has blocked the loop for long enough with its decoding alone.
            if (this.#slice.isOver) await this.#slice.yieldToLoop();
            // Waiting for every small record costs more than the record.
            const taken = this.#taker.take(item, batch, gatewayNowMs);
            if (taken !== undefined) await taken;
          }
          if (reader.isOver || batch.isFull) break;
          if (reader.heldBytes > LARGE_RECORD_BYTES) await this.#large.take(this);
          else this.#large.leave(this);
          if (this.#slice.isOver) await this.#slice.yieldToLoop();
        }
      } catch (error) {
        if (!(error instanceof CallFailure) || !isCut(error.failureClass)) throw error;
        failure = error;
      }
      const result = reader.end();
      for (const [oddity, count] of Object.entries(result.oddities)) {
        metrics.wireOddities.inc({ oddity }, count);
      }
      if (result.outcome === "prefix_changed" || result.outcome === "prefix_short") {
        batch.discard();
        return result.outcome;
      }
      const outcome = await this.#conclude(batch, result, failure, checkpoint, known);
      isRead = true;
      return outcome;
    } catch (error) {
      batch.discard();
      throw error;
    } finally {
      this.#large.leave(this);
      this.#unmark?.(isRead);
      this.#unmark = null;
    }
  }

  #mark(): void {
    this.#unmark ??= this.#parts.marks?.begin(this.#key) ?? null;
  }

  async #conclude(
    batch: ResponseBatch,
    result: DayResult,
    failure: CallFailure | null,
    checkpoint: string | null,
    known: ReadonlySet<bigint> | null,
  ): Promise<DayOutcome> {
    const { log, metrics } = this.#parts;
    if (result.outcome === "complete" && failure === null) {
      const before = log.progress(this.#key);
      // Records that the response skipped as known may be gone if a damaged store was repaired meanwhile.
      if (checkpoint !== null && before === null) throw new Error("the store lost this day");
      if (before !== null && result.records < before.records) {
        metrics.vanished.inc(before.records - result.records);
      }
      // A day that is read completely anyway needs no checkpoint; otherwise one that no longer fits is replaced.
      const isSettled =
        result.unchanged || result.records === 0 || (known !== null && before !== null);
      if (batch.isEmpty && isSettled) {
        // Nothing new: nothing is written (engineering target 5).
        metrics.unchangedDays.inc();
        batch.discard();
        if (known) this.#scanned.remember(this.#key, batch.hashes);
        return this.#done(batch, 0, result.records);
      }
      return this.#commit(batch, result.checkpoint, result.records, known);
    }
    if (result.outcome === "service_status" && this.#parts.emptyStatuses.has(result.statusNumber)) {
      batch.discard();
      return this.#done(batch, 0, 0);
    }
    const redact = (text: string) => (this.#parts.gate ?? openGate).redact(text);
    // The service's error takes precedence over the way the connection ended.
    const cut =
      result.outcome === "service_status"
        ? failureOf(result, redact)
        : (failure ?? failureOf(result, redact));
    const { failureClass } = cut;
    if (failure === null && (failureClass === "not_json" || failureClass === "service_status")) {
      this.#parts.onUnusable?.(cut.failureClass, cut.message, this.#key);
    }
    const mayTake = this.#request.acceptPartial && !result.sawNonZeroKey && isCut(cut.failureClass);
    if (!mayTake || batch.isEmpty) throw cut;
    this.#parts.logger.warn(
      { ...this.#key, detail: cut.message },
      "the response is truncated on repeated reads; using its complete records, flagged partial_answer",
    );
    batch.mark("partial_answer");
    return this.#commit(batch, checkpoint, log.progress(this.#key)?.records ?? 0, known);
  }

  async #commit(
    batch: ResponseBatch,
    checkpoint: string | null,
    records: number,
    known: ReadonlySet<bigint> | null,
  ): Promise<DayOutcome> {
    const { metrics } = this.#parts;
    this.receivedAt = this.#parts.clock.monotonic();
    const { received, waitMaxMs } = this.#request;
    received?.(batch.weight);
    const { stored, duplicates } = await batch.commit({ checkpoint, records }, waitMaxMs);
    metrics.readings.inc({ kind: this.#request.kind }, stored);
    metrics.duplicates.inc(duplicates);
    if (known) this.#scanned.remember(this.#key, batch.hashes);
    if (batch.newest !== null) this.#parts.onStored?.(batch.newest);
    if (!batch.isEmpty)
      this.#parts.onStoredBetween?.(this.#key, batch.span.fromMs, batch.span.toMs);
    return this.#done(batch, stored, Math.max(0, records - stored));
  }

  #done(batch: ResponseBatch, stored: number, known: number): DayOutcome {
    this.#parts.onRead?.(this.#key, this.#answeredAtMs);
    const rejected = this.#taker.rejectedOf(stored + known, this.#scanned.of(this.#key) !== null);
    return {
      ok: true,
      stored,
      known,
      newTimesMs: batch.timesMs,
      offsetMinutes: batch.newest?.offsetMinutes ?? null,
      ...(rejected === null ? {} : { rejected }),
    };
  }
}
