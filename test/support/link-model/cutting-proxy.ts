/** Between a client and a broker: cuts and holds connections where it is told to, in the middle of a packet, too. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** `up`: from the client to the broker. */
export const DIRECTIONS = ["up", "down"] as const;
export type Direction = (typeof DIRECTIONS)[number];

export interface Cut {
  readonly direction: Direction;
  /** Passed on in that direction before the connection is cut. */
  readonly bytes: number;
  /** With a reset, or in good order. */
  readonly isReset: boolean;
}

export interface CuttingProxy {
  readonly url: string;
  cut(cut: Cut): void;
  /** What comes in that direction waits. */
  hold(direction: Direction): void;
  /** Nothing is held or cut any more. */
  free(): void;
  close(): Promise<void>;
}

export async function startCuttingProxy(brokerPort: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  const held = new Map<Direction, Set<() => void>>();
  let cut: (Cut & { left: number }) | null = null;

  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
  };
  const pass = (from: Socket, to: Socket, direction: Direction) => {
    const write = (chunk: Buffer) => {
      if (cut?.direction !== direction) return void to.write(chunk);
      const { isReset } = cut;
      const part = chunk.subarray(0, cut.left);
      cut.left -= part.length;
      if (cut.left > 0) return void to.write(part);
      cut = null;
      to.write(part, () => {
        for (const socket of [from, to])
          if (isReset) socket.resetAndDestroy();
          else socket.end();
      });
    };
    from.on("data", (chunk: Buffer) => {
      const waiting = held.get(direction);
      if (waiting === undefined) write(chunk);
      else waiting.add(() => write(chunk));
    });
    from.on("end", () => to.end());
    from.on("close", () => to.destroy());
  };
  const server = createServer((client) => {
    const broker = connect(brokerPort, "127.0.0.1");
    track(client);
    track(broker);
    pass(client, broker, "up");
    pass(broker, client, "down");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `mqtt://127.0.0.1:${port}`,
    cut: (next) => {
      cut = { ...next, left: next.bytes };
    },
    hold: (direction) => {
      if (!held.has(direction)) held.set(direction, new Set());
    },
    free: () => {
      cut = null;
      for (const [direction, waiting] of held) {
        held.delete(direction);
        for (const write of waiting) write();
      }
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
