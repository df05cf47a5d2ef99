import { createServer, type Server, type Socket } from "node:net";
import { Aedes } from "aedes";
import { boundAddress } from "../lib/bound-address.ts";

export interface DemoBrokerOptions {
  /** 0 or absent = any free port. */
  readonly port?: number;
  /** Most connections at once; further ones are closed. Default 64. */
  readonly connectionsMax?: number;
}

export interface DemoBroker {
  readonly port: number;
  /** For MQTT_URL. MQTT 3.1.1 only, so MQTT_VERSION is 4. */
  readonly url: string;
  close(): Promise<void>;
}

/** What a client may send before its session is established; more ends the connection. */
const QUEUED_BEFORE_CONNECT_MAX = 42;

/** A small MQTT 3.1.1 broker for `demo`, in this process and only on loopback. It is not for plants. */
export async function startBroker(options: DemoBrokerOptions = {}): Promise<DemoBroker> {
  const broker = await Aedes.createBroker({
    queueLimit: QUEUED_BEFORE_CONNECT_MAX,
    connectTimeout: 10_000,
    maxClientsIdLength: 256,
  });
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    broker.handle(socket);
  });
  server.maxConnections = options.connectionsMax ?? 64;
  await new Promise<void>((resolve, reject) => {
    // The broker's heartbeat would keep the process alive.
    server.once("error", (error) => broker.close(() => reject(error)));
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = boundAddress(server);
  return {
    port,
    url: `mqtt://127.0.0.1:${port}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await new Promise<void>((resolve) => broker.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
