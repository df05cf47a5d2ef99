import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import {
  generate,
  type IConnectPacket,
  type IPublishPacket,
  type Packet,
  parser,
} from "mqtt-packet";
import type { BrokerTls } from "../../core/collect-options.ts";
import { messageOf } from "../../core/thrown.ts";
import { type BrokerAddress, tlsOptions } from "../broker-url.ts";
import { CLOSED, CLOSED_UNANSWERED, connectRefusal, lackOf } from "./refusal.ts";

/** Name, TCP, TLS and CONNACK together, ms. */
const CONNECT_TIMEOUT_MS = 20_000;
const TICK_MS = 1000;
const KEEPALIVE_S = 30;
/** QoS 1 messages that the broker may send before it waits for us: enough for two batches. */
const RECEIVE_MAXIMUM = 10_000;
/** Sessions survive a week without any collector; after that it is up to the broker. */
const SESSION_EXPIRY_S = 7 * 86_400;
/** Four times what is accepted. A larger message would be held in memory completely; the broker drops it (MQTT 5, 3.1.2.11.4). */
const PACKET_BYTES_MAX = 16 << 20;

export interface MqttSessionOptions {
  readonly address: BrokerAddress;
  readonly tls: BrokerTls;
  readonly clientId: string;
  /** True for a session that ends with its connection; otherwise it is kept. */
  readonly isTransient?: boolean;
  /** 4 is MQTT 3.1.1, which has no shared subscriptions; 5 by default. */
  readonly protocolVersion?: 4 | 5;
  onPublish(packet: IPublishPacket): void;
  onClose(reason: string): void;
}

export interface Granted {
  readonly sessionPresent: boolean;
  /** What a collector needs and the broker does not have; null if nothing. */
  readonly lack: string | null;
  /** How long the broker keeps the session, if it says so, s. */
  readonly sessionExpiryS: number | null;
}

/**
 * An MQTT connection that receives, and clears retained messages. The caller decides when PUBACK is sent, because a message is acknowledged
 * only after its commit. mqtt.js can do that only with one message at a time, so packets are read and written with
 * mqtt-packet here.
 */
export class MqttConnection {
  readonly #options: MqttSessionOptions;
  readonly #socket: Socket;
  #pings: NodeJS.Timeout | undefined;
  #isOpen = false;
  #isPaused = false;
  #closedFor: string | null = null;
  /** Of the broker's last byte, ms. */
  #heardAt = performance.now();
  #acks: Buffer[] = [];
  readonly #pongs: (() => void)[] = [];
  #packetId = 0;
  readonly #version: 4 | 5;
  readonly #acknowledged = new Map<number, (codes: readonly number[]) => void>();
  #connected: ((granted: Granted | Error) => void) | null = null;

  constructor(options: MqttSessionOptions) {
    this.#options = options;
    this.#version = options.protocolVersion ?? 5;
    const { host, port, protocol } = options.address;
    this.#socket =
      protocol === "mqtts"
        ? connectTls({ host, port, servername: host, ...tlsOptions(options.tls) })
        : connectTcp({ host, port });
    this.#socket.setNoDelay(true);
    const read = parser({ protocolVersion: this.#version });
    read.on("packet", (packet: Packet) => this.#receive(packet));
    read.on("error", (error: Error) =>
      this.#close(`the broker sent something other than MQTT: ${error.message}`),
    );
    this.#socket.on("data", (bytes) => {
      this.#heardAt = performance.now();
      read.parse(bytes);
    });
    this.#socket.on("error", (error) => this.#close(messageOf(error)));
    this.#socket.on("close", () =>
      this.#close(this.#version === 5 && this.#connected !== null ? CLOSED_UNANSWERED : CLOSED),
    );
  }

