import type { FastifyInstance } from "fastify";
import type { LiveEvent } from "../core/query/ports.ts";
import type { Operation } from "./api-operation.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { readingJson } from "./reading-json.ts";

/** Open streams at once: a screen in the control room and a few laptops. */
const CLIENTS_MAX = 32;
/**
 * Queue limit for one slow client; beyond it readings are skipped for that client, and `skipped` reports how many.
 */
const CLIENT_BYTES_MAX = 256 * 1024;
/** Keeps proxies from closing the stream, and shows each end that the other is alive. */
const HEARTBEAT_MS = 15_000;
/** How long events are collected after the last client left, so that one that returns misses nothing. */
const LINGER_MS = 30_000;
/** Interval of the status while a client is connected. */
const STATUS_MS = 2_000;

interface Client {
  /** True if accepted. */
  write(text: string): boolean;
  waitingBytes(): number;
  /** False once its session has ended. */
  isWelcome(): boolean;
  skipped: number;
}

const EVENTS = {
  path: "/api/v1/events",
  method: "get",
  summary:
    "Live events (server-sent): `reading`, `gap`, `status` every 2 s, `skipped` if the client is too slow.",
  also: { 503: "Too many streams are open." },
  response:
    "The stream. The id of a reading's event is its `seq`; after a short interruption, Last-Event-ID resumes with the events that were missed.",
  schema: null,
  contentType: "text/event-stream",
} as const satisfies Operation;

export const EVENTS_OPERATIONS: readonly Operation[] = [EVENTS];

/**
 * `GET /api/v1/events`: server-sent events `reading`, `gap`, `status` and `skipped`. One subscription and one status
 * timer serve all clients, and only while there are any, or were a moment ago. A reading's event has its `seq` as id. A
 * client that returns with a Last-Event-ID gets what it missed, or `skipped` with a count of null if that is no longer
 * known.
 */
export function registerLiveEvents(
  app: FastifyInstance,
  parts: Pick<HttpParts, "live" | "status">,
  statusJson: () => unknown,
): void {
  const clients = new Map<Client, () => void>();
  const recent = new RecentReadings();
  let stop: (() => void) | null = null;
  let lingering: NodeJS.Timeout | null = null;

  const send = (text: string): void => {
    for (const client of clients.keys()) deliver(client, text);
  };
  const broadcast = (event: string, data: string): void => {
    send(`event: ${event}\ndata: ${data}\n\n`);
  };
  const start = (): (() => void) => {
    const unsubscribe = parts.live.subscribe((event: LiveEvent) => {
      if (event.type === "gap") return broadcast("gap", JSON.stringify(event.gap));
      const { seq } = event.reading;
      const text = `id: ${seq}\nevent: reading\ndata: ${readingJson(event.reading)}\n\n`;
      recent.add(seq, text);
      send(text);
    });
    const status = setInterval(() => {
      if (clients.size > 0) broadcast("status", JSON.stringify(statusJson()));
    }, STATUS_MS);
    const heartbeat = setInterval(() => {
      for (const [client, end] of clients) if (!client.isWelcome()) end();
      send(": still here\n\n");
    }, HEARTBEAT_MS);
    return () => {
      unsubscribe();
      recent.clear();
      clearInterval(status);
      clearInterval(heartbeat);
    };
  };

  const stay = (): void => {
    if (lingering !== null) clearTimeout(lingering);
    lingering = null;
  };
  const rest = (): void => {
    stay();
    stop?.();
    stop = null;
  };

  app.addHook("preClose", (done) => {
    for (const end of clients.values()) end();
    rest();
    done();
  });

  app.get(EVENTS.path, { exposeHeadRoute: false }, (request, reply) => {
    if (clients.size >= CLIENTS_MAX) {
      return reply
        .code(503)
        .header("retry-after", "30")
        .send(problem(503, `${CLIENTS_MAX} live streams are open; close one`));
    }
    reply.hijack();
    const response = reply.raw;
    response.writeHead(200, {
      ...definedHeaders(reply.getHeaders()),
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      // The stream is the last response of the connection: when it ends, nothing idle is left to wait for.
      connection: "close",
    });
    const client: Client = {
      write: (text) => response.write(text),
      waitingBytes: () => response.writableLength,
      isWelcome: () => app.isWelcome(request),
      skipped: 0,
    };
    const end = (): void => {
      if (!clients.delete(client)) return;
      response.end();
      if (clients.size > 0) return;
      stay();
      lingering = setTimeout(rest, LINGER_MS).unref();
    };
    clients.set(client, end);
    request.raw.socket.setNoDelay(true);
    response.on("close", end);
    response.on("error", end);
    // `retry`: a page reconnects a second after the agent restarts.
    client.write(`retry: 1000\nevent: status\ndata: ${JSON.stringify(statusJson())}\n\n`);
    const last = /^\d{1,15}$/.exec(String(request.headers["last-event-id"] ?? ""))?.[0];
    if (last !== undefined) {
      const missed = recent.since(Number(last));
      for (const text of missed ?? ['event: skipped\ndata: {"count":null}\n\n']) client.write(text);
    }
    stay();
    stop ??= start();
    return reply;
  });
}

/** A client that does not read loses its own events, and uses no memory. */
function deliver(client: Client, text: string): void {
  if (client.waitingBytes() > CLIENT_BYTES_MAX) {
    client.skipped += 1;
    return;
  }
  if (client.skipped > 0) {
    client.write(`event: skipped\ndata: {"count":${client.skipped}}\n\n`);
    client.skipped = 0;
  }
  client.write(text);
}

function definedHeaders(
  headers: Readonly<Record<string, number | string | string[] | undefined>>,
): Record<string, number | string | string[]> {
  const defined: Record<string, number | string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) defined[name] = value;
  }
  return defined;
}

/** Recent events, kept for clients that reconnect: a laptop's short sleep, a change of network. */
const RECENT_BYTES_MAX = 128 * 1024;

interface KeptEvent {
  readonly seq: number;
  readonly text: string;
}

/** The newest readings in the order of storing, within a limit of bytes. */
class RecentReadings {
  #kept: KeptEvent[] = [];
  #bytes = 0;
  /** Everything stored after this one is kept; null before the first. */
  #after: number | null = null;

  add(seq: number, text: string): void {
    this.#after ??= seq - 1;
    this.#kept.push({ seq, text });
    this.#bytes += text.length;
    while (this.#bytes > RECENT_BYTES_MAX) {
      const gone = this.#kept.shift();
      if (gone === undefined) break;
      this.#bytes -= gone.text.length;
      this.#after = gone.seq;
    }
  }

  /** The readings after this number; null if they are not all here any more. */
  since(seq: number): string[] | null {
    if (this.#after === null || seq < this.#after) return null;
    return this.#kept.filter((one) => one.seq > seq).map(({ text }) => text);
  }

  clear(): void {
    this.#kept = [];
    this.#bytes = 0;
    this.#after = null;
  }
}
