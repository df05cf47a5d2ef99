import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { type Packet, parser } from "mqtt-packet";
import { freePort } from "../../support/mosquitto.ts";

/** One client connection through the tap. */
interface TappedConnection {
  /** What the client sent, in order. */
  readonly packets: Packet[];
  /** What the broker sent, in order. */
  readonly received: Packet[];
  isOpen: boolean;
}

/** A TCP relay in front of a broker that reads what clients say, cuts, swallows and refuses. */
export interface Tap {
  readonly url: string;
  readonly connections: TappedConnection[];
  /** Ends every connection on both sides, as a pulled plug does. */
  cut(): void;
  /** From now on what clients send is read and thrown away: the broker never sees it. */
  swallow(isSwallowing: boolean): void;
  /** Nothing listens any more (connection refused), or again. */
  refuse(isRefusing: boolean): Promise<void>;
  close(): Promise<void>;
}

export async function startTap(brokerPort: number, version: 4 | 5 = 5): Promise<Tap> {
  const connections: TappedConnection[] = [];
  const sockets = new Set<Socket>();
  let isSwallowing = false;
  const server = createServer((client) => {
    const broker = connect(brokerPort, "127.0.0.1");
    const seen: TappedConnection = { packets: [], received: [], isOpen: true };
    connections.push(seen);
    const read = parser({ protocolVersion: version });
    read.on("packet", (packet) => seen.packets.push(packet));
    client.on("data", (chunk: Buffer) => {
      read.parse(chunk);
      if (!isSwallowing) broker.write(chunk);
    });
    const readBroker = parser({ protocolVersion: version });
    readBroker.on("packet", (packet) => seen.received.push(packet));
    broker.on("data", (chunk: Buffer) => {
      readBroker.parse(chunk);
      client.write(chunk);
    });
    for (const [one, other] of [
      [client, broker],
      [broker, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => {});
      one.on("end", () => other.end());
      one.on("close", () => {
        seen.isOpen = false;
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  const listen = async (port: number) => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  };
  const port = await freePort();
  await listen(port);
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const stop = async () => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    cut();
    await closed;
  };
  return {
    url: `mqtt://127.0.0.1:${port}`,
    connections,
    cut,
    swallow: (value) => {
      isSwallowing = value;
    },
    refuse: (isRefusing) => (isRefusing ? stop() : listen(port)),
    close: stop,
  };
}
