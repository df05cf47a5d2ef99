/**
 * One MQTT session of the edge node: one mqtt.js client, one CONNECT, one will. It never reconnects.
 */
import mqtt, { type IClientOptions, type IConnackPacket, type MqttClient } from "mqtt";
import type { Message, PublishOutcome } from "../../core/ports.ts";
import { connackFailure, disconnectFailure, errorCode, transportFailure } from "../link-errors.ts";
import { publishPacketBytes, REMAINING_LENGTH_MAX } from "../packet-size.ts";

/** How long the broker may take to answer a PINGREQ or SUBSCRIBE before the link counts as half open. */
const ANSWER_TIMEOUT_MS = 15_000;
/** A DISCONNECT that cannot be flushed in this time is given up. */
const END_TIMEOUT_MS = 2_000;

export interface ConnectionParts {
  readonly client: IClientOptions;
  readonly version: 4 | 5;
  readonly filters: readonly string[];
  /** Learned from earlier sessions where the broker announces none. */
  readonly packetBytesMax: number;
  /** The transport stands and CONNECT goes out: from here on the will, and its bdSeq, is used. */
  onConnectSent(): void;
  onMessage(topic: string, payload: Uint8Array): void;
}

export class NodeConnection {
  readonly #client: MqttClient;
  readonly #version: 4 | 5;
  readonly #clientId: string;
  readonly #closed = new AbortController();
  readonly #pings: (() => void)[] = [];
  #packetBytesMax: number;
  #unprovenBytesMax = 0;
  #failure: string | null = null;

  private constructor(parts: ConnectionParts) {
    this.#version = parts.version;
    this.#packetBytesMax = parts.packetBytesMax;
    this.#clientId = parts.client.clientId ?? "";
    this.#client = mqtt.connect({ ...parts.client, reschedulePings: false });
    const client = this.#client;
    const scheme = parts.client.protocol;
    // A web socket's own opening is out of sight, so such an attempt counts as used from the start.
    if (scheme === "mqtt") client.stream.once("connect", () => parts.onConnectSent());
    else if (scheme === "mqtts") client.stream.once("secureConnect", () => parts.onConnectSent());
    else parts.onConnectSent();

    client.on("message", (topic, payload) => parts.onMessage(topic, payload));
    client.on("packetreceive", (packet) => {
      // Answers come in the order of the requests, mqtt.js's own keep-alive pings among them.
      if (packet.cmd === "pingresp") this.#pings.shift()?.();
      else if (packet.cmd === "disconnect") {
        this.#fail(disconnectFailure(packet.reasonCode ?? 0, this.#clientId).text);
      }
    });
    client.on("packetsend", (packet) => {
      if (packet.cmd === "pingreq") this.#pings.push(this.#pingAnswered ?? (() => {}));
    });
    client.on("error", (err) => {
      const code = errorCode(err);
      this.#fail(
        (typeof code === "number" ? connackFailure(code, this.#clientId) : transportFailure(err))
          .text,
      );
      client.stream.destroy();
    });
    client.on("close", () => {
      this.#fail("the connection was closed");
      this.#closed.abort();
    });
  }
  /** Set for the moment of our own PINGREQ. */
  #pingAnswered: (() => void) | null = null;

  /** Connects and subscribes; rejects with the reason in words. Aborting gives the attempt up. */
  static async open(parts: ConnectionParts, signal: AbortSignal): Promise<NodeConnection> {
    const connection = new NodeConnection(parts);
    const giveUp = () => connection.#client.end(true);
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      await connection.#connected();
      await connection.#subscribe(parts.filters);
      return connection;
    } catch (err) {
      connection.#client.end(true);
      throw err;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** Aborted when the session is over, for whatever reason. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }
  /** Why it ended; null while it stands. */
  get failure(): string | null {
    return this.#failure;
  }

  /** Resolves when the bytes were taken by the socket: QoS 0 knows no more. */
  publish(topic: string, payload: Uint8Array): Promise<PublishOutcome> {
    const message: Message = { topic, payload, qos: 0, retain: false };
    const bytes = publishPacketBytes(message, this.#version);
    if (bytes > this.#packetBytesMax) {
      return Promise.resolve({ result: "oversize", bytes, limitBytes: this.#packetBytesMax });
    }
    if (this.#closed.signal.aborted || !this.#client.connected) {
      return Promise.resolve({ result: "lost" });
    }
    this.#unprovenBytesMax = Math.max(this.#unprovenBytesMax, bytes);
    return this.#untilClosed<PublishOutcome>({ result: "lost" }, (done) => {
      this.#client.publish(
        topic,
        Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength),
        { qos: 0, retain: false },
        (err) => done({ result: err ? "lost" : "delivered" }),
      );
    });
  }

