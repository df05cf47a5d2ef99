/** One HTTP proxy for every request over it. */
import { ProxyAgent } from "undici";

export interface ProxyOptions {
  /** http(s)://[user:password@]host:port */
  readonly proxy: string;
  /** PEM of authorities for the far end, beside the public ones; null for these alone. */
  readonly ca: readonly string[] | null;
  readonly connectMs: number;
  readonly keepAliveMs: number;
}

/**
 * https goes through a tunnel (CONNECT), so that the proxy sees no content. Plain http is asked of the proxy as a whole address:
 * many proxies allow CONNECT to port 443 alone.
 */
export function proxyAgent({ proxy, ca, connectMs, keepAliveMs }: ProxyOptions): ProxyAgent {
  const { origin, username, password } = new URL(proxy);
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return new ProxyAgent({
    uri: origin,
    proxyTunnel: false,
    ...(username === "" ? {} : { token: `Basic ${Buffer.from(pair).toString("base64")}` }),
    requestTls: { timeout: connectMs, ...(ca === null ? {} : { ca: [...ca] }) },
    proxyTls: { timeout: connectMs },
    connections: 1,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
