/** One session with a broker. In one file: client, window and end of a session share the state that makes each publish end exactly once. */
import type { Socket } from "node:net";
import type { IConnackPacket, MqttClient } from "mqtt";
import type { SessionInfo, Subscription, Will } from "../../core/delivery/link.ts";
import type { Message } from "../../core/message.ts";
import { codeOf } from "../../core/thrown.ts";
import { AckWatch, type WatchedSession } from "./ack-watch.ts";
import { explainCertificate, isAboutCertificate, tlsFailure } from "./certificate-advice.ts";
import { ClientStream, PUBLISHES_MAX } from "./client-stream.ts";
import type { TooLargePacket } from "./inbound-guard.ts";
import {
  connackFailure,
  disconnectFailure,
  type LinkFailure,
  transportFailure,
} from "./link-errors.ts";
import {
  ACK_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  clientOptions,
  INBOUND_PACKET_BYTES_MAX,
  type MqttLinkOptions,
  now,
} from "./link-options.ts";
import { identityCheck, isTls } from "./peer-chain.ts";
import { PingQueue } from "./ping-queue.ts";
import { type Done, Publishes } from "./publishes.ts";
import type { SessionEnd, SessionEvents, SessionTraits } from "./session-events.ts";
import { tooLargeInbound } from "./session-texts.ts";
import { filtersOf, refusedIn } from "./suback.ts";
import { openClient, openTunnel, TunnelError } from "./tunnel.ts";

const DISCONNECT_WITH_WILL = 0x04;
const CLOSED_BY_BROKER: LinkFailure = {
  text: "the broker closed the connection",
  needsHands: false,
};
/** RabbitMQ 3.10 ends the connection over a CONNECT of MQTT 5, without a CONNACK. */
const NO_MQTT_5 =
  "; if it speaks only MQTT 3.1.1, as RabbitMQ before 3.13 does, set MQTT_VERSION to 4";
/** In isolation, this many messages acknowledged one by one reopen the window. */
export const ISOLATION_ACKS = 500;

/**
 * One CONNECT and what follows it, over one mqtt.js client that is never reused. Every publish ends exactly once: by its PUBACK, or lost when the session ends. With `isolate` one message
 * is in flight at a time, so that the one on which the broker closes the connection is found and reported as refused
 * instead of being retried forever.
 */
export class MqttSession implements WatchedSession {
  readonly #options: MqttLinkOptions;
  readonly #url: string;
  readonly #traits: SessionTraits;
  readonly #publishes: Publishes;
  readonly #pings = new PingQueue();
  #client: MqttClient | null = null;
  #stream: ClientStream | null = null;
  #connack: IConnackPacket | null = null;
  #connectSent = false;
  #events: SessionEvents | null = null;
  #failure: LinkFailure | null = null;
  #code: number | null = null;
  #brokerText: string | null = null;
  #isLocalEnd = false;
  #finish: ((end: SessionEnd) => void) | null = null;
  readonly #watch: AckWatch;
  #isDisconnecting = false;
  #acks = 0;
  #tooLarge: TooLargePacket | null = null;
  /** Of the last SUBACK, if it refused anything. */
  subackCode: number | null = null;

