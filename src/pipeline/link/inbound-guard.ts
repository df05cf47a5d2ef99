/** Longest fixed header: type, and four bytes of length. */
const LENGTH_BYTES_MAX = 4;
const PUBLISH = 3;
/** None of ours is longer. */
const TOPIC_BYTES_MAX = 1_024;

export interface TooLargePacket {
  /** Without its type and length. */
  readonly bytes: number;
  /** As it came; null if it is no PUBLISH, malformed, or longer than any topic of ours. */
  readonly topic: string | null;
}

/**
 * Monitors the broker's data and detects a packet that is too large as soon as its length, and the topic of a PUBLISH, are
 * known: mqtt.js would collect all of it in memory first, and an MQTT 3.1.1 broker cannot be given a limit.
 */
export class InboundGuard {
  readonly #bytesMax: number;
  /** Remaining bytes of the current packet's body. */
  #rest = 0;
  /** Inside the length of a packet: its bytes so far; -1 before its type. */
  #lengthBytes = -1;
  #length = 0;
  #type = 0;
  /** The beginning of a PUBLISH that is too large: its topic's length, and the topic. Null before. */
  #head: number[] | null = null;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** A packet that exceeds the limit, or null. An invalid MQTT length counts as exceeding it. */
  feed(chunk: Uint8Array): TooLargePacket | null {
    let at = 0;
    while (at < chunk.length) {
      if (this.#head !== null) {
        this.#head.push(chunk[at++] ?? 0);
        const topic = topicIn(this.#head);
        if (topic !== undefined) return { bytes: this.#length, topic };
        continue;
      }
      if (this.#rest > 0) {
        const skipped = Math.min(this.#rest, chunk.length - at);
        this.#rest -= skipped;
        at += skipped;
        continue;
      }
      const byte = chunk[at++] ?? 0;
      if (this.#lengthBytes < 0) {
        this.#type = byte >> 4;
        this.#lengthBytes = 0;
        this.#length = 0;
        continue;
      }
      this.#length += (byte & 127) * 128 ** this.#lengthBytes;
      this.#lengthBytes += 1;
      const isWhole = byte < 128;
      if (!isWhole && this.#lengthBytes >= LENGTH_BYTES_MAX)
        return { bytes: this.#length, topic: null };
      if (!isWhole) continue;
      if (this.#length > this.#bytesMax) {
        if (this.#type !== PUBLISH) return { bytes: this.#length, topic: null };
        this.#head = [];
        continue;
      }
      this.#rest = this.#length;
      this.#lengthBytes = -1;
    }
    return null;
  }
}

/** Undefined until all of it has come; null where it is none of ours. */
function topicIn(head: readonly number[]): string | null | undefined {
  const [high = 0, low = 0] = head;
  const bytes = high * 256 + low;
  if (head.length >= 2 && bytes > TOPIC_BYTES_MAX) return null;
  return head.length < 2 + bytes ? undefined : Buffer.from(head.slice(2)).toString("utf8");
}
