/** Answers people who type the address of the https port without `https://`: browsers show an empty page otherwise. */
import type { Server } from "node:https";
import type { Socket } from "node:net";
import { peerOf } from "./limit-connections.ts";

const TEXT = "This port speaks https: write https:// in front of the address.\n";
const ANSWER = [
  // Commands show this line alone.
  "HTTP/1.1 400 This port speaks https",
  "Connection: close",
  "Content-Type: text/plain; charset=utf-8",
  `Content-Length: ${TEXT.length}`,
  "Cache-Control: no-store",
  "X-Content-Type-Options: nosniff",
  "",
  TEXT,
].join("\r\n");

export function answerPlainRequests(server: Server): void {
  // By address and port: the socket that TLS reads has no other link to the connection's own.
  const starting = new Map<string, Socket>();
  server.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    starting.set(peer, socket);
    socket.once("close", () => {
      if (starting.get(peer) === socket) starting.delete(peer);
    });
  });
  server.on("secureConnection", (socket) => starting.delete(peerOf(socket)));
  // First: others close the connection.
  server.prependListener("tlsClientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ERR_SSL_HTTP_REQUEST") starting.get(peerOf(socket))?.end(ANSWER);
  });
}
