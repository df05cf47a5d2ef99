import type { RejectReason } from "../../core/record.ts";

/**
 * Limits of one record. A sensor's record has some twenty members and three channels; these limits are far above that
 * and far below the heap of the packages (128 MB). Only a record that exceeds one of them is rejected.
 */
export interface RecordBounds {
  /** Members of all its objects together. */
  readonly membersMax: number;
  /** Values in it, without channels; an object counts as eight, because it takes as much memory. */
  readonly nodesMax: number;
  /** Bytes of all its names and texts. */
  readonly textBytesMax: number;
  /** Samples of one channel: ten times what sensors record. */
  readonly samplesMax: number;
}
export const RECORD_BOUNDS: RecordBounds = {
  membersMax: 4_096,
  nodesMax: 65_536,
  textBytesMax: 262_144,
  samplesMax: 262_144,
};
/** A quoted sample; a longer one counts as several. */
const QUOTED_BYTES_MAX = 32;
/** Samples of a channel that is not all 16-bit integers: they are read one by one, which is slow. */
export const ODD_SAMPLES_MAX = 65_536;
/** Members named for a channel, repeated ones included. */
const CHANNELS_MAX = 16;
/** Memory of an object, in values. */
export const NODES_PER_OBJECT = 8;

/** Thrown while reading a record that exceeds a limit. */
export class BoundExceeded extends Error {
  override readonly name = "BoundExceeded";
  readonly reason: RejectReason;

  constructor(reason: RejectReason, limit: number, what: string) {
    super(`more than ${limit} ${what}`);
    this.reason = reason;
  }
}

/** The remaining limits of a record while it is read. */
export class RecordBudget {
  readonly #bounds: RecordBounds;
  #members = 0;
  #nodes = 0;
  #textBytes = 0;
  /** If a channel is read value by value, its values count as samples. */
  #channelNodes: number | null = null;
  #channels = 0;

  constructor(bounds: RecordBounds) {
    this.#bounds = bounds;
  }

  member(): void {
    this.#members += 1;
    const { membersMax } = this.#bounds;
    if (this.#members > membersMax) {
      throw new BoundExceeded("too_many_members", membersMax, "members");
    }
  }

  node(count: number): void {
    const { nodesMax } = this.#bounds;
    if (this.#channelNodes !== null) {
      this.#channelNodes += count;
      // The array itself is one of them.
      if (this.#channelNodes > ODD_SAMPLES_MAX + 1) {
        throw new BoundExceeded(
          "too_many_samples",
          ODD_SAMPLES_MAX,
          "samples that are not 16-bit integers",
        );
      }
      return;
    }
    this.#nodes += count;
    if (this.#nodes > nodesMax) throw new BoundExceeded("too_many_values", nodesMax, "values");
  }

  /** Bytes of text that may still follow. */
  get textLeft(): number {
    return this.#bounds.textBytesMax - this.#textBytes;
  }

  text(bytes: number): void {
    // Quoted samples are as many as samples may be, and none is longer than a number.
    if (this.#channelNodes !== null && bytes < this.#bounds.textBytesMax) {
      return this.node(Math.floor(bytes / QUOTED_BYTES_MAX));
    }
    this.#textBytes += bytes;
    const { textBytesMax } = this.#bounds;
    if (this.#textBytes > textBytesMax) {
      throw new BoundExceeded("text_too_long", textBytesMax, "bytes of text");
    }
  }

  /** Reads one channel whose values are counted as samples. */
  channel<T>(read: () => T): T {
    this.#channels += 1;
    if (this.#channels > CHANNELS_MAX) {
      throw new BoundExceeded("too_many_members", CHANNELS_MAX, "channels");
    }
    this.#channelNodes = 0;
    try {
      return read();
    } finally {
      this.#channelNodes = null;
    }
  }
}
