import type { SessionLink } from "../../core/link.ts";
import type { PublishOutcome } from "../../core/message.ts";

/** One session of the link as the edge node uses it: once it is closed, nothing is sent over a later one. */
export class NodeConnection {
  readonly #link: SessionLink;
  readonly #closed = new AbortController();

  constructor(link: SessionLink) {
    this.#link = link;
  }

  /** Aborted when the session ends, for any reason. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }
  /** The link reports that the session is over. */
  close(): void {
    this.#closed.abort();
  }

  /** Resolves when the socket has accepted the bytes: QoS 0 gives no other confirmation. */
  publish(topic: string, payload: Uint8Array, isDivisible: boolean): Promise<PublishOutcome> {
    if (this.closed.aborted) return Promise.resolve({ result: "lost" });
    return this.#link.publish({ topic, payload, qos: 0, retain: false, isDivisible });
  }
  /** True if the broker has read everything that was published before; false: the session is over. */
  prove(): Promise<boolean> {
    return this.closed.aborted ? Promise.resolve(false) : this.#link.prove();
  }
  /** Ends the connection without DISCONNECT: the broker publishes the will. */
  cut(reason: string): void {
    if (!this.closed.aborted) this.#link.renew(reason);
  }
  /**
   * DISCONNECT; with `publishWill`, MQTT 5 brokers publish the will too. `failure`: the reason, if something is wrong.
   */
  async disconnect(publishWill: boolean, failure: string | null): Promise<void> {
    if (!this.closed.aborted) await this.#link.leave(publishWill, failure);
  }
}
