/** Longest fixed header: type, and four bytes of length. */
const LENGTH_BYTES_MAX = 4;

/**
 * Monitors the broker's data and detects a packet that is too large as soon as its length is known: mqtt.js would
 * collect all of it in memory first, and an MQTT 3.1.1 broker cannot be given a limit.
 */
export class InboundGuard {
  readonly #bytesMax: number;
  /** Remaining bytes of the current packet's body. */
  #rest = 0;
  /** Inside the length of a packet: its bytes so far; -1 before its type. */
  #lengthBytes = -1;
  #length = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The length of a packet that exceeds the limit, or null. An invalid MQTT length counts as exceeding it. */
  feed(chunk: Uint8Array): number | null {
    let at = 0;
    while (at < chunk.length) {
      if (this.#rest > 0) {
        const skipped = Math.min(this.#rest, chunk.length - at);
        this.#rest -= skipped;
        at += skipped;
        continue;
      }
      const byte = chunk[at++] ?? 0;
      if (this.#lengthBytes < 0) {
        this.#lengthBytes = 0;
        this.#length = 0;
        continue;
      }
      this.#length += (byte & 127) * 128 ** this.#lengthBytes;
      this.#lengthBytes += 1;
      const isWhole = byte < 128;
      if (this.#length > this.#bytesMax || (!isWhole && this.#lengthBytes >= LENGTH_BYTES_MAX)) {
        return this.#length;
      }
      if (!isWhole) continue;
      this.#rest = this.#length;
      this.#lengthBytes = -1;
    }
    return null;
  }
}
