import {
  createServer as createPlainServer,
  type IncomingMessage,
  type RequestListener,
} from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import { type FastifyError, type FastifyInstance, type FastifyRequest, fastify } from "fastify";
import { boundAddress } from "../lib/bound-address.ts";
import { registerApi } from "./api.ts";
import { registerAudit } from "./audit.ts";
import { FailureLimit } from "./auth.ts";
import { registerDashboard } from "./dashboard.ts";
import { isApi, registerGuard } from "./guard.ts";
import { registerHealth } from "./health.ts";
import { isNavigation } from "./host-check.ts";
import { validateLazily } from "./lazy-validators.ts";
import { limitConnections } from "./limit-connections.ts";
import { HEADERS_TIMEOUT_MS, KEEP_ALIVE_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from "./limits.ts";
import { LocalSocket } from "./local-socket.ts";
import { registerMetrics } from "./metrics.ts";
import { OwnAddresses } from "./own-addresses.ts";
import type { HttpOptions, HttpParts } from "./parts.ts";
import { answerPlainRequests } from "./plain-request.ts";
import { refusalOf, refuse } from "./problem.ts";
import { SharedResponses } from "./shared-responses.ts";
import { notFoundPage } from "./sign-in-page.ts";
import { ServerCertificate } from "./tls.ts";

/** Requests to us are small (services section 6). */
const BODY_BYTES_MAX = 1024 * 1024;
const HEADER_BYTES_MAX = 16 * 1024;
/** A client that reads nothing of its response for this long is gone; live streams have their heartbeat. */
const SILENCE_TIMEOUT_MS = 60_000;
/** How long `close` waits for responses in progress; the process has ten seconds in total. */
const CLOSE_GRACE_MS = 1_000;
/** Names in paths are sensor codes and operations. */
const PARAM_LENGTH_MAX = 200;

declare module "fastify" {
  interface FastifyInstance {
    /** Closes every connection, including those that have not finished their TLS handshake. */
    cutConnections(): void;
  }
}

export interface HttpServer {
  /**
   * Opens the socket in DATA_DIR for the commands on this machine. Never rejects: they can also reach an agent by its
   * port.
   */
  listenLocally(): Promise<void>;
  /**
   * Resolves to the base address (the socket's with no port) once connections are accepted. Rejects if the port is in
   * use; may be called again.
   */
  listen(): Promise<string>;
  /** The base address; null while not listening, and with no port. */
  readonly address: string | null;
  /** Answers a GET of ours without a connection. */
  answer(path: string): Promise<{ readonly status: number; readonly text: string }>;
  /** Loads a certificate whose files were renewed; cheap if they were not. */
  renewCertificate(): void;
  /** Ends live streams, waits briefly for responses in progress, then closes the rest. */
  close(): Promise<void>;
}

/** The agent's HTTP server (contract section 7). */
export function createHttpServer(parts: HttpParts, options: HttpOptions): HttpServer {
  const tls = options.tls ? new TlsPort(new ServerCertificate(options.tls, parts.logger)) : null;
  let address: string | null = null;
  const renewCertificate = () => {
    if (address !== null) tls?.renew();
  };
  const app = createApp(withRenewal(parts, renewCertificate), options, tls);
  const local =
    options.socketPath === null
      ? null
      : new LocalSocket(options.socketPath, (request, response) => app.routing(request, response));
  return {
    get address() {
      return address;
    },
    async listenLocally() {
      await app.ready();
      try {
        await local?.listen();
      } catch (err) {
        parts.logger.info({ err }, "the socket for commands in DATA_DIR could not be opened");
      }
    },
    async listen() {
      if (options.port === null) return `unix:${options.socketPath}`;
      // Only here: an agent whose certificate cannot be read still polls and publishes.
      tls?.load();
      await app.listen({ host: options.host, port: options.port });
      const bound = boundAddress(app.server);
      address = `${tls === null ? "http" : "https"}://${bound.family === "IPv6" ? `[${bound.address}]` : bound.address}:${bound.port}`;
      return address;
    },
    async answer(url) {
      const authorization =
        options.token === null ? {} : { authorization: `Bearer ${options.token}` };
      const headers = { host: "localhost", ...authorization };
      const { statusCode, body } = await app.inject({ url, headers });
      return { status: statusCode, text: body };
    },
    renewCertificate,
    async close() {
      address = null;
      const cut = setTimeout(() => app.cutConnections(), CLOSE_GRACE_MS);
      try {
        await Promise.all([app.close(), local?.close(CLOSE_GRACE_MS)]);
      } finally {
        clearTimeout(cut);
      }
    },
  };
}

/** A reload by way of HTTP reads the certificate again, too. */
function withRenewal(parts: HttpParts, renewCertificate: () => void): HttpParts {
  const { configuration } = parts;
  if (configuration === null) return parts;
  return {
    ...parts,
    configuration: {
      inEffect: () => configuration.inEffect(),
      compare: (nonce, digests, withSecrets) => configuration.compare(nonce, digests, withSecrets),
      reload(by) {
        renewCertificate();
        return configuration.reload(by);
      },
    },
  };
}

/** The server of the port, for a certificate that may be renewed while it runs. */
class TlsPort {
  readonly #certificate: ServerCertificate;
  #server: TlsServer | null = null;

  constructor(certificate: ServerCertificate) {
    this.#certificate = certificate;
  }
  create(handler: RequestListener): TlsServer {
    // Node's default is two minutes.
    const limits = { ...SERVER_LIMITS, handshakeTimeout: HEADERS_TIMEOUT_MS };
    this.#server = createTlsServer(limits, handler);
    answerPlainRequests(this.#server);
    return this.#server;
  }
  /** Throws if it cannot be read. */
  load(): void {
    if (this.#server !== null) this.#certificate.load(this.#server);
  }
  renew(): void {
    if (this.#server !== null) this.#certificate.renew(this.#server);
  }
}

const SERVER_LIMITS = {
  maxHeaderSize: HEADER_BYTES_MAX,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  connectionsCheckingInterval: 2_000,
} as const;

/** The routes without a socket. */
export function createApp(
  parts: HttpParts,
  options: HttpOptions,
  tls: TlsPort | null = null,
): FastifyInstance {
  const addresses = new OwnAddresses(
    options.host,
    options.publicUrls ?? [],
    options.ownName ?? (() => ""),
  );
  const app = fastify({
    serverFactory(handler) {
      const server = tls?.create(handler) ?? createPlainServer(SERVER_LIMITS, handler);
      server.setTimeout(SILENCE_TIMEOUT_MS);
      return server;
    },
    bodyLimit: BODY_BYTES_MAX,
    // A proxy may leave the path of HTTP_PUBLIC_URL in front of ours.
    rewriteUrl: (request: IncomingMessage) => decodable(addresses.withoutBase(request.url ?? "/")),
    routerOptions: {
      // A longer one would reach no route either.
      maxParamLength: HEADER_BYTES_MAX,
      caseSensitive: true,
      ignoreTrailingSlash: false,
    },
    forceCloseConnections: "idle",
    return503OnClosing: true,
    trustProxy: false,
    logger: false,
    // Request ids would only be log noise.
    genReqId: () => "",
  });
  validateLazily(app);
  acceptEmptyJson(app);
  app.decorate("cutConnections", limitConnections(app.server));

  app.addHook("onResponse", (request, reply, done) => {
    parts.metrics.httpRequests.inc({
      route: request.routeOptions.url ?? "other",
      status: `${Math.floor(reply.statusCode / 100)}xx`,
    });
    done();
  });
  // One count: the sign-in and the query service's Login accept the same secrets.
  const failures = new FailureLimit(parts);
  registerGuard(app, parts, options, addresses, failures);
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const status = statusOf(error);
    if (status >= 500) {
      parts.logger.error({ err: error, route: request.routeOptions.url }, "request failed");
    }
    return refuse(
      reply,
      status,
      status >= 500 ? "internal error; see the agent's log" : refusalOf(status, error.message),
    );
  });
  const methodsOf = knowMethods(app);
  app.setNotFoundHandler((request, reply) => {
    const path = pathOf(request);
    const methods = methodsOf(path).join(", ");
    const isPerson = isNavigation(request.headers) && !isApi(path);
    if (methods === "" && isPerson)
      return reply.code(404).type("text/html; charset=utf-8").send(notFoundPage(request.base));
    return methods === ""
      ? refuse(reply, 404, `nothing at ${path}; /api/v1/openapi.json lists the API`)
      : refuse(reply.header("allow", methods), 405, `${path} takes ${methods}`);
  });

  registerHealth(app, parts);
  const responses = new SharedResponses();
  registerMetrics(app, parts, responses);
  registerAudit(app, parts);
  registerApi(app, parts, options, responses);
  for (const routes of parts.routes) routes.add(app, parts, options, failures);
  registerDashboard(app, options.dashboardDir);
  return app;
}

/** A path that cannot be decoded would reach no route, and none of the hooks that ask who sends it. */
function decodable(url: string): string {
  const path = url.split("?", 1)[0] ?? "";
  try {
    decodeURI(path);
    return url;
  } catch {
    return path.replaceAll("%", "%25") + url.slice(path.length);
  }
}

/** Many clients name the content type of a DELETE or POST that has no body. */
function acceptEmptyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) =>
    body === "" ? done(null) : parse(request, String(body), done),
  );
}

function statusOf(error: FastifyError): number {
  const status = error.statusCode ?? 500;
  return error.validation !== undefined ? 400 : status >= 400 && status < 600 ? status : 500;
}

function pathOf(request: FastifyRequest): string {
  return (request.url.split("?", 1)[0] ?? "").slice(0, PARAM_LENGTH_MAX);
}

/** What a path answers to, for requests with another method; empty if nothing is there. Call it before the routes. */
function knowMethods(app: FastifyInstance): (path: string) => readonly string[] {
  const known: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];
  app.addHook("onRoute", ({ url, method }) => {
    if (url.includes("*")) return;
    const pattern = url.replace(/[.]/g, "\\.").replace(/:\w+/g, "[^/]+");
    known.push({ pattern: new RegExp(`^${pattern}$`), methods: [method].flat() });
  });
  return (path) => [
    ...new Set(known.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods)),
  ];
}