  /** Resolves with CONNACK; rejects if the broker refuses or does not respond. */
  open(): Promise<Granted> {
    const { address, clientId, isTransient } = this.#options;
    this.#socket.once(address.protocol === "mqtts" ? "secureConnect" : "connect", () => {
      const connect: IConnectPacket = {
        cmd: "connect",
        protocolId: "MQTT",
        protocolVersion: this.#version,
        clientId,
        clean: isTransient === true,
        keepalive: KEEPALIVE_S,
        ...(this.#version === 4
          ? {}
          : {
              properties: {
                receiveMaximum: RECEIVE_MAXIMUM,
                maximumPacketSize: PACKET_BYTES_MAX,
                ...(isTransient ? {} : { sessionExpiryInterval: SESSION_EXPIRY_S }),
              },
            }),
        ...(address.username === null ? {} : { username: address.username }),
        ...(address.password === null ? {} : { password: Buffer.from(address.password) }),
      };
      this.#write(generate(connect));
    });
    return new Promise((resolve, reject) => {
      const stop = this.#deadline(`no response within ${CONNECT_TIMEOUT_MS / 1000} s`);
      this.#connected = (outcome) => {
        stop();
        this.#connected = null;
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      };
      if (this.#closedFor !== null) this.#connected(new Error(this.#closedFor));
    });
  }

  /** Rejects if the broker does not grant QoS 1. */
  async subscribe(topics: readonly string[]): Promise<void> {
    const codes = await this.#request((messageId) =>
      generate(
        {
          cmd: "subscribe",
          messageId,
          // Only what was retained before arrives with its flag.
          subscriptions: topics.map((topic) => ({
            topic,
            qos: 1 as const,
            nl: false,
            rap: false,
            rh: 0,
          })),
        },
        { protocolVersion: this.#version },
      ),
    );
    const refused = codes.findIndex((code) => code !== 1);
    if (refused >= 0)
      throw new Error(`the broker refuses ${topics[refused]} (reason code ${codes[refused]})`);
  }

  async unsubscribe(topics: readonly string[]): Promise<void> {
    await this.#request((messageId) =>
      generate(
        { cmd: "unsubscribe", messageId, unsubscriptions: [...topics] },
        { protocolVersion: this.#version },
      ),
    );
  }

  /** An empty retained message. Rejects if the broker refuses it; one of MQTT 3.1.1 closes the connection, or cannot say. */
  async clearRetained(topic: string): Promise<void> {
    const [code = 0] = await this.#request((messageId) =>
      generate(
        { cmd: "publish", topic, payload: "", qos: 1, retain: true, dup: false, messageId },
        { protocolVersion: this.#version },
      ),
    );
    if (code >= 0x80) throw new Error(`the broker refuses ${topic} (reason code ${code})`);
  }

  /**
   * Resolves once the broker has answered a PINGREQ: everything it had to send before has arrived. Never resolves if
   * the connection ends first, which `onClose` reports.
   */
  roundTrip(): Promise<void> {
    return new Promise((resolve) => {
      this.#pongs.push(resolve);
      this.#write(generate({ cmd: "pingreq" }));
    });
  }

  /** PUBACK with success; sent by `flush`. */
  acknowledge(messageId: number): void {
    if (!this.#isOpen) return;
    const ack = Buffer.allocUnsafe(4);
    ack.writeUInt16BE(0x4002, 0);
    ack.writeUInt16BE(messageId, 2);
    this.#acks.push(ack);
  }

  flush(): void {
    if (this.#acks.length === 0) return;
    const acks = Buffer.concat(this.#acks);
    this.#acks = [];
    this.#write(acks);
  }

  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#heardAt = performance.now();
    this.#socket.resume();
  }

  /** DISCONNECT; `endSession` also ends the session at the broker. */
  end(endSession: boolean): void {
    if (!this.#isOpen) return this.#close("ended");
    this.flush();
    const properties = endSession ? { properties: { sessionExpiryInterval: 0 } } : {};
    this.#write(
      generate(
        { cmd: "disconnect", reasonCode: 0, ...properties },
        { protocolVersion: this.#version },
      ),
    );
    this.#socket.end();
    this.#close("ended");
  }

  #receive(packet: Packet): void {
    if (packet.cmd === "publish") this.#options.onPublish(packet);
    else if (packet.cmd === "connack") {
      const code = packet.reasonCode ?? packet.returnCode ?? 0;
      if (code !== 0) return this.#close(connectRefusal(code));
      this.#isOpen = true;
      this.#pings = setInterval(() => this.#ping(), (KEEPALIVE_S * 1000) / 2);
      this.#connected?.({
        sessionPresent: packet.sessionPresent,
        lack: lackOf(packet.properties),
        sessionExpiryS: packet.properties?.sessionExpiryInterval ?? null,
      });
    } else if (packet.cmd === "suback" || packet.cmd === "unsuback") {
      const { messageId } = packet;
      const codes = packet.cmd === "suback" ? packet.granted : [];
      const numbers = codes.map((code) => (typeof code === "number" ? code : 0x80));
      if (messageId !== undefined) this.#acknowledged.get(messageId)?.(numbers);
    } else if (packet.cmd === "puback") {
      const { messageId, reasonCode = 0 } = packet;
      if (messageId !== undefined) this.#acknowledged.get(messageId)?.([reasonCode]);
    } else if (packet.cmd === "pingresp") {
      for (const resolve of this.#pongs.splice(0)) resolve();
    } else if (packet.cmd === "disconnect") {
      this.#close(`the broker ended the session (reason code ${packet.reasonCode ?? 0})`);
    }
  }

  #request(packet: (messageId: number) => Buffer): Promise<readonly number[]> {
    this.#packetId = (this.#packetId % 65_535) + 1;
    const messageId = this.#packetId;
    return new Promise((resolve, reject) => {
      const stop = this.#deadline("the broker did not acknowledge a request");
      this.#acknowledged.set(messageId, (codes) => {
        stop();
        this.#acknowledged.delete(messageId);
        if (this.#closedFor === null) resolve(codes);
        else reject(new Error(this.#closedFor));
      });
      this.#write(packet(messageId));
    });
  }

  /** Closes the connection unless it is stopped in time, which does not pass while nothing is read. */
  #deadline(reason: string): () => void {
    let waitedMs = 0;
    const timer = setInterval(() => {
      if (!this.#isPaused) waitedMs += TICK_MS;
      if (waitedMs >= CONNECT_TIMEOUT_MS) this.#close(reason);
    }, TICK_MS);
    return () => clearInterval(timer);
  }

  /** A paused connection receives nothing but still sends pings. */
  #ping(): void {
    if (this.#isPaused) this.#heardAt = performance.now();
    if (performance.now() - this.#heardAt > KEEPALIVE_S * 1500)
      return this.#close("the broker is silent");
    this.#write(generate({ cmd: "pingreq" }));
  }

  #write(bytes: Buffer): void {
    if (this.#socket.writable) this.#socket.write(bytes);
  }

  #close(reason: string): void {
    if (this.#closedFor !== null) return;
    this.#closedFor = reason;
    this.#isOpen = false;
    clearInterval(this.#pings);
    if (reason !== "ended") this.#socket.destroy();
    else setTimeout(() => this.#socket.destroy(), 1000).unref();
    this.#connected?.(new Error(reason));
    for (const done of this.#acknowledged.values()) done([]);
    this.#options.onClose(reason);
  }
}
