import mqtt, { type IConnackPacket, type MqttClient } from "mqtt";
import type { Message, PublishOutcome } from "../core/ports.ts";
import { AckWatch, type WatchedSession } from "./ack-watch.ts";
import {
  connackFailure,
  disconnectFailure,
  errorCode,
  type LinkFailure,
  transportFailure,
} from "./link-errors.ts";
import {
  ACK_TIMEOUT_MS,
  clientOptions,
  type InboundMessage,
  type MqttLinkOptions,
  type Subscription,
  type Will,
} from "./link-options.ts";
import { PublishIds } from "./packet-ids.ts";
import { PublishWriter } from "./publish-writer.ts";

export type Done = (outcome: PublishOutcome) => void;

/** How a session, or the attempt to open one, ended. */
export interface SessionEnd {
  readonly failure: LinkFailure;
  readonly wasOpen: boolean;
  /** False when no CONNECT can have left this machine. */
  readonly connectSent: boolean;
  /** Reason code of the broker's DISCONNECT or refusing CONNACK. */
  readonly code: number | null;
  /** The other side ended it, while QoS 1 publishes awaited their PUBACK. */
  readonly brokeWithInflight: boolean;
  readonly byPeer: boolean;
  /** Bytes of the largest packet that was in flight. */
  readonly largestInflight: number;
  readonly acks: number;
}

interface Pending {
  readonly done: Done;
  readonly bytes: number;
  /** Watch tick it was sent in. */
  readonly tick: number;
}

const REFUSED_UNSPECIFIED = 0x80;
const NO_SUBSCRIBER = 0x10;
const MALFORMED_PACKET = 0x81;
const PACKET_TOO_LARGE = 0x95;
/** Messages of our own (states, statistics, answers) that wait for a free slot; lanes keep count and never wait here. */
const WAITING_MAX = 1024;
/** In isolation, so many acknowledged one by one let the window open again. */
export const ISOLATION_ACKS = 500;

/**
 * One CONNECT and what follows it, over one mqtt.js client that is never used again; publishes are written past it. Every publish ends exactly once:
 * by its PUBACK, or lost when the session ends. With `isolate` one message is in flight at a time, so that one on which
 * the broker closes the connection is found and reported refused instead of being tried for ever.
 */
export class MqttSession implements WatchedSession {
  readonly #options: MqttLinkOptions;
  readonly #isolate: boolean;
  /** QoS 1 publishes that await their PUBACK, by packet identifier, in the order they were sent. */
  readonly #pending = new Map<number, Pending>();
  /** QoS 0 publishes that are not with the kernel yet. */
  readonly #leaving = new Set<Pending>();
  readonly #ids = new PublishIds();
  readonly #waiting: { message: Message; bytes: number; done: Done }[] = [];
  #client: MqttClient | null = null;
  #writer: PublishWriter | null = null;
  #connack: IConnackPacket | null = null;
  #connectSent = false;
  #failure: LinkFailure | null = null;
  #code: number | null = null;
  #isLocalEnd = false;
  #finish: ((end: SessionEnd) => void) | null = null;
  readonly #watch: AckWatch;
  #isDisconnecting = false;
  #acks = 0;

