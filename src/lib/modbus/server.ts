import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../core/ports.ts";
import { messageOf } from "../../core/thrown.ts";
import { aborted } from "../aborted.ts";
import { type ReadRegisters, respond, takeFrame } from "./frame.ts";

/** Clients at once, a few kB each; beyond it the next one is refused, unless one has been silent. */
const CLIENTS_MAX = 64;
/** A client that requests nothing for this long is considered gone, and its slot is freed. */
const IDLE_MS = 600_000;
/**
 * While all slots are taken, a client that requested nothing for this long gives its own up: a PLC that lost its
 * connection without an end leaves one behind each time it connects again.
 */
const SILENT_MS = 60_000;
/** Unread responses; a client that accumulates this many is disconnected. */
const UNREAD_BYTES_MAX = 64 * 1024;
/** Interval of retries for a port in use. */
const RETRY_MS = 15_000;

export interface ModbusServerOptions {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly retryMs?: number;
  readonly silentMs?: number;
}

interface ModbusServerParts {
  readonly read: ReadRegisters;
  readonly logger: Logger;
}

/** Read-only Modbus TCP over a register image. A bad frame closes its own connection and nothing else. */
export class ModbusServer {
  readonly #parts: ModbusServerParts;
  readonly #options: ModbusServerOptions;
  /** With the time of the last request, ms of the monotonic clock; the one silent longest is first. */
  readonly #clients = new Map<Socket, number>();
  #server: Server | null = null;
  #lastError: string | null = null;
  #hasWarnedOfClients = false;

  constructor(parts: ModbusServerParts, options: ModbusServerOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** host:port while it listens; null otherwise. */
  get address(): string | null {
    const address = this.#server?.address();
    if (address === null || address === undefined || typeof address === "string") return null;
    return `${address.family === "IPv6" ? `[${address.address}]` : address.address}:${address.port}`;
  }
  get clients(): number {
    return this.#clients.size;
  }
  /** Why it does not listen; null while it does. */
  get lastError(): string | null {
    return this.#lastError;
  }

  /** Listens until aborted. A port in use is retried: only Modbus clients are affected. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger } = this.#parts;
    const { retryMs = RETRY_MS } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#listen();
        this.#lastError = null;
        logger.info({ address: this.address }, "modbus listening");
        await aborted(signal);
      } catch (error) {
        const problem = messageOf(error);
        if (problem !== this.#lastError) {
          logger.error({ err: error }, "modbus cannot listen; trying again");
        }
        this.#lastError = problem;
        await sleep(retryMs, undefined, { signal }).catch(() => {});
      }
    }
    await this.#close();
  }

  #listen(): Promise<void> {
    const { host, port } = this.#options;
    const server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port }, () => {
        server.off("error", reject);
        // For example out of file descriptors: existing connections stay.
        server.on("error", (err) => this.#parts.logger.warn({ err }, "modbus connection failed"));
        this.#server = server;
        resolve();
      });
    });
  }

  #accept(socket: Socket): void {
    socket.on("error", () => socket.destroy());
    if (this.#clients.size >= CLIENTS_MAX && !this.#dropSilent()) {
      if (!this.#hasWarnedOfClients) {
        this.#parts.logger.warn(
          { clients: CLIENTS_MAX },
          "too many modbus clients; rejecting new ones",
        );
      }
      this.#hasWarnedOfClients = true;
      socket.destroy();
      return;
    }
    this.#clients.set(socket, performance.now());
    socket.once("close", () => this.#clients.delete(socket));
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    let received: Buffer = Buffer.alloc(0);
    socket.on("data", (piece: Buffer) => {
      received = received.length === 0 ? piece : Buffer.concat([received, piece]);
      for (;;) {
        const frame = takeFrame(received);
        if (frame === null) return;
        if (frame === "invalid" || socket.writableLength > UNREAD_BYTES_MAX) {
          socket.destroy();
          return;
        }
        received = received.subarray(frame.length);
        this.#clients.delete(socket);
        this.#clients.set(socket, performance.now());
        socket.write(respond(frame, this.#parts.read));
      }
    });
  }

  /** Frees the slot of the client that has been silent longest; false if none has been silent long enough. */
  #dropSilent(): boolean {
    const { silentMs = SILENT_MS } = this.#options;
    const [oldest] = this.#clients;
    if (oldest === undefined) return false;
    const [socket, since] = oldest;
    if (performance.now() - since < silentMs) return false;
    this.#clients.delete(socket);
    socket.destroy();
    return true;
  }

  async #close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    for (const socket of this.#clients.keys()) socket.destroy();
    if (server !== null) await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}
