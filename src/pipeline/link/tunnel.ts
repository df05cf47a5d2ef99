/** The way to a broker through an HTTP proxy: a tunnel (CONNECT), in which everything else happens as without one. */
import { request } from "node:http";
import { isIP, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import mqtt, { type IClientOptions, type MqttClient } from "mqtt";
import { triedAddresses } from "../../core/addresses/tried-addresses.ts";
import { codeOf, messageOf } from "../../core/thrown.ts";
import { withinMs } from "../../lib/time-limit.ts";
import { basicAuthorization, loginOf } from "../../lib/url-login.ts";
import type { LinkFailure } from "./link-errors.ts";

export const BROKER_PORTS: Readonly<Record<string, number>> = {
  "mqtt:": 1883,
  "mqtts:": 8883,
  "ws:": 80,
  "wss:": 443,
};

/** Why there is no tunnel. */
export class TunnelError extends Error {
  readonly failure: LinkFailure;

  constructor(text: string, needsHands: boolean) {
    super(text);
    this.failure = { text, needsHands };
  }
}

/**
 * Asks the proxy for a connection to the host and port of `address`; it resolves the name. Rejects with TunnelError.
 * @param timeoutMs until the proxy has answered
 */
export function openTunnel(proxy: string, address: string, timeoutMs: number): Promise<Socket> {
  const { hostname, port } = new URL(proxy);
  const login = loginOf(new URL(proxy));
  const target = new URL(address);
  const authority = `${target.hostname}:${target.port || BROKER_PORTS[target.protocol]}`;
  const ask = (signal: AbortSignal) =>
    new Promise<Socket>((resolve, reject) => {
      const fail = (text: string, needsHands = false) => reject(new TunnelError(text, needsHands));
      const asking = request({
        method: "CONNECT",
        host: hostname.replace(/^\[(.*)\]$/, "$1"),
        port: port || 80,
        path: authority,
        agent: false,
        signal,
        headers: {
          host: authority,
          ...(login === null ? {} : { "proxy-authorization": basicAuthorization(login) }),
        },
      });
      asking.on("error", (err) => fail(...unreachable(err)));
      asking.on("connect", ({ statusCode = 0 }, socket: Socket, head) => {
        if (statusCode >= 200 && statusCode < 300) {
          if (head.length > 0) socket.unshift(head);
          return resolve(socket);
        }
        socket.destroy();
        fail(...refusal(statusCode, authority));
      });
      asking.end();
    });
  return withinMs(null, timeoutMs, ask);
}

function refusal(status: number, authority: string): [text: string, needsHands: boolean] {
  if (status === 407)
    return [
      "the proxy requires a user name and password, or refuses the given ones (HTTP 407): check those for MQTT_PROXY",
      true,
    ];
  if (status >= 500) return [`the proxy has no connection to ${authority} (HTTP ${status})`, false];
  return [
    `the proxy refuses a tunnel (CONNECT) to ${authority} (HTTP ${status}): it must permit that host and port`,
    true,
  ];
}

function unreachable(err: Error): [text: string, needsHands: boolean] {
  const text = UNREACHABLE[String(codeOf(err))];
  return [
    `${text ?? `no tunnel through the proxy: ${messageOf(err)}`}${triedAddresses(err)}`,
    false,
  ];
}

const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing accepts connections at the proxy's address and port: check MQTT_PROXY",
  ENOTFOUND: "the proxy's host name cannot be resolved: check MQTT_PROXY",
  EAI_AGAIN: "the proxy's host name cannot be resolved: check MQTT_PROXY",
  ABORT_ERR: "the proxy did not answer in time",
  ECONNRESET: "the proxy closed the connection without a response",
};

type IdentityCheck = NonNullable<ConnectionOptions["checkServerIdentity"]>;

/** A client of mqtt.js over a tunnel, or over its own connection; the check takes the place of Node's own. */
export function openClient(
  options: IClientOptions,
  tunnel: Socket | null,
  checkServerIdentity: IdentityCheck,
): MqttClient {
  const { protocol, host = "", ca, cert, key } = options;
  // The types of mqtt.js and ws do not know it, but all of these options go to `tls.connect`.
  const check: object = { checkServerIdentity };
  if (protocol === "mqtts")
    return mqtt.connect(Object.assign(options, check, tunnel === null ? {} : { socket: tunnel }));
  if (protocol === "wss" && tunnel === null)
    return mqtt.connect({ ...options, wsOptions: { ...options.wsOptions, ...check } });
  if (tunnel === null) return mqtt.connect(options);
  if (protocol === "mqtt") return new mqtt.MqttClient(() => tunnel, options);
  const tls = { ca, cert, key, ...check, ...(isIP(host) === 0 ? { servername: host } : {}) };
  const createConnection = () =>
    protocol === "wss" ? connectTls({ ...tls, socket: tunnel }) : tunnel;
  return mqtt.connect({ ...options, wsOptions: { ...options.wsOptions, createConnection } });
}
