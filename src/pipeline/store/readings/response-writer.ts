/**
 * The readings of one response on their way into the store.
 * In one file: what is written of a response, in the order of its transaction.
 */
import { setImmediate as immediate } from "node:timers/promises";
import type { AppendResult, DayKey, DayProgress } from "../../../core/day.ts";
import type { ResponseWriter } from "../../../core/ports.ts";
import type { Reading } from "../../../core/reading.ts";
import type { Tx } from "../../../core/tx.ts";
import { StoreFailure } from "../database/store-failure.ts";
import type { Stream } from "../database/streams.ts";
import type { WriteJob } from "../database/write-job.ts";
import type { PendingRow } from "../outbox/thinned-rows.ts";
import type { Shed } from "../space/shedding.ts";
import {
  type PendingReading,
  type PendingWaveform,
  packWaveforms,
  sampleBytes,
  sampleCount,
  storedBytes,
  toPending,
} from "./pending-response.ts";
import type { ReadingLogOptions, ReadingLogParts } from "./reading-log-parts.ts";
import { StagedSamples } from "./staged-samples.ts";
import { formatRefs, hashOf } from "./stored-reading.ts";

export interface ResponseContext {
  readonly key: DayKey;
  readonly stream: Stream;
  /** The gateway's time when it answered, ms; null for what is no read of a day. */
  readonly readAtMs: number | null;
  /** Identities of this stream that wait for their commit, including this response's once it does. */
  readonly waiting: Set<string>;
  /** Something of this day was stored when the response began. */
  readonly hadProgress: boolean;
  /**
   * Readings of this stream that a response stored before a later part of it failed: no result has counted them yet.
   */
  readonly unreported: { count: number };
  /** `newestMs` is of readings that are not from the future; null if there is none. */
  readonly stored: (count: number, newestHour: number | null, newestMs: number | null) => void;
}

/** Above this many samples each channel is packed in a separate turn. */
const LARGE_SAMPLES = 98_304;
/** Packed samples held in memory before they are written ahead of their response, bytes. */
const SPILL_BYTES = 8 << 20;

