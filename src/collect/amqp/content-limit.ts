import type { Channel } from "amqplib";
import { KEPT_BYTES, PAYLOAD_BYTES_MAX } from "../delivery.ts";

/** A frame as amqplib has decoded it; a header has the size of the whole content, bytes. */
interface ContentFrame {
  size?: number;
  content?: Buffer;
}

/**
 * Of a message that is larger than any of ours, only the first bytes reach amqplib, which holds whole messages and their
 * copies: the rest is dropped frame by frame. In AMQP a consumer cannot tell the broker what it accepts.
 */
export class ContentLimit {
  /** Of the last message that has begun to arrive, bytes. */
  #bytes = 0;
  /** Of its content, while the rest is dropped: what is yet to come, and what is still let through, bytes. */
  #left = 0;
  #open = 0;

  constructor(channel: Channel) {
    const accept: unknown = Reflect.get(channel, "accept");
    if (typeof accept !== "function") return;
    Reflect.set(channel, "accept", (frame: ContentFrame) => {
      if (this.#lets(frame)) accept.call(channel, frame);
    });
  }

  /** The whole length of the message that was just received. */
  get bytes(): number {
    return this.#bytes;
  }

  #lets(frame: ContentFrame): boolean {
    if (frame.size !== undefined) {
      this.#bytes = frame.size;
      if (frame.size <= PAYLOAD_BYTES_MAX) return true;
      this.#left = frame.size;
      this.#open = KEPT_BYTES;
      frame.size = KEPT_BYTES;
    } else if (frame.content !== undefined && this.#left > 0) {
      this.#left -= frame.content.length;
      if (this.#open === 0) return false;
      // A copy: the frame is a part of a larger buffer.
      frame.content = Buffer.from(frame.content.subarray(0, this.#open));
      this.#open -= frame.content.length;
    }
    return true;
  }
}
