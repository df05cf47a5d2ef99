import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import {
  bearerToken,
  type FailureLimit,
  Sessions,
  sessionCookie,
  sessionCookieName,
  sessionSetCookie,
  TokenCheck,
  type TokenRole,
} from "./auth.ts";
import { accessTo } from "./change.ts";
import { Clients, sourceOf } from "./client.ts";
import { hasTwoHosts, hostName, isLoopbackHost, isNavigation } from "./host-check.ts";
import type { OwnAddresses, Scheme } from "./own-addresses.ts";
import type { HttpOptions, HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { SIGN_IN_CSS, signInPage } from "./sign-in-page.ts";
import { ViewSessions } from "./view-sessions.ts";

/** Scripts, styles and pictures only from this server; nothing inline, nothing framed. No exceptions. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const SECURITY_HEADERS = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  // With "no-referrer" the sign-in form would post `Origin: null`.
  "referrer-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
};

/**
 * Reachable without a token, as routes are that ask for one themselves: the health probe, the sign-in, and the manual, which says nothing about
 * this box.
 */
const OPEN_PATHS = new Set([
  "/healthz",
  "/sign-in",
  "/sign-in.css",
  "/favicon.svg",
  "/sign-out",
  "/manual",
]);
const MANUAL = "/manual/";

/** The API's own place, whether or not something is there. */
export const isApi = (path: string): boolean => path === "/api" || path.startsWith("/api/");

declare module "fastify" {
  interface FastifyInstance {
    /** Whether the client may still be served: a stream outlives the session that opened it. */
    isWelcome(request: FastifyRequest): boolean;
    readonly isTokenRequired: boolean;
  }
  interface FastifyRequest {
    /** Null until the client is known. */
    role: TokenRole | null;
    /** Path of our pages in the browser's address, with a slash at each end. */
    base: string;
    /** Empty for the local socket. */
    clientAddress: string;
    /** Whom a trusted proxy names; that signs nobody in. */
    person: string | null;
  }
}

const HOST_REFUSED =
  "use an address of this machine, such as localhost or 127.0.0.1; HTTP_PUBLIC_URL adds others";
const ORIGIN_REFUSED =
  "requests from other origins are refused; an address of a proxy belongs into HTTP_PUBLIC_URL";
/** HTTP_SESSION_DAYS. */
const SESSION_DAYS = 30;
const VIEW_REFUSED = "HTTP_VIEW_TOKEN is read-only; sign in with HTTP_TOKEN to make changes";

/** Access control: host names, origins, token, dashboard sessions; and the headers of every response. */
export function registerGuard(
  app: FastifyInstance,
  parts: Pick<HttpParts, "clock" | "logger" | "routes" | "sessions">,
  options: HttpOptions,
  addresses: OwnAddresses,
  failures: FailureLimit,
): void {
  const { clock, logger } = parts;
  const viewToken = options.viewToken ?? null;
  const token = new TokenCheck(options.token, viewToken);
  const clients = new Clients({
    trustedProxies: options.trustedProxies ?? [],
    userHeader: options.userHeader ?? null,
  });
  app.decorateRequest("role", null);
  app.decorateRequest("base", "/");
  app.decorateRequest("clientAddress", "");
  app.decorateRequest("person", null);
  app.decorate("isTokenRequired", token.isRequired);
  // A proxy may rewrite `Host` to a loopback address.
  const isDirect = (options.publicUrls ?? []).length === 0;
  const cookieName = sessionCookieName(options.instance ?? "");
  const sessions = new Sessions(clock);
  const viewSessions = new ViewSessions(
    { store: parts.sessions ?? null, clock, logger },
    viewToken,
    options.sessionDays ?? SESSION_DAYS,
  );
  app.addHook("onClose", () => viewSessions.save());

  app.decorate("isWelcome", (request: FastifyRequest): boolean => {
    const session = sessionCookie(cookieName, request.headers.cookie);
    const bearer = bearerToken(request.headers.authorization);
    return (
      !token.isRequired ||
      (session !== null && (sessions.isOpen(session) || viewSessions.isOpen(session))) ||
      (bearer !== null && token.roleOf(bearer) !== null)
    );
  });

  // On the raw response, so that streams and early errors carry them too.
  app.addHook("onRequest", (request, reply, done) => {
    reply.headers(SECURITY_HEADERS);
    const scheme = schemeOf(request);
    // Over plain http, except on loopback, browsers ignore it, and each page would say so in the console.
    if (scheme === "https" || (isDirect && isLoopbackHost(hostName(request.headers.host) ?? "")))
      reply.header("cross-origin-opener-policy", "same-origin");
    const isAsking = request.method === "GET" || request.method === "HEAD";
    if (hasTwoHosts(request.raw.rawHeaders))
      return void reply.code(400).send(problem(400, "a request has one Host header"));
    if (!addresses.isHost(request.headers.host))
      return void reply.code(403).send(problem(403, HOST_REFUSED));
    const isOwn = addresses.isSameOrigin(request.headers, scheme);
    if (!isOwn && !(isAsking && isNavigation(request.headers)))
      return void reply.code(403).send(problem(403, ORIGIN_REFUSED));
    request.clientAddress = clients.addressOf(request);
    request.person = clients.personOf(request);
    const path = request.originalUrl.split("?", 1)[0] ?? "";
    request.base = addresses.baseIn(path) ?? addresses.baseOf(request.headers, scheme);
    // Addresses inside our pages are relative: without the slash they would lead beside us.
    if (isAsking && `${path}/` === request.base)
      return void reply.redirect(request.base + request.originalUrl.slice(path.length), 308);
    done();
  });

  app.addHook("onRequest", (request, reply, done) => {
    const path = request.url.split("?", 1)[0] ?? "";
    if (!token.isRequired) request.role = "all";
    // The route decides what is served; a path without one only says which refusal it gets.
    const place = request.routeOptions.url ?? path;
    const isSignIn = request.method === "POST" && place === "/";
    const isOpen =
      isSignIn ||
      OPEN_PATHS.has(place) ||
      parts.routes.some(({ below }) => place.startsWith(below)) ||
      place.startsWith(MANUAL);
    // Nothing is there for anybody; what the API has is told to those who may ask.
    const isNowhere = request.is404 && request.method === "GET" && !isApi(path);
    if (!token.isRequired || isOpen || isNowhere) return done();
    // URLs end up in histories and logs: a token in a URL is no longer secret, so it is not accepted.
    const allow = (role: TokenRole): void => {
      request.role = role;
      reply.header("x-gateside-role", role);
      if (request.person !== null)
        reply.header("x-gateside-person", encodeURIComponent(request.person));
      if (role === "view" && accessTo(request).role === "all")
        return void reply.code(403).send(problem(403, VIEW_REFUSED));
      done();
    };
    const session = sessionCookie(cookieName, request.headers.cookie);
    const sessionRole =
      session === null ? null : viewSessions.use(session) ? "view" : sessions.use(session);
    if (sessionRole !== null) {
      // The page cannot see the cookie; this tells it that it can sign out.
      reply.header("x-gateside-session", "open");
      return allow(sessionRole);
    }
    const bearer = bearerToken(request.headers.authorization);
    if (bearer !== null) {
      const role = token.roleOf(bearer);
      if (role !== null) return allow(role);
      const waitS = failures.retryAfterS(sourceOf(request));
      if (waitS > 0) return void tooMany(reply, waitS);
      failures.failed(sourceOf(request), bearer);
    }
    return void refuse(request, reply, path, bearer !== null);
  });

  app.get("/sign-in", (_request, reply) =>
    reply.headers(NEVER_KEPT).type(HTML).send(signInPage("")),
  );
  app.get("/sign-in.css", (_request, reply) =>
    reply.header("cache-control", "max-age=3600").type("text/css; charset=utf-8").send(SIGN_IN_CSS),
  );

  void app.register((scope, _options, done) => {
    scope.addContentTypeParser(
      "application/x-www-form-urlencoded",
      { parseAs: "string", bodyLimit: 4096 },
      (_request, body, parsed) =>
        parsed(null, Object.fromEntries(new URLSearchParams(String(body)))),
    );
    const signIn = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
      const isForm = request.headers["content-type"]?.startsWith("application/x-www-form") ?? false;
      const given = tokenOf(request.body);
      const role = token.roleOf(given);
      if (role === null) {
        const waitS = failures.retryAfterS(sourceOf(request));
        if (waitS > 0) {
          if (!isForm) return tooMany(reply, waitS);
          return reply
            .code(429)
            .headers({ ...NEVER_KEPT, "retry-after": String(waitS) })
            .type(HTML)
            .send(signInPage(`Too many wrong tokens. Try again in ${waitS} s.`));
        }
        if (failures.failed(sourceOf(request), given))
          parts.logger.warn(
            { address: request.clientAddress, person: request.person },
            "sign-in with a wrong token",
          );
        if (!isForm) return reply.code(401).send(problem(401, "wrong token"));
        return reply
          .code(401)
          .headers(NEVER_KEPT)
          .type(HTML)
          .send(signInPage("The token is wrong."));
      }
      const key = role === "view" ? viewSessions.open() : sessions.open(role);
      reply.header("set-cookie", sessionSetCookie(cookieName, key, cookieScope(request)));
      return isForm ? reply.redirect(request.base, 303) : reply.code(204).send();
    };
    scope.post("/sign-in", signIn);
    // The form on the dashboard's own address posts there: only so does the browser keep the view that a link names.
    scope.post("/", signIn);
    scope.post("/sign-out", (request, reply) => {
      const session = sessionCookie(cookieName, request.headers.cookie);
      if (session !== null) {
        sessions.close(session);
        viewSessions.close(session);
      }
      return reply
        .header("set-cookie", sessionSetCookie(cookieName, null, cookieScope(request)))
        .code(204)
        .send();
    });
    done();
  });
}