  constructor(options: MqttLinkOptions, isolate: boolean) {
    this.#options = options;
    this.#isolate = isolate;
    this.#watch = new AckWatch(options.ackTimeoutMs ?? ACK_TIMEOUT_MS, this, (text) =>
      this.abort(text),
    );
  }

  get isOpen(): boolean {
    return this.#connack !== null && this.#finish !== null;
  }
  get acks(): number {
    return this.#acks;
  }
  get oldestTick(): number | null {
    for (const pending of this.#pending.values()) return pending.tick;
    return null;
  }
  /** QoS 1 publishes sent or waiting, not yet answered. */
  get inflight(): number {
    return this.#pending.size + this.#waiting.length;
  }
  get inflightMax(): number {
    if (this.#isolate && this.#acks < ISOLATION_ACKS) return 1;
    return Math.max(1, Math.min(this.#options.inflight, this.receiveMaximum ?? 65_535));
  }
  get receiveMaximum(): number | null {
    return this.#connack?.properties?.receiveMaximum ?? null;
  }
  get maximumPacketSize(): number | null {
    return this.#connack?.properties?.maximumPacketSize ?? null;
  }
  get retainAvailable(): boolean {
    return this.#connack?.properties?.retainAvailable !== false;
  }
  get isQos1Available(): boolean {
    return this.#connack?.properties?.maximumQoS !== 0;
  }

  /** Connects; resolves when it is all over. `onOpen` follows the CONNACK. */
  run(
    will: Will | null,
    onOpen: () => void,
    onMessage: (message: InboundMessage) => void,
  ): Promise<SessionEnd> {
    return new Promise((resolve) => {
      this.#finish = resolve;
      let client: MqttClient;
      try {
        client = mqtt.connect(clientOptions(this.#options, will));
      } catch (err) {
        // Unusable certificates are found when the TLS context is made, before anything is sent.
        this.#end(transportFailure(err));
        return;
      }
      this.#client = client;
      this.#writer = new PublishWriter(client.stream, this.#options.version);
      this.#watchConnect(client);
      client.on("packetreceive", (packet) => {
        // mqtt.js itself then takes no notice of an acknowledgement for a publish that it has not sent.
        if (packet.cmd === "puback") this.#answered(packet.messageId ?? 0, packet.reasonCode ?? 0);
      });
      client.on("connect", (connack) => {
        if (this.#finish === null) return;
        this.#connack = connack;
        this.#connectSent = true;
        this.#watch.start();
        onOpen();
      });
      client.on("message", (topic, payload, packet) => {
        onMessage({ topic, payload, qos: packet.qos, retain: packet.retain, ...packet.properties });
      });
      client.on("disconnect", (packet) => {
        this.#code = packet.reasonCode ?? 0;
        this.#end(disconnectFailure(this.#code, this.#options.clientId));
      });
      client.on("error", (err) => {
        const code = errorCode(err);
        if (typeof code === "number" && this.#connack === null) {
          this.#connectSent = true;
          this.#code = code;
          this.#end(connackFailure(code, this.#options.clientId));
        } else this.#end(transportFailure(err));
      });
      client.on("close", () =>
        this.#end({
          text:
            this.#connack === null
              ? "the connection was closed before the broker answered CONNECT"
              : "the broker closed the connection",
          needsHands: false,
        }),
      );
    });
  }

  /** Resolves with the topics that are refused. Left without an answer, the session is ended, and there are none. */
  subscribe(subscriptions: readonly Subscription[]): Promise<string[]> {
    const client = this.#client;
    if (!client || subscriptions.length === 0) return Promise.resolve([]);
    this.#watch.subscribing();
    return Promise.all(
      subscriptions.map(
        ({ topic, qos }) =>
          new Promise<string[]>((resolve) => {
            client.subscribe(topic, { qos }, (err, granted) => {
              const isRefused = err !== null || granted?.some((grant) => grant.qos >= 128);
              resolve(isRefused === true && this.isOpen ? [topic] : []);
            });
          }),
      ),
    ).then((refused) => {
      this.#watch.subscribed();
      return refused.flat();
    });
  }

  /** Sends now, or once the window has room; `done` is called exactly once. */
  send(message: Message, bytes: number, done: Done): void {
    const writer = this.#writer;
    if (!writer || !this.isOpen || this.#isDisconnecting) return done({ result: "lost" });
    if (message.qos === 1 && this.#pending.size >= this.inflightMax) {
      if (this.#waiting.length >= WAITING_MAX) return done({ result: "lost" });
      this.#waiting.push({ message, bytes, done });
      return;
    }
    const pending: Pending = { done, bytes, tick: this.#watch.tick };
    const retain = message.retain && this.retainAvailable;
    try {
      if (message.qos === 1) {
        const id = this.#ids.next((other) => this.#pending.has(other));
        writer.write(message, id, retain, bytes, null);
        this.#pending.set(id, pending);
      } else {
        writer.write(message, 0, retain, bytes, () => this.#left(pending));
        this.#leaving.add(pending);
      }
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      done({ result: "refused", code: MALFORMED_PACKET });
    }
  }

  #left(pending: Pending): void {
    if (this.#leaving.delete(pending)) pending.done({ result: "delivered" });
  }

  #answered(id: number, reason: number): void {
    const pending = this.#pending.get(id);
    if (pending === undefined || !this.isOpen) return;
    this.#pending.delete(id);
    this.#acks += 1;
    const isRefused =
      reason >= REFUSED_UNSPECIFIED ||
      (reason === NO_SUBSCRIBER && this.#options.requireSubscriber === true);
    pending.done(isRefused ? { result: "refused", code: reason } : { result: "delivered" });
    this.#sendWaiting();
  }

  #sendWaiting(): void {
    while (this.#waiting.length > 0 && this.#pending.size < this.inflightMax) {
      const next = this.#waiting.shift();
      if (next) this.send(next.message, next.bytes, next.done);
    }
  }

  /** Ends without a word to the broker, which then publishes the will. */
  abort(text: string): void {
    this.#isLocalEnd = true;
    this.#end({ text, needsHands: false });
  }

  /** DISCONNECT; gives up after `timeoutMs` on a broker that does not take it. */
  async disconnect(timeoutMs: number): Promise<void> {
    const client = this.#client;
    const isBusy = this.#pending.size > 0 || this.#leaving.size > 0;
    if (!client || !this.isOpen || isBusy) return this.abort("closed");
    this.#isLocalEnd = true;
    this.#isDisconnecting = true;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      const done = () => {
        clearTimeout(timer);
        resolve();
      };
      const reasonCode = this.#options.disconnectReason ?? 0;
      if (this.#options.version === 5) client.end(false, { reasonCode }, done);
      else client.end(false, done);
    });
    this.#end({ text: "closed", needsHands: false });
  }

  /** Learns whether the transport came up, i.e. whether the CONNECT that mqtt.js has queued was sent. */
  #watchConnect(client: MqttClient): void {
    const scheme = new URL(this.#options.url).protocol;
    if (scheme === "mqtt:" || scheme === "mqtts:") {
      client.stream.once(scheme === "mqtt:" ? "connect" : "secureConnect", () => {
        this.#connectSent = true;
      });
    } else {
      // A web socket stream does not tell: taken as sent, unless the address could not even be reached.
      this.#connectSent = true;
      client.stream.once("error", (err: unknown) => {
        const code = errorCode(err);
        if (code === "ECONNREFUSED" || code === "ENOTFOUND") this.#connectSent = false;
      });
    }
  }

  #end(failure: LinkFailure): void {
    const finish = this.#finish;
    if (finish === null) return;
    this.#finish = null;
    this.#failure ??= failure;
    this.#watch.stop();
    const unanswered = [...this.#pending.values()];
    const unsent = [...this.#leaving];
    const brokeWithInflight = !this.#isLocalEnd && unanswered.length > 0;
    const isCulprit = this.#isolate && this.inflightMax === 1 && unanswered.length === 1;
    this.#pending.clear();
    this.#leaving.clear();
    // Destroys the socket and forgets the client; its callbacks find nothing pending any more.
    this.#client?.end(true);
    this.#client?.stream.destroy();
    let largestInflight = 0;
    for (const { done, bytes } of unanswered) {
      largestInflight = Math.max(largestInflight, bytes);
      if (brokeWithInflight && isCulprit) done(this.#culpritOutcome(bytes));
      else done({ result: "lost" });
    }
    for (const { done } of unsent) done({ result: "lost" });
    for (const { done } of this.#waiting.splice(0)) done({ result: "lost" });
    finish({
      failure: this.#failure,
      wasOpen: this.#connack !== null,
      connectSent: this.#connectSent,
      code: this.#code,
      brokeWithInflight,
      byPeer: !this.#isLocalEnd,
      largestInflight,
      acks: this.#acks,
    });
  }

  #culpritOutcome(bytes: number): PublishOutcome {
    return this.#code === PACKET_TOO_LARGE
      ? { result: "oversize", bytes, limitBytes: bytes - 1 }
      : { result: "refused", code: this.#code ?? REFUSED_UNSPECIFIED };
  }
}