  /**
   * A PINGREQ round trip. TCP keeps order and a broker reads a client's packets one after the other, so the PINGRESP
   * proves that everything written before was read. Answers to earlier pings do not count. False: the link is gone.
   */
  async prove(): Promise<boolean> {
    if (this.#closed.signal.aborted || !this.#client.connected) return false;
    const isProven = await this.#answered((done) => {
      this.#pingAnswered = done;
      this.#client.sendPing();
      this.#pingAnswered = null;
    });
    if (isProven) this.#unprovenBytesMax = 0;
    return isProven;
  }
  /** Largest packet written since the last proof: the first suspect where a broker hangs up. */
  get unprovenBytesMax(): number {
    return this.#unprovenBytesMax;
  }

  /** Ends the transport without a word: the broker publishes the will. */
  cut(): void {
    this.#client.stream.destroy();
  }

  /** DISCONNECT; with `publishWill`, MQTT 5 brokers publish the will too (reason 0x04). */
  async disconnect(publishWill: boolean): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#failure ??= "closed by us";
    const reasonCode = publishWill && this.#version === 5 ? 0x04 : 0;
    const ended = new Promise<void>((resolve) => {
      this.#client.end(false, this.#version === 5 ? { reasonCode } : {}, () => resolve());
    });
    const timer = setTimeout(() => this.#client.stream.destroy(), END_TIMEOUT_MS);
    await Promise.race([ended, this.#whenClosed()]);
    clearTimeout(timer);
    this.#client.end(true);
    this.#closed.abort();
  }

  #connected(): Promise<void> {
    return new Promise((resolve, reject) => {
      const refused = () => reject(new Error(this.#failure ?? "the connection was closed"));
      this.#closed.signal.addEventListener("abort", refused, { once: true });
      this.#client.once("connect", (connack: IConnackPacket) => {
        this.#closed.signal.removeEventListener("abort", refused);
        this.#packetBytesMax = Math.min(
          this.#packetBytesMax,
          connack.properties?.maximumPacketSize ?? REMAINING_LENGTH_MAX,
        );
        resolve();
      });
    });
  }
  async #subscribe(filters: readonly string[]): Promise<void> {
    let refused: string | null = null;
    const isAnswered = await this.#answered((done) => {
      this.#client.subscribe([...filters], { qos: 1 }, (err, granted) => {
        if (err) refused = err.message;
        for (const { topic, qos } of granted ?? []) if (qos >= 128) refused = topic;
        done();
      });
    });
    if (!isAnswered) throw new Error(this.#failure ?? "the broker did not answer SUBSCRIBE");
    // Without its commands or its host's state this is no edge node.
    if (refused !== null) throw new Error(`the broker refused the subscription: ${refused}`);
  }

  /** True once `ask` was answered; a broker that stays silent loses the connection. */
  async #answered(ask: (done: () => void) => void): Promise<boolean> {
    const timer = setTimeout(() => {
      this.#fail("the broker does not answer any more");
      this.#client.stream.destroy();
    }, ANSWER_TIMEOUT_MS);
    const isAnswered = await this.#untilClosed(false, (done) => ask(() => done(true)));
    clearTimeout(timer);
    return isAnswered;
  }
  #untilClosed<T>(otherwise: T, start: (done: (value: T) => void) => void): Promise<T> {
    return new Promise((resolve) => {
      const lost = () => resolve(otherwise);
      this.#closed.signal.addEventListener("abort", lost, { once: true });
      start((value) => {
        this.#closed.signal.removeEventListener("abort", lost);
        resolve(value);
      });
    });
  }
  #whenClosed(): Promise<void> {
    return this.#closed.signal.aborted
      ? Promise.resolve()
      : this.#untilClosed<void>(undefined, () => {});
  }
  #fail(reason: string): void {
    this.#failure ??= reason;
  }
}
