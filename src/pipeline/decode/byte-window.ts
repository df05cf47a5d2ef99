const LARGE_BYTES = 1_048_576;
/** Holds what is left of a small record at the end of a piece. */
const SMALL_BYTES = 4_096;

/**
 * The bytes of a response that are still needed. A piece that is fully consumed is never copied; a remainder is kept
 * and the next piece is appended to it.
 */
export class ByteWindow {
  #kept: Buffer = Buffer.alloc(0);
  #keptBytes = 0;

  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** Everything kept, followed by this piece. Valid until the next call. */
  join(piece: Uint8Array): Buffer {
    if (this.#keptBytes === 0) return asBuffer(piece);
    const total = this.#keptBytes + piece.length;
    this.#reserve(total);
    this.#kept.set(piece, this.#keptBytes);
    this.#keptBytes = total;
    return this.#kept.subarray(0, total);
  }

  /** Keeps joined[from..) for the next call. */
  keep(joined: Buffer, from: number): void {
    const length = joined.length - from;
    // Memory for a large record is not kept for small ones.
    if (this.#kept.length > LARGE_BYTES && length <= LARGE_BYTES / 4) {
      const rest = Buffer.from(joined.subarray(from));
      this.#kept = Buffer.allocUnsafeSlow(LARGE_BYTES / 4);
      this.#kept.set(rest, 0);
      this.#keptBytes = length;
      return;
    }
    if (length === 0) {
      this.#keptBytes = 0;
      return;
    }
    if (joined.buffer === this.#kept.buffer && joined.byteOffset === this.#kept.byteOffset) {
      if (from > 0) this.#kept.copyWithin(0, from, joined.length);
    } else {
      this.#reserve(length);
      this.#kept.set(joined.subarray(from), 0);
    }
    this.#keptBytes = length;
  }

  /** Grows by doubling, so that a large record is copied a few times and not once per piece. */
  #reserve(bytes: number): void {
    if (this.#kept.length >= bytes) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(bytes, this.#kept.length * 2, SMALL_BYTES));
    larger.set(this.#kept.subarray(0, this.#keptBytes), 0);
    this.#kept = larger;
  }
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
