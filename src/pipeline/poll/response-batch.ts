import type { AppendResult, DayProgress } from "../../core/day.ts";
import type { ResponseWriter } from "../../core/ports.ts";
import { isFlagged, type Reading } from "../../core/reading.ts";

/** While a truncated response may have to be flagged, at most this much of it is held in memory. */
const HELD_BYTES_MAX = 32 * 1024 * 1024;
/** Approximate size of a reading without its samples. */
const READING_BYTES = 1_000;

/** Samples that take about the memory of one small reading. */
const SAMPLES_PER_WEIGHT = 1_000;

/** The readings of one response on their way into the store. */
export class ResponseBatch {
  readonly writer: ResponseWriter;
  /** Hashes of the bytes of the records in this response. */
  readonly hashes: bigint[] = [];
  readonly #hold: boolean;
  #held: Reading[] = [];
  #heldIds = new Set<string>();
  #heldBytes = 0;
  #count = 0;
  #samples = 0;
  #times: number[] = [];
  #fromMs = Number.POSITIVE_INFINITY;
  #toMs = Number.NEGATIVE_INFINITY;
  #newest: Reading | null = null;

  /** @param hold keeps readings back until the end of the response shows whether they must be marked. */
  constructor(writer: ResponseWriter, hold: boolean) {
    this.writer = writer;
    this.#hold = hold;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }
  /** Memory that the batch takes until it is committed, in small readings; 1 at least. */
  get weight(): number {
    return Math.max(1, this.#count + Math.ceil(this.#samples / SAMPLES_PER_WEIGHT));
  }
  /** No more can be held: the rest is left for the next read. */
  get isFull(): boolean {
    return this.#heldBytes > HELD_BYTES_MAX;
  }
  holds(id: string): boolean {
    return this.#heldIds.has(id);
  }

  add(reading: Reading): void | Promise<void> {
    this.#count += 1;
    for (const { samples } of reading.waveform?.channels ?? []) this.#samples += samples.length;
    this.#fromMs = Math.min(this.#fromMs, reading.timeMs);
    this.#toMs = Math.max(this.#toMs, reading.timeMs);
    // A record dated in the future by a wrong clock says nothing about when the next one comes, nor about now.
    if (!isFlagged(reading, "time_in_future")) {
      this.#times.push(reading.timeMs);
      if (this.#newest === null || reading.timeMs > this.#newest.timeMs) this.#newest = reading;
    }
    if (!this.#hold) return this.writer.add(reading);
    this.#held.push(reading);
    this.#heldIds.add(reading.id);
    this.#heldBytes += READING_BYTES;
    for (const channel of reading.waveform?.channels ?? [])
      this.#heldBytes += channel.samples.byteLength;
  }

  mark(flag: "partial_answer"): void {
    this.#held = this.#held.map((reading) => {
      const flags = Array.isArray(reading.attributes["flags"]) ? reading.attributes["flags"] : [];
      return { ...reading, attributes: { ...reading.attributes, flags: [...flags, flag] } };
    });
  }

  async commit(progress: DayProgress, waitMaxMs?: number): Promise<AppendResult> {
    for (const reading of this.#held) await this.writer.add(reading);
    return this.writer.commit(progress, waitMaxMs);
  }

  discard(): void {
    this.writer.discard();
  }

  get newest(): Reading | null {
    return this.#newest;
  }

  /** Times of the oldest and the newest reading, ms, also of those dated in the future. */
  get span(): { readonly fromMs: number; readonly toMs: number } {
    return { fromMs: this.#fromMs, toMs: this.#toMs };
  }

  /** Times of the readings, ms, except those dated in the future. */
  get timesMs(): readonly number[] {
    return this.#times;
  }
}
