import mqtt, { type IConnackPacket, type MqttClient } from "mqtt";
import type { InboundMessage, SessionInfo, Subscription, Will } from "../core/link.ts";
import type { Message, PublishOutcome } from "../core/message.ts";
import { AckWatch, type WatchedSession } from "./ack-watch.ts";
import { InboundGuard } from "./inbound-guard.ts";
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
  INBOUND_PACKET_BYTES_MAX,
  type MqttLinkOptions,
  PUBLISH_PATH,
} from "./link-options.ts";
import { PingQueue } from "./ping-queue.ts";
import { type PublishPath, publishPath } from "./publish-path.ts";

export type Done = (outcome: PublishOutcome) => void;

/** How a session, or the attempt to open one, ended. */
export interface SessionEnd {
  /** Null if we ended it and nothing is wrong. */
  readonly failure: LinkFailure | null;
  readonly wasOpen: boolean;
  /** False if no CONNECT can have been sent. */
  readonly connectSent: boolean;
  /** The CONNECT was sent, and the broker closed the connection without answering it. */
  readonly isConnectUnanswered: boolean;
  /** Reason code of the broker's DISCONNECT or refusing CONNACK. */
  readonly code: number | null;
  /** The other side ended it while QoS 1 publishes were in flight. */
  readonly brokeWithInflight: boolean;
  readonly byPeer: boolean;
  /** Bytes of the largest QoS 1 packet that was in flight. */
  readonly largestInflight: number;
  /** Bytes of the largest unproven QoS 0 packet. */
  readonly largestUnproven: number;
  /** Publishes and pings answered. */
  readonly acks: number;
}

export interface SessionTraits {
  /** One message in flight at a time, to find the one on which the broker closes the connection. */
  readonly isolate: boolean;
  /** False: the broker is known to refuse retained messages. */
  readonly retain: boolean;
}

export interface SessionEvents {
  /** The connection is open and CONNECT is sent. */
  onConnectSent(): void;
  /** Follows the CONNACK. */
  onOpen(): void;
  onMessage(message: InboundMessage): void;
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
const DISCONNECT_WITH_WILL = 0x04;
/**
 * Messages of our own (states, statistics, responses) that wait for a free slot; lanes keep count and never wait here.
 */
const WAITING_MAX = 1024;
const CLOSED_BY_BROKER: LinkFailure = {
  text: "the broker closed the connection",
  needsHands: false,
};
/** In isolation, this many messages acknowledged one by one reopen the window. */
export const ISOLATION_ACKS = 500;

/**
 * One CONNECT and what follows it, over one mqtt.js client that is never reused; publishes take the path in the
 * options. Every publish ends exactly once: by its PUBACK, or lost when the session ends. With `isolate` one message is
 * in flight at a time, so that the one on which the broker closes the connection is found and reported refused instead
 * of being retried for ever.
 */
export class MqttSession implements WatchedSession {
  readonly #options: MqttLinkOptions;
  readonly #url: string;
  readonly #traits: SessionTraits;
  readonly #guard = new InboundGuard(INBOUND_PACKET_BYTES_MAX);
  /** QoS 1 publishes in flight, by packet identifier, in the order they were sent. */
  readonly #pending = new Map<number, Pending>();
  /** QoS 0 publishes that the kernel has not accepted yet. */
  readonly #leaving = new Set<Pending>();
  readonly #pings = new PingQueue();
  readonly #waiting: { message: Message; bytes: number; done: Done }[] = [];
  #client: MqttClient | null = null;
  #path: PublishPath | null = null;
  #connack: IConnackPacket | null = null;
  #connectSent = false;
  #events: SessionEvents | null = null;
  #failure: LinkFailure | null = null;
  #code: number | null = null;
  #said: string | null = null;
  #isLocalEnd = false;
  #finish: ((end: SessionEnd) => void) | null = null;
  readonly #watch: AckWatch;
  #isDisconnecting = false;
  #acks = 0;

