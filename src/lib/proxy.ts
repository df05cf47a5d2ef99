/** One HTTP proxy for every request over it. */
import type { Socket } from "node:net";
import { buildConnector, Client, ProxyAgent } from "undici";
import { basicAuthorization, loginOf } from "./url-login.ts";

export interface ProxyOptions {
  /** http(s)://[user:password@]host:port */
  readonly proxy: string;
  /** PEM of CAs for the far end, in addition to the public ones; null for the public ones only. */
  readonly ca: readonly string[] | null;
  readonly connectMs: number;
  readonly keepAliveMs: number;
  /** Gets each connection that carries responses, decrypted, before any arrive. */
  readonly onSocket?: (socket: Socket) => void;
}

/**
 * https uses a tunnel (CONNECT), so that the proxy sees no content. Plain http is requested from the proxy by its
 * absolute URL: many proxies allow CONNECT only to port 443.
 */
export function proxyAgent({
  proxy,
  ca,
  connectMs,
  keepAliveMs,
  onSocket,
}: ProxyOptions): ProxyAgent {
  const url = new URL(proxy);
  const login = loginOf(url);
  return new ProxyAgent({
    uri: url.origin,
    proxyTunnel: false,
    ...(login === null ? {} : { token: basicAuthorization(login) }),
    requestTls: { timeout: connectMs, ...(ca === null ? {} : { ca: [...ca] }) },
    proxyTls: { timeout: connectMs },
    connections: 1,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(onSocket === undefined ? {} : { factory: watchedClient(onSocket) }),
  });
}

function watchedClient(onSocket: (socket: Socket) => void) {
  return (origin: string | URL, options: Client.Options): Client => {
    const connect =
      typeof options.connect === "function"
        ? options.connect
        : buildConnector({ ...options.connect });
    return new Client(origin, {
      ...options,
      connect: (target, callback) =>
        connect(target, (error, socket) => {
          if (error !== null) return callback(error, null);
          onSocket(socket);
          callback(null, socket);
        }),
    });
  };
}
