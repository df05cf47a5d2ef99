import { acceptsConnections } from "../../lib/accepts-connections.ts";
import { now } from "./link-options.ts";
import { BROKER_PORTS, openTunnel } from "./tunnel.ts";

const REACH_MS = 5_000;

/** Whether something accepts connections there, or the proxy reaches it. */
export async function isReachable(url: string, proxy?: string | (() => string)): Promise<boolean> {
  if (proxy !== undefined) {
    try {
      (await openTunnel(now(proxy), url, REACH_MS)).destroy();
      return true;
    } catch {
      return false;
    }
  }
  const { protocol, hostname, port } = new URL(url);
  return acceptsConnections(
    hostname.replace(/^\[(.*)\]$/, "$1"),
    port === "" ? (BROKER_PORTS[protocol] ?? 0) : Number(port),
    REACH_MS,
  );
}