function cookieScope(request: FastifyRequest): {
  readonly path: string;
  readonly isSecure: boolean;
} {
  // A proxy may end TLS without saying so; the Origin was found to be ours.
  const isSecure =
    schemeOf(request) === "https" || request.headers.origin?.startsWith("https:") === true;
  return { path: request.base, isSecure };
}

/** What the browser's address begins with. A proxy may end TLS; no page can make a browser send that header elsewhere. */
function schemeOf({ protocol, headers }: FastifyRequest): Scheme {
  return protocol === "https" || headers["x-forwarded-proto"] === "https" ? "https" : "http";
}

const HTML = "text/html; charset=utf-8";
const NEVER_KEPT = { "cache-control": "no-store" };

function tokenOf(body: unknown): string {
  if (typeof body !== "object" || body === null || !("token" in body)) return "";
  return typeof body.token === "string" ? body.token.trim() : "";
}

function tooMany(reply: FastifyReply, waitS: number): FastifyReply {
  return reply
    .code(429)
    .header("retry-after", String(waitS))
    .send(problem(429, `too many wrong tokens; try again in ${waitS} s`));
}

/** People get the sign-in page, programs a short response. */
function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  path: string,
  isWrong: boolean,
): FastifyReply {
  reply.code(401).header("www-authenticate", 'Bearer realm="gateside"').headers(NEVER_KEPT);
  const wantsPage = request.method === "GET" && (path === "/" || path === "/index.html");
  if (wantsPage) return reply.type(HTML).send(signInPage(""));
  return reply.send(problem(401, isWrong ? "wrong token" : "sign in, or send the bearer token"));
}
