import type { FastifyInstance } from "fastify";
import type { LiveEvent } from "../core/query/ports.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { readingJson } from "./reading-json.ts";

/** Open streams at once: a screen in the control room and a few laptops. */
const CLIENTS_MAX = 32;
/** What may wait for one slow client before readings are skipped for it; it is told how many. */
const CLIENT_BYTES_MAX = 256 * 1024;
/** Keeps proxies from closing the stream, and shows both ends that the other lives. */
const HEARTBEAT_MS = 15_000;
/** The status goes out this often while someone looks. */
const STATUS_MS = 2_000;

interface Client {
  /** True when taken. */
  write(text: string): boolean;
  waitingBytes(): number;
  skipped: number;
}

/**
 * `GET /api/v1/events`: server-sent events `reading`, `gap`, `status` and `skipped`.
 * One subscription and one status timer serve all clients, and only while there are any.
 */
export function registerLiveEvents(
  app: FastifyInstance,
  parts: Pick<HttpParts, "live" | "status">,
  statusJson: () => unknown,
): void {
  const clients = new Map<Client, () => void>();
  let stop: (() => void) | null = null;

  const broadcast = (event: string, data: string): void => {
    const text = `event: ${event}\ndata: ${data}\n\n`;
    for (const client of clients.keys()) deliver(client, text);
  };
  const start = (): (() => void) => {
    const unsubscribe = parts.live.subscribe((event: LiveEvent) => {
      if (event.type === "reading") broadcast("reading", readingJson(event.reading));
      else broadcast("gap", JSON.stringify(event.gap));
    });
    const status = setInterval(() => broadcast("status", JSON.stringify(statusJson())), STATUS_MS);
    const heartbeat = setInterval(() => {
      for (const client of clients.keys()) deliver(client, ": still here\n\n");
    }, HEARTBEAT_MS);
    return () => {
      unsubscribe();
      clearInterval(status);
      clearInterval(heartbeat);
    };
  };

  app.addHook("preClose", (done) => {
    for (const end of clients.values()) end();
    done();
  });

  app.get("/api/v1/events", { exposeHeadRoute: false }, (request, reply) => {
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
      // The stream is the connection's last answer: when it ends, nothing idle is left to wait for.
      connection: "close",
    });
    const client: Client = {
      write: (text) => response.write(text),
      waitingBytes: () => response.writableLength,
      skipped: 0,
    };
    const end = (): void => {
      if (!clients.delete(client)) return;
      response.end();
      if (clients.size === 0 && stop !== null) {
        stop();
        stop = null;
      }
    };
    clients.set(client, end);
    request.raw.socket.setNoDelay(true);
    response.on("close", end);
    response.on("error", end);
    // `retry`: a page finds the agent again a second after its restart.
    client.write(`retry: 1000\nevent: status\ndata: ${JSON.stringify(statusJson())}\n\n`);
    stop ??= start();
    return reply;
  });
}

/** A client that does not read costs its own events, never memory. */
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
