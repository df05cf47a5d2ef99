import { buildConnector, Client, type Dispatcher } from "undici";
import type { AbortCallbacks } from "../../lib/abort-callbacks.ts";
import { withPublicAuthorities } from "../../lib/authorities.ts";
import { proxyAgent } from "../../lib/proxy.ts";
import { InterimHeads } from "./interim-heads.ts";
import { ReceiveBuffers } from "./receive-buffers.ts";
import { SocketFlow } from "./socket-flow.ts";

/** How long an unused connection is kept if the gateway does not say; its servers close theirs after 120 s. */
const KEEP_ALIVE_MS = 90_000;

export interface GatewayConnectionOptions {
  readonly origin: string;
  readonly count: number;
  readonly connectMs: number;
  /** PEM of a private CA, read at each new connection, as it is renewed in place. */
  readonly ca: () => string | null;
  /** http(s)://[user:password@]host:port; null for a direct connection. */
  readonly proxy: string | null;
}

/** One connection at a time to the gateway. undici opens it when needed and resolves the name again each time. */
export class Connection {
  readonly #options: GatewayConnectionOptions;
  #client: Dispatcher | null = null;
  #received = new ReceiveBuffers();
  #flow = new SocketFlow(null);
  #interim: InterimHeads | null = null;
  #served = 0;

  constructor(options: GatewayConnectionOptions) {
    this.#options = options;
  }

  /** The memory that holds the bytes of its responses. */
  get received(): ReceiveBuffers {
    return this.#received;
  }

  /** Pauses and resumes its responses. */
  get flow(): SocketFlow {
    return this.#flow;
  }

  get client(): Dispatcher {
    if (this.#client) return this.#client;
    const { proxy } = this.#options;
    const client = proxy === null ? this.#direct() : this.#proxied(proxy);
    this.#client = client;
    return client;
  }

  /** Data through a proxy arrives in its own memory. */
  #proxied(proxy: string): Dispatcher {
    const { connectMs } = this.#options;
    const ca = this.#options.ca();
    this.#received = new ReceiveBuffers();
    return proxyAgent({
      proxy,
      ca: ca === null ? null : withPublicAuthorities(ca),
      connectMs,
      keepAliveMs: KEEP_ALIVE_MS,
      onSocket: (socket) => {
        this.#flow = new SocketFlow(socket);
        this.#interim = new InterimHeads(socket);
      },
    });
  }

  #direct(): Client {
    const client = new Client(this.#options.origin, {
      connect: this.#connect,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: 0, // The exchange has its own deadlines.
      bodyTimeout: 0,
      pipelining: 1,
    });
    client.on("connect", () => {
      this.#served = 0;
    });
    return client;
  }

  readonly #connect: buildConnector.connector = (target, callback) => {
    const { connectMs } = this.#options;
    const ca = this.#options.ca();
    const received = new ReceiveBuffers();
    const connect = buildConnector({
      timeout: connectMs,
      ...(ca === null ? {} : { ca: withPublicAuthorities(ca) }),
      // Under TLS the bytes come from the decoder, in its own memory.
      ...(target.protocol === "http:" ? { onread: received.onread } : {}),
    });
    connect(target, (error, socket) => {
      if (error !== null) return callback(error, null);
      received.socket = socket;
      this.#received = received;
      this.#flow = new SocketFlow(socket);
      this.#interim = new InterimHeads(socket);
      callback(null, socket);
    });
  };

  /** A request is sent; true if this connection has carried one before. */
  noteRequest(): boolean {
    this.#received.expectHead();
    this.#interim?.expectHead();
    this.#served += 1;
    return this.#served > 1;
  }

  /** Closes the connection; the next request opens another. */
  drop(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    this.#served = 0;
    return client ? client.destroy() : Promise.resolve();
  }
}

/** Lends connections, as many as requests may be in flight; others wait their turn. */
export class Connections {
  readonly #aborts: AbortCallbacks;
  readonly #all: readonly Connection[];
  readonly #free: Connection[];
  readonly #waiting: ((connection: Connection) => void)[] = [];

  constructor(options: GatewayConnectionOptions, aborts: AbortCallbacks) {
    this.#aborts = aborts;
    this.#all = Array.from({ length: options.count }, () => new Connection(options));
    this.#free = [...this.#all];
  }

  /** Null when aborted while waiting. */
  borrow(signal: AbortSignal): Promise<Connection | null> {
    if (signal.aborted) return Promise.resolve(null);
    // The one used last is the one most likely to be open still.
    const free = this.#free.pop();
    if (free) return Promise.resolve(free);
    return new Promise((resolve) => {
      const take = (connection: Connection) => {
        stay();
        resolve(connection);
      };
      const leave = () => {
        const index = this.#waiting.indexOf(take);
        if (index >= 0) this.#waiting.splice(index, 1);
        resolve(null);
      };
      const stay = this.#aborts.add(signal, leave);
      this.#waiting.push(take);
    });
  }

  giveBack(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next) next(connection);
    else this.#free.push(connection);
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((connection) => connection.drop()));
  }
}
