import type { IClientOptions } from "mqtt";
import { clientPacketIds } from "./packet-ids.ts";

/** The message the broker publishes for us when the session ends without our word. */
export interface Will {
  readonly topic: string;
  readonly payload: string | Uint8Array;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  /** MQTT 5 only. */
  readonly contentType?: string;
}

/** A message from the broker; the last four are MQTT 5 only. */
export interface InboundMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly responseTopic?: string;
  readonly correlationData?: Buffer;
  readonly contentType?: string;
  readonly userProperties?: Readonly<Record<string, string | string[]>>;
}

export interface Subscription {
  readonly topic: string;
  readonly qos: 0 | 1;
}

/** What a CONNACK granted. */
export interface SessionInfo {
  readonly session: number;
  /** Announced limits; null where the broker named none (MQTT 3.1.1 never does). */
  readonly receiveMaximum: number | null;
  readonly maximumPacketSize: number | null;
  readonly retainAvailable: boolean;
}

export interface LinkHooks {
  /** `ready` lets publishers through once this has resolved: births and states go out first. */
  onConnected?(info: SessionInfo): void | Promise<void>;
  onMessage?(message: InboundMessage): void;
  /** Once per session that was open. */
  onDisconnected?(reason: string): void;
}

export interface MqttLinkOptions {
  readonly name: "mqtt" | "sparkplug";
  /** mqtt:, mqtts:, ws: or wss:; user name and password in it are used where the fields below give none. */
  readonly url: string;
  readonly version: 4 | 5;
  readonly clientId: string;
  readonly username?: string;
  readonly password?: string;
  /** PEM texts. Server certificates are verified in any case. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /**
   * Asked once for each CONNECT, before it. `isUnused` is true when the last will never left because that attempt ended
   * before a CONNECT could be sent (sparkplug trap 1: a refused TCP connection does not use up a bdSeq).
   */
  readonly will?: (isUnused: boolean) => Will;
  readonly subscriptions?: readonly Subscription[];
  /** MQTT_INFLIGHT: QoS 1 publishes awaiting PUBACK at once. */
  readonly inflight: number;
  /** MQTT_REQUIRE_SUBSCRIBER: PUBACK 0x10 is a refusal. */
  readonly requireSubscriber?: boolean;
  /** Reason code of our DISCONNECT (MQTT 5): 0, or 4 to have the will published. */
  readonly disconnectReason?: 0 | 4;
  readonly keepaliveS?: number;
  readonly connectTimeoutMs?: number;
  /** Longest silence of the broker while publishes await their PUBACK. */
  readonly ackTimeoutMs?: number;
  readonly backoffMinMs?: number;
  readonly backoffMaxMs?: number;
}

/** A dead peer is noticed after 1.5 × this; also keeps NAT entries of cellular routers alive. */
export const KEEPALIVE_S = 30;
/** From the start of the connection to CONNACK: name, TCP, TLS and web socket included. */
export const CONNECT_TIMEOUT_MS = 20_000;
/** No PUBACK for this long with publishes in flight: the link is half open, or the broker has lost them. */
export const ACK_TIMEOUT_MS = 30_000;
/** What we accept from the broker: commands and host states are small, so a flood cannot fill memory. */
const INBOUND_PACKET_BYTES_MAX = 1_048_576;
const INBOUND_RECEIVE_MAXIMUM = 20;

/** The address without user name, password and query: for logs, states and answers. */
export function publicUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
}

/** What mqtt.js needs for one attempt: its own queue, store, reconnect and resubscribe are all off. */
export function clientOptions(options: MqttLinkOptions, will: Will | null): IClientOptions {
  const url = new URL(options.url);
  const scheme = url.protocol.replace(/:$/, "");
  if (scheme !== "mqtt" && scheme !== "mqtts" && scheme !== "ws" && scheme !== "wss") {
    throw new Error(`MQTT_URL: unknown scheme ${url.protocol}`);
  }
  const isWebSocket = scheme === "ws" || scheme === "wss";
  const isV5 = options.version === 5;
  // The URL writes IPv6 addresses in brackets, a socket wants them bare.
  const host = isWebSocket ? url.hostname : url.hostname.replace(/^\[(.*)\]$/, "$1");
  const username = options.username ?? (decodeURIComponent(url.username) || undefined);
  const password = options.password ?? (decodeURIComponent(url.password) || undefined);
  const connect: IClientOptions = {
    protocol: scheme,
    host,
    hostname: host,
    protocolVersion: options.version,
    clientId: options.clientId,
    clean: true,
    keepalive: options.keepaliveS ?? KEEPALIVE_S,
    connectTimeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    messageIdProvider: clientPacketIds(),
    // A ping every keep-alive interval costs less than to put it off with each acknowledgement.
    reschedulePings: false,
    // A table of 65,536 ready-made packet ids costs 8 MB for as long as the process lives.
    writeCache: false,
    // mqtt.js traces a dozen lines per message; even switched off they cost a tenth of its time.
    log: () => {},
  };
  if (url.port !== "") connect.port = Number(url.port);
  if (isWebSocket) connect.path = `${url.pathname}${url.search}`;
  if (username !== undefined) connect.username = username;
  if (password !== undefined) connect.password = password;
  if (isV5) {
    connect.properties = {
      sessionExpiryInterval: 0,
      receiveMaximum: INBOUND_RECEIVE_MAXIMUM,
      maximumPacketSize: INBOUND_PACKET_BYTES_MAX,
    };
  }
  if (will) {
    connect.will = {
      topic: will.topic,
      payload: Buffer.from(will.payload),
      qos: will.qos,
      retain: will.retain,
      ...(isV5 && will.contentType !== undefined
        ? { properties: { contentType: will.contentType } }
        : {}),
    };
  }
  // mqtt.js would quietly turn mqtt: into mqtts: when given a certificate, so TLS fields go with TLS schemes alone.
  if (scheme === "mqtts" || scheme === "wss") {
    connect.rejectUnauthorized = true;
    if (options.tls?.ca !== undefined) connect.ca = options.tls.ca;
    if (options.tls?.cert !== undefined) connect.cert = options.tls.cert;
    if (options.tls?.key !== undefined) connect.key = options.tls.key;
  }
  return connect;
}
