/**
 * A second HTTP listener on a socket in DATA_DIR: the commands on this machine find the agent that holds the directory
 * there, with any port (0 = any free one, off = none). No network reaches it; the token is required here too.
 */
import { chmodSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import type { FastifyRequest } from "fastify";
import { isSocketPath } from "../lib/paths.ts";
import { HEADERS_TIMEOUT_MS, KEEP_ALIVE_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from "./limits.ts";

/** The commands of one person. */
const CONNECTIONS_MAX = 16;

/** Marked by their listener. That a connection has no address says nothing: one over TCP that was reset has none either. */
const accepted = new WeakSet<Socket>();

/** A command on this machine: only its owner can open the socket; a port is open to every program on the machine. */
export function isLocalSocket({ raw }: Pick<FastifyRequest, "raw">): boolean {
  return accepted.has(raw.socket);
}

export class LocalSocket {
  readonly #path: string;
  readonly #server: Server;

  constructor(path: string, handler: RequestListener) {
    this.#path = path;
    this.#server = createServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      },
      handler,
    );
    this.#server.maxConnections = CONNECTIONS_MAX;
    this.#server.on("connection", (socket) => accepted.add(socket));
  }

  /** Rejects if the file system has no sockets, or the path is longer than the system allows. */
  async listen(): Promise<void> {
    if (!isSocketPath(this.#path)) throw new Error("the path is too long for a socket");
    // Left by a killed agent; no other agent can be using it, because the caller holds the directory.
    rmSync(this.#path, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#path, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
    chmodSync(this.#path, 0o600);
  }

  async close(graceMs: number): Promise<void> {
    if (!this.#server.listening) return;
    const cut = setTimeout(() => this.#server.closeAllConnections(), graceMs);
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeIdleConnections();
    });
    clearTimeout(cut);
  }
}
