import type { AddressInfo } from "node:net";
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from "fastify";
import { API_SERVICE } from "../core/wire/names.ts";
import { registerApi } from "./api.ts";
import { registerDashboard } from "./dashboard.ts";
import { registerGuard } from "./guard.ts";
import { registerHealth } from "./health.ts";
import { HEADERS_TIMEOUT_MS, KEEP_ALIVE_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from "./limits.ts";
import { LocalSocket } from "./local-socket.ts";
import { registerMetrics } from "./metrics.ts";
import type { HttpOptions, HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { refuseUnknown, registerQueryService } from "./query-service.ts";

/** Requests to us are small questions (services 6). */
const BODY_BYTES_MAX = 1024 * 1024;
/** Together with the deadlines below: what a flood of idle connections can hold. */
const CONNECTIONS_MAX = 256;
const HEADER_BYTES_MAX = 16 * 1024;
/** A reader that takes nothing of its answer for so long has gone; live streams have their heartbeat. */
const SILENCE_TIMEOUT_MS = 60_000;
/** How long `close` lets running answers end; the process has ten seconds in all. */
const CLOSE_GRACE_MS = 1_000;
/** Names in paths are sensor codes and operations. */
const PARAM_LENGTH_MAX = 200;

export interface HttpServer {
  /** Resolves to the base address (the socket's with no port) once connections are taken. Rejects where the port is taken. */
  listen(): Promise<string>;
  /** The base address; null while not listening, and with no port. */
  readonly address: string | null;
  /** Ends live streams, lets running answers finish for a moment, then cuts what is left. */
  close(): Promise<void>;
}

/** The agent's whole HTTP side (contract 7). */
export function createHttpServer(parts: HttpParts, options: HttpOptions): HttpServer {
  const app = createApp(parts, options);
  let address: string | null = null;
  const local =
    options.socketPath === null
      ? null
      : new LocalSocket(options.socketPath, (request, response) => app.routing(request, response));
  return {
    get address() {
      return address;
    },
    async listen() {
      await app.ready();
      if (options.port !== null) await app.listen({ host: options.host, port: options.port });
      try {
        await local?.listen();
      } catch (err) {
        // Commands still find an agent by its port.
        parts.logger.info({ err }, "no socket for commands in DATA_DIR");
      }
      if (options.port === null) return `unix:${options.socketPath}`;
      const bound = app.server.address() as AddressInfo;
      address = `http://${bound.family === "IPv6" ? `[${bound.address}]` : bound.address}:${bound.port}`;
      return address;
    },
    async close() {
      address = null;
      const cut = setTimeout(() => app.server.closeAllConnections(), CLOSE_GRACE_MS);
      try {
        await Promise.all([app.close(), local?.close(CLOSE_GRACE_MS)]);
      } finally {
        clearTimeout(cut);
      }
    },
  };
}

/** The routes without a socket, for `inject` in tests. */
export function createApp(parts: HttpParts, options: HttpOptions): FastifyInstance {
  const app = fastify({
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionTimeout: SILENCE_TIMEOUT_MS,
    http: {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: 2_000,
    },
    routerOptions: {
      maxParamLength: PARAM_LENGTH_MAX,
      caseSensitive: true,
      ignoreTrailingSlash: false,
    },
    forceCloseConnections: "idle",
    return503OnClosing: true,
    trustProxy: false,
    logger: false,
    // An address that cannot be decoded reaches no route and none of its hooks.
    frameworkErrors: (_error, request, reply) => void refuseAddress(pathOf(request), reply),
    // Ids of requests would only be log noise.
    genReqId: () => "",
    ajv: {
      customOptions: {
        removeAdditional: false,
        coerceTypes: true,
        useDefaults: true,
        allErrors: true,
      },
    },
  });
  app.server.maxConnections = CONNECTIONS_MAX;

  app.addHook("onResponse", (request, reply, done) => {
    parts.metrics.httpRequests.inc({
      route: request.routeOptions.url ?? "other",
      status: `${Math.floor(reply.statusCode / 100)}xx`,
    });
    done();
  });
  registerGuard(app, parts, options);
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const status = statusOf(error);
    if (status >= 500) {
      parts.logger.error({ err: error, route: request.routeOptions.url }, "request failed");
    }
    return reply
      .code(status)
      .send(problem(status, status >= 500 ? "internal fault" : error.message));
  });
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send(problem(404, `nothing at ${pathOf(request)}`)),
  );

  registerHealth(app, parts);
  registerMetrics(app, parts);
  registerApi(app, parts, options);
  registerQueryService(app, parts, options);
  registerDashboard(app, options.dashboardDir);
  return app;
}

function refuseAddress(path: string, reply: FastifyReply): FastifyReply {
  if (path.startsWith(`/${API_SERVICE}/`)) return refuseUnknown(reply);
  return reply.code(400).send(problem(400, `${path} is no valid address`));
}

function statusOf(error: FastifyError): number {
  const status = error.statusCode ?? 500;
  return error.validation !== undefined ? 400 : status >= 400 && status < 600 ? status : 500;
}

function pathOf(request: FastifyRequest): string {
  return (request.url.split("?", 1)[0] ?? "").slice(0, PARAM_LENGTH_MAX);
}
