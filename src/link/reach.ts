import { connect } from "node:net";

const REACH_MS = 5_000;
const PORTS: Readonly<Record<string, number>> = {
  "mqtt:": 1883,
  "mqtts:": 8883,
  "ws:": 80,
  "wss:": 443,
};

/** Whether something accepts connections there. No MQTT: a CONNECT with our id would end our own session. */
export function isReachable(url: string): Promise<boolean> {
  const { protocol, hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname.replace(/^\[(.*)\]$/, "$1"),
      port: port === "" ? (PORTS[protocol] ?? 0) : Number(port),
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
