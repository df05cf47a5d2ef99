import { Duplex } from "node:stream";
import type { ChannelModel } from "amqplib";

/** A closed gate lets one read (at most 64 kB) pass in this time, ms: amqplib takes 60 s without any for a dead connection. */
const TRICKLE_MS = 10_000;

/**
 * Stops reading from a connection, so that what the broker has sent stays in the network and in the broker. amqplib
 * itself reads all that arrives: the number of messages in flight is limited, their bytes are not.
 */
export class ReadGate {
  readonly #stream: Duplex | null;
  #isClosed = false;
  #isTrickling = false;
  #trickle: NodeJS.Timeout | undefined;

  constructor(connection: ChannelModel) {
    const stream: unknown = Reflect.get(connection.connection, "stream");
    this.#stream = stream instanceof Duplex ? stream : null;
    if (this.#stream === null) return;
    const read = this.#stream.read.bind(this.#stream);
    this.#stream.read = (size?: number) => {
      if (!this.#isClosed) return read(size);
      if (!this.#isTrickling) return null;
      this.#isTrickling = false;
      return read(size);
    };
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#trickle = setInterval(() => {
      // amqplib reads until nothing is left.
      this.#isTrickling = true;
      this.#stream?.emit("readable");
      this.#isTrickling = false;
    }, TRICKLE_MS);
  }

  open(): void {
    clearInterval(this.#trickle);
    this.#trickle = undefined;
    if (!this.#isClosed) return;
    this.#isClosed = false;
    this.#stream?.emit("readable");
  }
}
