import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Connections at once; with the deadlines of limits.ts, this limits what a flood of them can hold. */
const CONNECTIONS_MAX = 256;
/** Above this, an idle connection makes room for each new one. */
const CROWDED = 192;

interface ClientConnection {
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
export function limitConnections(server: Server): () => void {
  // By address and port, because TLS has a second socket for the same connection. The most recently used is last.
  const connections = new Map<string, ClientConnection>();
  server.maxConnections = CONNECTIONS_MAX;
  server.on("connection", (socket: Socket) => {
    // Reset before it was accepted: nobody waits for a response, and what it sent would have no sender.
    if (socket.remoteAddress === undefined) return void socket.destroy();
    if (connections.size >= CROWDED) cutOldestIdle(connections);
    const peer = peerOf(socket);
    connections.set(peer, { socket, request: null, response: null });
    socket.once("close", () => {
      if (connections.get(peer)?.socket === socket) connections.delete(peer);
    });
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const peer = peerOf(request.socket);
    const connection = connections.get(peer);
    if (connection === undefined) return;
    connections.delete(peer);
    connections.set(peer, { ...connection, request, response });
    response.once("close", () => {
      if (connections.get(peer)?.request === request)
        connections.set(peer, { ...connection, request: null, response: null });
    });
  });
  server.on("timeout", (socket: Socket) => {
    if (!isWaiting(connections.get(peerOf(socket)))) socket.destroy();
  });
  return () => {
    for (const { socket } of connections.values()) socket.destroy();
  };
}

/** For our answer: the silence is ours, not the client's. */
function isWaiting(connection: ClientConnection | undefined): boolean {
  return connection?.request?.complete === true && connection.response?.headersSent === false;
}

/** A connection, where TLS has a second socket for the same one. */
export const peerOf = ({ remoteAddress, remotePort }: Socket): string =>
  `${remoteAddress}/${remotePort}`;

function cutOldestIdle(connections: Map<string, ClientConnection>): void {
  for (const [peer, { socket, request }] of connections) {
    // A body that is still arriving is not a complete request.
    if (request?.complete === true) continue;
    connections.delete(peer);
    socket.destroy();
    return;
  }
}
