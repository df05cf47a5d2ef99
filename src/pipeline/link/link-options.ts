import type { IClientOptions } from "mqtt";
import { type LinkHooks, type Subscription, type Will } from "../../core/delivery/link.ts";
import type { Runtime } from "../../core/ports.ts";
import type { Certificate } from "../../core/status/certificate.ts";
import { withPublicAuthorities } from "../../lib/authorities.ts";
import type { UplinkMetrics } from "../../lib/metrics.ts";
import { clientPacketIds } from "./client-stream.ts";

export interface TlsTexts {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface MqttLinkOptions {
  readonly name: "mqtt" | "sparkplug";
  /**
   * Addresses of one broker cluster, tried in turn: mqtt:, mqtts:, ws: or wss:, without user name and password.
   */
  readonly urls: readonly string[];
  readonly version: 4 | 5;
  readonly clientId: string;
  /** Functions are called before each connection attempt: tokens expire, and files are renewed. */
  readonly username?: string | (() => string);
  readonly password?: string | (() => string);
  /** PEM texts. Server certificates are verified in any case. */
  /** http://[user:password@]host:port of an HTTP proxy that opens a tunnel to the broker. */
  readonly proxy?: string | (() => string);
  /** Protocols offered in the TLS handshake of mqtts:. A web socket has its own. */
  readonly alpn?: readonly string[];
  readonly tls?: TlsTexts | (() => TlsTexts);
  /** Called once before each CONNECT (see `LinkNeeds`). */
  readonly will?: (isUnused: boolean) => Will | null;
  readonly subscriptions?: readonly Subscription[];
  /** Called with the chain of the broker, its own certificate first, whenever it is seen. */
  readonly onCertificates?: (chain: readonly Certificate[]) => void;
  /** Settings whose files do not change while the process runs: failures that name them say so. */
  readonly restartFiles?: readonly string[];
  /** A session requires all of its subscriptions: nothing is published before, and a refused one ends it. */
  readonly needsSubscriptions?: boolean;
  /** Name of an uplink of UPLINKS_FILE: failures name its members there. Absent: the settings MQTT_*. */
  readonly uplink?: string;
  /** MQTT_INFLIGHT: QoS 1 publishes in flight at once. */
  readonly inflight: number;
  /** Most publishes per second, of all users of the link together; absent or 0 = no limit. */
  readonly publishesPerS?: number;
  /** MQTT_REQUIRE_SUBSCRIBER: PUBACK 0x10 is a refusal. */
  readonly requireSubscriber?: boolean;
  /** Removes secrets from texts of the broker or a library before they are shown. */
  readonly redact?: (text: string) => string;
  readonly keepaliveS?: number;
  readonly connectTimeoutMs?: number;
  /** Longest silence of the broker while publishes await their PUBACK. */
  readonly ackTimeoutMs?: number;
  /** The client's own address is taken again once it is reachable: not where each new session costs births. */
  readonly returnsToOwn?: boolean;
  /** Between two looks at it. */
  readonly ownCheckMs?: number;
  /** Topics whose refusal ends sessions are tried in connections of their own: not where messages belong to a session. */
  readonly triesAside?: boolean;
  /** RECONNECT_SPREAD_S: longest pause after a lost session, and before the own address is taken again. */
  readonly backoffMinMs?: number;
  readonly backoffMaxMs?: number;
}

/** A dead peer is detected after 1.5 × this; also keeps NAT entries of cellular routers alive. */
const KEEPALIVE_S = 30;
/** From the start of the connection to CONNACK, including name lookup, TCP, TLS and web socket. */
export const CONNECT_TIMEOUT_MS = 20_000;
/** No PUBACK for this long with publishes in flight: the connection is half open, or the broker has lost them. */
export const ACK_TIMEOUT_MS = 30_000;
/** Longest wait for acknowledgements, and for the DISCONNECT to be sent, when a session is left. */
export const CLOSE_INFLIGHT_MS = 5000;
export const CLOSE_DISCONNECT_MS = 1000;
/** Limit for inbound packets: commands and host states are small, so a flood cannot fill memory. */
export const INBOUND_PACKET_BYTES_MAX = 1_048_576;
const WEB_SOCKET_BYTES_MAX = 2 * INBOUND_PACKET_BYTES_MAX;
const INBOUND_RECEIVE_MAXIMUM = 20;

/** Options of mqtt.js for one attempt: its own queue, store, reconnect and resubscribe are all off. */
export function clientOptions(
  options: MqttLinkOptions,
  address: string,
  will: Will | null,
): IClientOptions {
  const url = new URL(address);
  const scheme = url.protocol.replace(/:$/, "");
  if (scheme !== "mqtt" && scheme !== "mqtts" && scheme !== "ws" && scheme !== "wss") {
    throw new Error(`MQTT_URL: unknown scheme ${url.protocol}`);
  }
  const isWebSocket = scheme === "ws" || scheme === "wss";
  const isV5 = options.version === 5;
  // A URL writes IPv6 addresses in brackets, a socket expects them without.
  const host = isWebSocket ? url.hostname : url.hostname.replace(/^\[(.*)\]$/, "$1");
  const username = now(options.username);
  const password = now(options.password);
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
    // A ping every keep-alive interval costs less than postponing it with each acknowledgement.
    reschedulePings: false,
    // A table of 65,536 prepared packet ids costs 8 MB for the life of the process.
    writeCache: false,
    // mqtt.js traces a dozen lines per message; even disabled they cost a tenth of its time.
    log: () => {},
  };
  if (url.port !== "") connect.port = Number(url.port);
  if (isWebSocket) {
    connect.path = `${url.pathname}${url.search}`;
    // A web socket message is collected completely before any of it is seen; one may contain several packets.
    connect.wsOptions = { maxPayload: WEB_SOCKET_BYTES_MAX };
  }
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
  // mqtt.js would silently turn mqtt: into mqtts: if given a certificate, so TLS fields are set only with TLS schemes.
  if (scheme === "mqtts" || scheme === "wss") {
    connect.rejectUnauthorized = true;
    const { ca, cert, key } = now(options.tls) ?? {};
    if (ca !== undefined) connect.ca = withPublicAuthorities(ca);
    if (cert !== undefined) connect.cert = cert;
    if (key !== undefined) connect.key = key;
  }
  const { alpn = [] } = options;
  if (scheme === "mqtts" && alpn.length > 0) connect.ALPNProtocols = [...alpn];
  return connect;
}

/** What holds for this attempt. */
export function now<T extends string | TlsTexts | undefined>(given: T | (() => T)): T {
  return typeof given === "function" ? given() : given;
}

export interface MqttLinkParts extends Runtime {
  readonly metrics?: Pick<UplinkMetrics, "brokerConnects">;
  readonly hooks?: LinkHooks;
}
