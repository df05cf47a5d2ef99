import type { SessionLink } from "../../core/link.ts";
import type { PublishOutcome } from "../../core/message.ts";

/** One session of the link as the edge node uses it: once it is closed, nothing goes out over a later one. */
export class NodeConnection {
  readonly #link: SessionLink;
  readonly #closed = new AbortController();

  constructor(link: SessionLink) {
    this.#link = link;
  }

  /** Aborted when the session is over, for whatever reason. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }
  /** The link says that the session is over. */
  close(): void {
    this.#closed.abort();
  }

  /** Resolves when the bytes were taken by the socket: QoS 0 knows no more. */
  publish(topic: string, payload: Uint8Array): Promise<PublishOutcome> {
    if (this.closed.aborted) return Promise.resolve({ result: "lost" });
    return this.#link.publish({ topic, payload, qos: 0, retain: false });
  }
  /** True when the broker has read everything that was published before; false: the session is over. */
  prove(): Promise<boolean> {
    return this.closed.aborted ? Promise.resolve(false) : this.#link.prove();
  }
  /** Ends the transport without a word: the broker publishes the will. */
  cut(reason: string): void {
    if (!this.closed.aborted) this.#link.renew(reason);
  }
  /** DISCONNECT; with `publishWill`, MQTT 5 brokers publish the will too. `failure`: why, where something is wrong. */
  async disconnect(publishWill: boolean, failure: string | null): Promise<void> {
    if (!this.closed.aborted) await this.#link.leave(publishWill, failure);
  }
}
