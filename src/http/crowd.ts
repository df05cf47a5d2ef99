import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Connections at once; with the deadlines of limits.ts, this limits what a flood of them can hold. */
const CONNECTIONS_MAX = 256;
/** Above this, an idle connection makes room for each new one. */
const CROWDED = 192;

interface Guest {
  readonly socket: Socket;
  /** Null: nothing was requested yet, or it is answered. */
  readonly request: IncomingMessage | null;
  readonly response: ServerResponse | null;
}

/**
 * Keeps the server reachable under a flood of connections: when many more arrive, those without a complete request, or
 * with a finished one, are closed, oldest first. A complete request is always answered. Returns a function that closes
 * all of them: the server itself does not know connections that are still in their TLS handshake.
 */
export function keepDoorOpen(server: Server): () => void {
  // By address and port, because TLS has a second socket for the same connection. The most recently used is last.
  const guests = new Map<string, Guest>();
  server.maxConnections = CONNECTIONS_MAX;
  server.on("connection", (socket: Socket) => {
    if (guests.size >= CROWDED) cutOldestIdle(guests);
    const peer = peerOf(socket);
    guests.set(peer, { socket, request: null, response: null });
    socket.once("close", () => {
      if (guests.get(peer)?.socket === socket) guests.delete(peer);
    });
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const peer = peerOf(request.socket);
    const guest = guests.get(peer);
    if (guest === undefined) return;
    guests.delete(peer);
    guests.set(peer, { ...guest, request, response });
    response.once("close", () => {
      if (guests.get(peer)?.request === request)
        guests.set(peer, { ...guest, request: null, response: null });
    });
  });
  server.on("timeout", (socket: Socket) => {
    if (!isWaiting(guests.get(peerOf(socket)))) socket.destroy();
  });
  return () => {
    for (const { socket } of guests.values()) socket.destroy();
  };
}

/** For our answer: the silence is ours, not the client's. */
function isWaiting(guest: Guest | undefined): boolean {
  return guest?.request?.complete === true && guest.response?.headersSent === false;
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}/${remotePort}`;

function cutOldestIdle(guests: Map<string, Guest>): void {
  for (const [peer, { socket, request }] of guests) {
    // A body that is still arriving is not a complete request.
    if (request?.complete === true) continue;
    guests.delete(peer);
    socket.destroy();
    return;
  }
}
