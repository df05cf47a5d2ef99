import { connect } from "node:net";
import { now } from "./link-options.ts";
import { BROKER_PORTS, openTunnel } from "./tunnel.ts";

const REACH_MS = 5_000;

/** Whether something accepts connections there. No MQTT: a CONNECT with our id would end our own session. */
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
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname.replace(/^\[(.*)\]$/, "$1"),
      port: port === "" ? (BROKER_PORTS[protocol] ?? 0) : Number(port),
      timeout: REACH_MS,
    });
    const end = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once("connect", () => end(true));
    socket.once("timeout", () => end(false));
    socket.once("error", () => end(false));
  });
}