  constructor(options: MqttLinkOptions, url: string, traits: SessionTraits) {
    this.#options = options;
    this.#url = url;
    this.#traits = traits;
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
    if (this.#traits.isolate && this.#acks < ISOLATION_ACKS) return 1;
    return Math.max(1, Math.min(this.#options.inflight, this.receiveMaximum ?? 65_535));
  }
  get receiveMaximum(): number | null {
    return this.#connack?.properties?.receiveMaximum ?? null;
  }
  get maximumPacketSize(): number | null {
    return this.#connack?.properties?.maximumPacketSize ?? null;
  }
  get retainAvailable(): boolean {
    return this.#traits.retain && this.#connack?.properties?.retainAvailable !== false;
  }
  get isQos1Available(): boolean {
    return this.#connack?.properties?.maximumQoS !== 0;
  }

  /** The values granted by the CONNACK; `session` is the number of this session. */
  info(session: number): SessionInfo {
    const { receiveMaximum, maximumPacketSize, retainAvailable } = this;
    return { session, receiveMaximum, maximumPacketSize, retainAvailable };
  }

  /** Connects; resolves when it is all over. */
  run(will: Will | null, events: SessionEvents): Promise<SessionEnd> {
    return new Promise((resolve) => {
      this.#finish = resolve;
      this.#events = events;
      let client: MqttClient;
      try {
        client = mqtt.connect(clientOptions(this.#options, this.#url, will));
      } catch (err) {
        // Unusable certificates are detected when the TLS context is created, before anything is sent.
        this.#end(transportFailure(err));
        return;
      }
      this.#client = client;
      const { version, publishPath: path = PUBLISH_PATH } = this.#options;
      this.#path = publishPath(path, client, version, (id) => this.#pending.has(id));
      this.#watchConnect(client);
      client.stream.on("data", (chunk: Buffer) => {
        const bytes = this.#guard.feed(chunk);
        if (bytes !== null) this.#tooLargeInbound(bytes);
      });
      client.on("packetsend", (packet) => {
        if (packet.cmd === "pingreq") this.#pings.sent();
      });
      client.on("packetreceive", (packet) => {
        // mqtt.js then ignores an acknowledgement for a publish that it has not sent.
        if (packet.cmd === "puback") this.#answered(packet.messageId ?? 0, packet.reasonCode ?? 0);
        else if (packet.cmd === "pingresp") this.#pings.answered();
        else if (packet.cmd === "connack" || packet.cmd === "disconnect")
          this.#said = packet.properties?.reasonString ?? null;
      });
      client.on("connect", (connack) => {
        if (this.#finish === null) return;
        this.#connack = connack;
        this.#noteConnectSent();
        this.#watch.start();
        events.onOpen();
      });
      client.on("message", (topic, payload, packet) => {
        events.onMessage({
          topic,
          payload,
          qos: packet.qos,
          retain: packet.retain,
          ...packet.properties,
        });
      });
      client.on("disconnect", (packet) => {
        this.#code = packet.reasonCode ?? 0;
        this.#end(this.#quoted(disconnectFailure(this.#code, this.#options.clientId)));
      });
      client.on("error", (err) => {
        const code = errorCode(err);
        if (typeof code === "number" && this.#connack === null) {
          this.#noteConnectSent();
          this.#code = code;
          this.#end(this.#quoted(connackFailure(code, this.#options.clientId)));
        } else if (this.#connack !== null && (code === "ECONNRESET" || code === "EPIPE")) {
          // Whether a close arrives as a reset depends on what we were writing.
          this.#end(CLOSED_BY_BROKER);
        } else this.#end(transportFailure(err));
      });
      client.on("close", () =>
        this.#end(
          this.#connack === null
            ? {
                text: "the connection was closed before the broker answered CONNECT",
                needsHands: false,
              }
            : CLOSED_BY_BROKER,
        ),
      );
    });
  }

  /** Resolves with the refused topics. If there is no SUBACK, the session is ended, and there are none. */
  subscribe(subscriptions: readonly Subscription[]): Promise<string[]> {
    const client = this.#client;
    if (!client || subscriptions.length === 0) return Promise.resolve([]);
    this.#watch.asking("SUBSCRIBE");
    const filters = Object.fromEntries(subscriptions.map(({ topic, qos }) => [topic, { qos }]));
    return new Promise((resolve) => {
      client.subscribe(filters, (err, _granted, packet) => {
        this.#watch.answered("SUBSCRIBE");
        if (err === null || !this.isOpen) return resolve([]);
        const topics = subscriptions.map(({ topic }) => topic);
        const codes = packet?.granted ?? [];
        const refused = topics.filter((_, i) => Number(codes[i]) >= REFUSED_UNSPECIFIED);
        // A response that does not say which one is meant refuses all of them.
        resolve(refused.length > 0 ? refused : topics);
      });
    });
  }

  /** A PINGREQ round trip: true if everything sent before was read; false if the session ended first. */
  prove(): Promise<boolean> {
    const client = this.#client;
    if (!client || !this.isOpen || this.#isDisconnecting) return Promise.resolve(false);
    this.#path?.flush();
    this.#watch.asking("PINGREQ");
    return new Promise((resolve) => {
      this.#pings.ask((isAnswered) => {
        this.#watch.answered("PINGREQ");
        if (isAnswered) this.#acks += 1;
        resolve(isAnswered);
      });
      client.sendPing();
    });
  }

  /** Sends now, or once the window has room; `done` is called exactly once. */
  send(message: Message, bytes: number, done: Done): void {
    const path = this.#path;
    if (!path || !this.isOpen || this.#isDisconnecting) return done({ result: "lost" });
    if (message.qos === 1 && this.#pending.size >= this.inflightMax) {
      if (this.#waiting.length >= WAITING_MAX) return done({ result: "lost" });
      this.#waiting.push({ message, bytes, done });
      return;
    }
    const pending: Pending = { done, bytes, tick: this.#watch.tick };
    const retain = message.retain && this.retainAvailable;
    try {
      if (message.qos === 1) this.#pending.set(path.send(message, retain, bytes, null), pending);
      else {
        // mqtt.js may report within the call that it has disconnected.
        this.#leaving.add(pending);
        path.send(message, retain, bytes, () => this.#left(pending));
        this.#pings.wrote(bytes);
      }
    } catch (error) {
      this.#leaving.delete(pending);
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

  /** Ends without DISCONNECT; the broker then publishes the will. */
  abort(text: string, needsHands = false): void {
    this.#isLocalEnd = true;
    this.#end({ text, needsHands });
  }

  /**
   * DISCONNECT; gives up after `timeoutMs` on a broker that does not accept it. With `publishWill` an MQTT 5 broker
   * publishes the will; any broker does if publishes are still in flight, because the connection is then cut.
   */
  async disconnect(
    timeoutMs: number,
    publishWill: boolean,
    failure: LinkFailure | null,
  ): Promise<void> {
    const client = this.#client;
    this.#isLocalEnd = true;
    const isBusy = this.#pending.size > 0 || this.#leaving.size > 0;
    if (!client || !this.isOpen || isBusy) return this.#end(failure);
    this.#isDisconnecting = true;
    this.#failure = failure;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      const done = () => {
        clearTimeout(timer);
        resolve();
      };
      const reasonCode = publishWill ? DISCONNECT_WITH_WILL : 0;
      if (this.#options.version === 5) client.end(false, { reasonCode }, done);
      else client.end(false, done);
    });
    this.#end(failure);
  }

  /** Learns whether the connection opened, i.e. whether the CONNECT queued by mqtt.js was sent. */
  #watchConnect(client: MqttClient): void {
    const scheme = new URL(this.#url).protocol;
    if (scheme === "mqtt:" || scheme === "mqtts:") {
      const event = scheme === "mqtt:" ? "connect" : "secureConnect";
      client.stream.once(event, () => this.#noteConnectSent());
    } else {
      // A web socket stream does not show it: assumed sent, unless the address could not even be reached.
      this.#noteConnectSent();
      client.stream.once("error", (err: unknown) => {
        const code = errorCode(err);
        if (code === "ECONNREFUSED" || code === "ENOTFOUND") this.#connectSent = false;
      });
    }
  }

  #tooLargeInbound(bytes: number): void {
    this.abort(
      `the broker sent a packet of ${bytes} bytes, more than the ${INBOUND_PACKET_BYTES_MAX} taken here: look for what is published, or kept as retained, on the topics this client subscribes to`,
      true,
    );
  }

  #noteConnectSent(): void {
    if (this.#connectSent) return;
    this.#connectSent = true;
    this.#events?.onConnectSent();
  }

  #quoted(failure: LinkFailure): LinkFailure {
    return this.#said === null ? failure : { ...failure, said: this.#said };
  }

  #end(failure: LinkFailure | null): void {
    const finish = this.#finish;
    if (finish === null) return;
    this.#finish = null;
    if (!this.#isDisconnecting) this.#failure = failure;
    this.#watch.stop();
    const unanswered = [...this.#pending.values()];
    const unsent = [...this.#leaving];
    const brokeWithInflight = !this.#isLocalEnd && unanswered.length > 0;
    const isCulprit = this.#traits.isolate && this.inflightMax === 1 && unanswered.length === 1;
    this.#pending.clear();
    this.#leaving.clear();
    // Destroys the socket and releases the client; its callbacks find nothing pending any more.
    this.#client?.end(true);
    this.#client?.stream.destroy();
    const largestUnproven = this.#pings.unprovenBytesMax;
    this.#pings.lose();
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
      isConnectUnanswered:
        this.#connectSent && this.#connack === null && this.#code === null && !this.#isLocalEnd,
      code: this.#code,
      brokeWithInflight,
      byPeer: !this.#isLocalEnd,
      largestInflight,
      largestUnproven,
      acks: this.#acks,
    });
  }

  #culpritOutcome(bytes: number): PublishOutcome {
    return this.#code === PACKET_TOO_LARGE
      ? { result: "oversize", bytes, limitBytes: bytes - 1 }
      : { result: "refused", code: this.#code ?? REFUSED_UNSPECIFIED };
  }
}