const INSERT_SQL = `INSERT INTO readings (stream, time_ms, id, is_future, offset_minutes, stored_at_ms, unit_set,
  "values", quality, attributes, raw, waveforms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** The readings of one response on their way into one transaction. */
export class SqliteResponseWriter implements ResponseWriter {
  readonly #parts: ReadingLogParts;
  readonly #options: ReadingLogOptions;
  readonly #context: ResponseContext;
  readonly #readings: PendingReading[] = [];
  readonly #ids = new Set<string>();
  #waitMaxMs = Number.POSITIVE_INFINITY;
  readonly #staged: StagedSamples;
  #bytes = 0;
  #duplicates = 0;
  #isOver = false;

  constructor(parts: ReadingLogParts, options: ReadingLogOptions, context: ResponseContext) {
    this.#parts = parts;
    this.#options = options;
    this.#context = context;
    this.#staged = new StagedSamples(parts, context.stream.stream);
  }

  isKnown(timeMs: number, id: string): boolean {
    const { stream, waiting } = this.#context;
    const { identities, queue } = this.#parts;
    const isKnown =
      this.#ids.has(id) ||
      waiting.has(id) ||
      queue.read("look up a reading", () => identities.has(stream.stream, timeMs, id, hashOf(id)));
    if (isKnown) this.#duplicates += 1;
    return isKnown;
  }

  add(reading: Reading): void | Promise<void> {
    if (this.#ids.has(reading.id)) return;
    this.#ids.add(reading.id);
    if (sampleCount(reading) > LARGE_SAMPLES) return this.#addLarge(reading);
    return this.#added(toPending(reading));
  }

  async #addLarge(reading: Reading): Promise<void> {
    const waveforms: PendingWaveform[] = [];
    for (const packed of packWaveforms(reading)) {
      waveforms.push(packed);
      await immediate();
      if (this.#isOver) return;
    }
    await this.#added(toPending(reading, waveforms));
  }

  #added(pending: PendingReading): void | Promise<void> {
    this.#readings.push(pending);
    this.#bytes += sampleBytes(pending);
    if (this.#bytes > SPILL_BYTES) return this.#spill();
  }

  async #spill(): Promise<void> {
    await this.#staged.write(this.#readings, () => this.#isOver);
    this.#bytes = 0;
  }

  commit(progress: DayProgress, waitMaxMs = Number.POSITIVE_INFINITY): Promise<AppendResult> {
    this.#isOver = true;
    this.#waitMaxMs = waitMaxMs;
    const { waiting } = this.#context;
    const before = this.#readings.length === 0 ? this.#storedProgress() : null;
    if (before?.checkpoint === progress.checkpoint && before.records === progress.records) {
      // An unchanged day writes nothing.
      this.#parts.growth.begin(this.#context.stream.stream, null);
      return Promise.resolve({ stored: 0, duplicates: this.#duplicates });
    }
    for (const id of this.#ids) waiting.add(id);
    return this.#writeAll(progress);
  }

  /** One transaction, except for a response that would exceed the buffer's share for it. */
  async #writeAll(progress: DayProgress): Promise<AppendResult> {
    const { unreported } = this.#context;
    let stored = 0;
    try {
      const parts = this.#split();
      const last = parts.pop() ?? [];
      for (const part of parts) stored += await this.#store(part, null);
      stored += await this.#store(last, progress);
      const duplicates = this.#duplicates + this.#readings.length - stored - unreported.count;
      const result = { stored: stored + unreported.count, duplicates: Math.max(0, duplicates) };
      unreported.count = 0;
      return result;
    } catch (error) {
      // The next read finds these known; its result counts them.
      unreported.count += stored;
      this.#staged.discard();
      throw error;
    } finally {
      for (const id of this.#ids) this.#context.waiting.delete(id);
    }
  }

  /** Where there is no space for all of them, as many as fit: these are delivered, and make room for the next. */
  async #store(readings: readonly PendingReading[], progress: DayProgress | null): Promise<number> {
    try {
      return await this.#enqueue(readings, progress);
    } catch (error) {
      const isFull = error instanceof StoreFailure && error.code === "full";
      if (!isFull || readings.length < 2) throw error;
    }
    const half = readings.length >> 1;
    // Counted even if the rest fails: the next read finds these known.
    const stored = await this.#store(readings.slice(0, half), null);
    this.#context.unreported.count += stored;
    return this.#store(readings.slice(half), progress);
  }

  #split(): PendingReading[][] {
    const parts: PendingReading[][] = [];
    let part: PendingReading[] = [];
    let bytes = 0;
    for (const reading of this.#readings) {
      const size = storedBytes(reading);
      if (part.length > 0 && bytes + size > this.#options.transactionBytesMax) {
        parts.push(part);
        part = [];
        bytes = 0;
      }
      part.push(reading);
      bytes += size;
    }
    return [...parts, part];
  }

  #enqueue(readings: readonly PendingReading[], progress: DayProgress | null): Promise<number> {
    const { stream } = this.#context;
    const job: WriteJob<number> = {
      what: `store readings of sensor ${stream.sensor} ${stream.kind}`,
      rows: readings.length + 1,
      // The first read of a day is one of many: a first start, or a day that is over.
      canWait: this.#context.hadProgress,
      waitMaxMs: this.#waitMaxMs,
      oldestMs: oldestOf(readings),
      run: (tx) => this.#write(tx, readings, progress),
    };
    return this.#parts.queue.enqueue(job, this.#options.commitWindowMs);
  }

  #storedProgress(): DayProgress | null {
    const { key, stream } = this.#context;
    return this.#parts.progress.stored(stream.stream, key.day);
  }

  /** Returns how many of them were new. */
  *#write(
    tx: Tx,
    readings: readonly PendingReading[],
    progress: DayProgress | null,
  ): Generator<void, number, void> {
    const { full, identities, streams } = this.#parts;
    const { key, stream } = this.#context;
    const rows: PendingRow[] = [];
    const fresh: PendingReading[] = [];
    const shed: PendingReading[] = [];
    const tooOld = full.shed();
    streams.write(stream);
    for (const reading of readings) {
      // Another response may have contained it between `isKnown` and now.
      if (identities.has(stream.stream, reading.timeMs, reading.id, reading.hash)) {
        this.#dropSamples(reading);
      } else if (tooOld !== null && this.#isShed(tx, reading, tooOld)) {
        shed.push(reading);
      } else {
        rows.push(this.#insert(tx, reading, tooOld));
        fresh.push(reading);
      }
      yield;
    }
    if (shed.length > 0) full.addShed(tx, shed.length);
    this.#parts.counting?.came(stream.stream, fresh, shed);
    const { readAtMs } = this.#context;
    const read = progress === null || readAtMs === null ? null : { day: key.day, atMs: readAtMs };
    for (const steps of this.#parts.steps.list) steps.stored?.(tx, stream, fresh, shed, read);
    tx.onCommit(() => this.#stored(readings, rows, progress !== null));
    if (progress !== null) this.#writeProgress(tx, progress);
    // What was not accepted counts like what is stored and dropped later.
    return rows.length + shed.length;
  }

  #writeProgress(tx: Tx, progress: DayProgress): void {
    const { key, stream } = this.#context;
    if (this.#context.hadProgress && this.#storedProgress() === null) {
      // The response may skip what was stored of its day, and that is lost.
      this.#parts.progress.lost(stream.stream, key.day);
      throw new StoreFailure("io", `progress of ${key.day} was lost while it was read`);
    }
    this.#parts.progress.write(tx, stream.stream, key.day, progress);
  }

  /** They are on disk. */
  #stored(
    readings: readonly PendingReading[],
    rows: readonly PendingRow[],
    isComplete: boolean,
  ): void {
    const { growth } = this.#parts;
    const { stream } = this.#context;
    for (const reading of readings) {
      if (!reading.isFuture) growth.note(stream.stream, reading.timeMs, storedBytes(reading));
    }
    const newestMs = newestOf(rows);
    if (isComplete) growth.begin(stream.stream, newestMs);
    const newestHour = rows.reduce<number | null>(
      (hour, row) => Math.max(hour ?? row.hour, row.hour),
      null,
    );
    this.#context.stored(rows.length, newestHour, newestMs);
  }

  /**
   * True for a reading that is older than what a full buffer just gave up, and is pending for nobody else: it is not
   * stored but reported as a gap, and its identity is kept so that it is not read again.
   */
  #isShed(tx: Tx, reading: PendingReading, { floorMs, uplinks }: Shed): boolean {
    if (reading.timeMs > floorMs || reading.isFuture) return false;
    const { full, gaps, identities, pending } = this.#parts;
    const { stream } = this.#context.stream;
    const uplinksWanting = pending.uplinksWanting(tx, this.#rowOf(reading));
    for (const uplink of uplinksWanting)
      if (uplinks.has(uplink)) gaps.add(tx, stream, reading.timeMs, full.reason, uplink);
    if (uplinksWanting.size === 0 || [...uplinksWanting].some((uplink) => !uplinks.has(uplink)))
      return false;
    this.#dropSamples(reading);
    identities.forget(tx, stream, reading.timeMs, reading.hash);
    return true;
  }

  #rowOf(reading: PendingReading): Omit<PendingRow, "seq"> {
    return {
      stream: this.#context.stream.stream,
      hour: reading.hour,
      timeMs: reading.timeMs,
      isFuture: reading.isFuture,
      content: {
        stream: this.#context.stream,
        values: reading.values,
        quality: reading.quality,
        recordingReason: reading.waveforms.length === 0 ? undefined : reading.recordingReason,
      },
    };
  }

  #insert(tx: Tx, reading: PendingReading, tooOld: Shed | null): PendingRow {
    const { clock, db, identities, pending, streams, waveforms } = this.#parts;
    const { stream } = this.#context.stream;
    const unitSet = streams.internUnits(reading.units);
    const written = tx.draft(this, () => new Set<number>());
    if (!written.has(unitSet)) streams.writeUnits(unitSet);
    written.add(unitSet);
    const refs = reading.waveforms.map((waveform) => {
      if (waveform.samples !== null) waveforms.insert(stream, reading, waveform);
      else if (waveform.fileId !== null) waveforms.unstage(waveform.fileId);
      return { fileId: waveform.fileId ?? 0, channel: waveform.channel, axis: waveform.axis };
    });
    const { lastInsertRowid } = db
      .write(INSERT_SQL)
      .run(
        stream,
        reading.timeMs,
        Buffer.from(reading.id, "hex"),
        reading.isFuture ? 1 : 0,
        reading.offsetMinutes,
        clock.now(),
        unitSet,
        reading.values,
        reading.quality,
        this.#attributesOf(reading),
        reading.raw,
        formatRefs(refs),
      );
    identities.inserted(stream, reading.timeMs);
    const row: PendingRow = { ...this.#rowOf(reading), seq: Number(lastInsertRowid) };
    const isOld = tooOld !== null && !reading.isFuture && reading.timeMs <= tooOld.floorMs;
    pending.insert(tx, row, isOld ? tooOld.uplinks : null);
    return row;
  }

  /** As stored: they include its machine's state if that is known. */
  #attributesOf({ attributes, timeMs }: PendingReading): string {
    const { stream } = this.#context;
    for (const steps of this.#parts.steps.list) {
      const state = steps.machineStateFor?.(stream, timeMs) ?? null;
      if (state === null) continue;
      const rest = attributes.slice(1);
      return `{"machine_state":"${state}"${rest === "}" ? "" : ","}${rest}`;
    }
    return attributes;
  }

  #dropSamples(reading: PendingReading): void {
    for (const { fileId, samples } of reading.waveforms) {
      if (samples !== null || fileId === null) continue;
      this.#parts.waveforms.delete(fileId);
      this.#parts.waveforms.unstage(fileId);
    }
  }

  discard(): void {
    this.#isOver = true;
    this.#readings.length = 0;
    this.#staged.discard();
  }
}

function newestOf(rows: readonly PendingRow[]): number | null {
  let newest: number | null = null;
  for (const { timeMs, isFuture } of rows) {
    if (!isFuture && (newest === null || timeMs > newest)) newest = timeMs;
  }
  return newest;
}

function oldestOf(readings: readonly PendingReading[]): number | null {
  let oldest: number | null = null;
  for (const { timeMs, isFuture } of readings) {
    if (!isFuture && (oldest === null || timeMs < oldest)) oldest = timeMs;
  }
  return oldest;
}
