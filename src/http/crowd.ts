import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Connections at once; together with the deadlines of limits.ts, what a flood of them can hold. */
const CONNECTIONS_MAX = 256;
/** Above this, one that asks nothing makes room for each that comes. */
const CROWDED = 192;

interface Guest {
  readonly socket: Socket;
  /** Null: nothing was asked yet, or it is answered. */
  readonly request: IncomingMessage | null;
}

/**
 * Keeps the door open in a crowd: connections that have not said what they want, or have had their answer, are cut, the
 * oldest first, when many more come. Who asks something whole is answered. Answers a way to cut all of them: the server itself
 * knows none that are still in their TLS handshake.
 */
export function keepDoorOpen(server: Server): () => void {
  // By address and port, as TLS has a second socket for the same connection. Last is what was used last.
  const guests = new Map<string, Guest>();
  server.maxConnections = CONNECTIONS_MAX;
  server.on("connection", (socket: Socket) => {
    if (guests.size >= CROWDED) cutOldestIdle(guests);
    const peer = peerOf(socket);
    guests.set(peer, { socket, request: null });
    socket.once("close", () => {
      if (guests.get(peer)?.socket === socket) guests.delete(peer);
    });
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const peer = peerOf(request.socket);
    const guest = guests.get(peer);
    if (guest === undefined) return;
    guests.delete(peer);
    guests.set(peer, { ...guest, request });
    response.once("close", () => {
      if (guests.get(peer)?.request === request) guests.set(peer, { ...guest, request: null });
    });
  });
  return () => {
    for (const { socket } of guests.values()) socket.destroy();
  };
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}/${remotePort}`;

function cutOldestIdle(guests: Map<string, Guest>): void {
  for (const [peer, { socket, request }] of guests) {
    // A body that is still on its way is no question yet.
    if (request?.complete === true) continue;
    guests.delete(peer);
    socket.destroy();
    return;
  }
}