  constructor(options: MqttLinkOptions, url: string, traits: SessionTraits) {
    this.#options = options;
    this.#url = url;
    this.#traits = traits;
    this.#publishes = new Publishes({
      requireSubscriber: options.requireSubscriber === true,
      inflightMax: () => this.inflightMax,
      pace: traits.pace ?? null,
      refusals: traits.refusals ?? null,
      tick: () => this.#watch.tick,
      transmit: (message, bytes, onLeft) => this.#transmit(message, bytes, onLeft),
    });
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
    return this.#publishes.oldestTick;
  }
  /** QoS 1 publishes sent or waiting, not yet answered. */
  get inflight(): number {
    return this.#publishes.inflight;
  }
  get hasRoom(): boolean {
    return this.isOpen && this.#publishes.hasRoom;
  }
  get inflightMax(): number {
    if (this.#traits.isolate && this.#acks < ISOLATION_ACKS) return 1;
    return Math.max(
      1,
      Math.min(this.#options.inflight, this.receiveMaximum ?? PUBLISHES_MAX, PUBLISHES_MAX),
    );
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
      const { proxy } = this.#options;
      if (proxy === undefined) return this.#start(null, will, events);
      this.#tunnel(proxy).then(
        (tunnel) => {
          if (this.#finish === null) tunnel.destroy();
          else this.#start(tunnel, will, events);
        },
        (err: unknown) =>
          this.#end(err instanceof TunnelError ? err.failure : transportFailure(err)),
      );
    });
  }

  /** Rejects where the proxy's credentials cannot be read. */
  async #tunnel(proxy: string | (() => string)): Promise<Socket> {
    const { connectTimeoutMs = CONNECT_TIMEOUT_MS } = this.#options;
    return openTunnel(now(proxy), this.#url, connectTimeoutMs);
  }

  #start(tunnel: Socket | null, will: Will | null, events: SessionEvents): void {
    let client: MqttClient;
    try {
      const { onCertificates = () => {} } = this.#options;
      const connect = clientOptions(this.#options, this.#url, will);
      client = openClient(connect, tunnel, identityCheck(onCertificates));
    } catch (err) {
      // Unusable certificates are detected when the TLS context is created, before anything is sent.
      tunnel?.destroy();
      this.#end(transportFailure(err));
      return;
    }
    this.#client = client;
    let isExplaining = false;
    const stream = new ClientStream(client, this.#options.version, (id) =>
      this.#publishes.isPending(id),
    );
    this.#stream = stream;
    const { protocol } = new URL(this.#url);
    stream.watch(protocol, tunnel !== null, INBOUND_PACKET_BYTES_MAX, {
      connectSent: () => this.#noteConnectSent(),
      connectUnsent: () => {
        this.#connectSent = false;
      },
      tooLarge: (packet) => this.#tooLargeInbound(packet),
    });
    client.on("packetsend", (packet) => {
      if (packet.cmd === "pingreq") this.#pings.sent();
    });
    client.on("packetreceive", (packet) => {
      // mqtt.js then ignores an acknowledgement for a publish that it has not sent.
      if (packet.cmd === "puback")
        this.#acknowledged(packet.messageId ?? 0, packet.reasonCode ?? 0);
      else if (packet.cmd === "pingresp") this.#pings.answered();
      else if (packet.cmd === "connack" || packet.cmd === "disconnect")
        this.#brokerText = packet.properties?.reasonString ?? null;
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
      const code = codeOf(err);
      if (typeof code === "number" && this.#connack === null) {
        this.#noteConnectSent();
        this.#code = code;
        this.#end(this.#quoted(connackFailure(code, this.#options.clientId)));
      } else if (this.#connack !== null && (code === "ECONNRESET" || code === "EPIPE")) {
        // Whether a close arrives as a reset depends on what we were writing.
        this.#end(CLOSED_BY_BROKER);
      } else if (isTls(this.#url) && isAboutCertificate(code)) {
        isExplaining = true;
        void explainCertificate(err, code, this.#url, this.#options).then((failure) =>
          this.#end(failure),
        );
      } else this.#end(tlsFailure(err, this.#options));
    });
    client.on("close", () => {
      if (isExplaining) return;
      this.#end(
        this.#connack === null
          ? {
              text: `the connection was closed before the broker responded to CONNECT${this.#options.version === 5 ? NO_MQTT_5 : ""}`,
              needsHands: false,
            }
          : CLOSED_BY_BROKER,
      );
    });
  }

  /** Resolves with the refused topics. If there is no SUBACK, the session is ended, and there are none. */
  subscribe(subscriptions: readonly Subscription[]): Promise<string[]> {
    const client = this.#client;
    if (!client || subscriptions.length === 0) return Promise.resolve([]);
    this.#watch.requested("SUBSCRIBE");
    return new Promise((resolve) => {
      client.subscribe(filtersOf(subscriptions), (err, _granted, packet) => {
        this.#watch.answered("SUBSCRIBE");
        if (err === null || !this.isOpen) return resolve([]);
        const { topics, code } = refusedIn(subscriptions, packet?.granted ?? []);
        this.subackCode = code;
        resolve(topics);
      });
    });
  }

  /** A PINGREQ round trip: true if everything sent before was read; false if the session ended first. */
  prove(): Promise<boolean> {
    const client = this.#client;
    if (!client || !this.isOpen || this.#isDisconnecting) return Promise.resolve(false);
    this.#stream?.flush();
    this.#watch.requested("PINGREQ");
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
    if (!this.#stream || !this.isOpen || this.#isDisconnecting) return done({ result: "lost" });
    this.#publishes.send(message, bytes, done);
  }

  #transmit(message: Message, bytes: number, onLeft: (() => void) | null): number {
    const retain = message.retain && this.retainAvailable;
    const id = this.#stream?.send(message, retain, bytes, onLeft) ?? 0;
    if (onLeft !== null) this.#pings.wrote(message.topic, bytes);
    return id;
  }

  #acknowledged(id: number, reason: number): void {
    if (!this.isOpen) return;
    this.#publishes.acknowledged(id, reason, () => {
      this.#acks += 1;
    });
  }

  /** Ends without DISCONNECT; the broker then publishes the will. */
  abort(text: string, needsHands = false): void {
    this.#isLocalEnd = true;
    this.#end({ text, needsHands });
  }

  /**
   * DISCONNECT; cuts the connection after `timeoutMs` if the broker does not accept it. With `publishWill` an MQTT 5
   * broker publishes the will; any broker does if publishes are still in flight, because the connection is then cut.
   */
  async disconnect(
    timeoutMs: number,
    publishWill: boolean,
    failure: LinkFailure | null,
  ): Promise<void> {
    const client = this.#client;
    this.#isLocalEnd = true;
    if (!client || !this.isOpen || this.#publishes.isBusy) return this.#end(failure);
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

  #tooLargeInbound(packet: TooLargePacket): void {
    this.#tooLarge = packet;
    this.abort(tooLargeInbound(packet), true);
  }

  #noteConnectSent(): void {
    if (this.#connectSent) return;
    this.#connectSent = true;
    this.#events?.onConnectSent();
  }

  #quoted(failure: LinkFailure): LinkFailure {
    return this.#brokerText === null ? failure : { ...failure, brokerText: this.#brokerText };
  }

  #end(failure: LinkFailure | null): void {
    const finish = this.#finish;
    if (finish === null) return;
    this.#finish = null;
    if (!this.#isDisconnecting) this.#failure = failure;
    this.#watch.stop();
    const byPeer = !this.#isLocalEnd;
    const isIsolated = this.#traits.isolate && this.inflightMax === 1;
    const publishes = this.#publishes.take({ byPeer, isIsolated, code: this.#code });
    // Destroys the socket and releases the client; its callbacks find nothing pending any more.
    this.#client?.end(true);
    this.#stream?.destroy();
    const { unprovenBytesMax: largestUnproven, unprovenTopic } = this.#pings;
    this.#pings.lose();
    publishes.end();
    finish({
      failure: this.#failure,
      wasOpen: this.#connack !== null,
      connectSent: this.#connectSent,
      isConnectUnanswered:
        this.#connectSent && this.#connack === null && this.#code === null && !this.#isLocalEnd,
      code: this.#code,
      brokeWithInflight: publishes.brokeWithInflight,
      culprit: publishes.culprit,
      suspect: publishes.suspect,
      byPeer,
      tooLarge: this.#tooLarge,
      largestInflight: publishes.largestInflight,
      largestUnproven,
      unprovenTopic,
      acks: this.#acks,
    });
  }
}
