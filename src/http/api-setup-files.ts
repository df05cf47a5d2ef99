import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FileEditing, SaveOutcome } from "../core/setup.ts";
import { integer, objectOf, type Schema } from "./api-schemas.ts";
import { whoOf } from "./audit.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { shallowBody } from "./shallow-body.ts";

/** Validated by the file's own schema, which names each error with its location. */
export const SITE_BODY: Schema = { type: "object", description: "A whole site file." };
export const UPLINKS_BODY: Schema = {
  type: "object",
  description:
    "A whole uplinks file; values shown as ******** stay unchanged, and `password` and `sasKey` of an uplink are written to files.",
};
export const SETUP_VERSION = objectOf({ version: integer(1, 999_999_999) }, ["version"]);

const OFF = "set-up is off: set SETUP_ENABLED=true and restart the agent";
const NO_UPLINKS = "UPLINKS_FILE is not set: set it to a path and restart the agent";
const NO_MATCH = 'send If-Match with the hash that GET returned, in quotes, such as "3f2a…"';

/**
 * The site file over HTTP: read, checked, replaced, and restored from one of the last ten versions. 403 while
 * SETUP_ENABLED is false.
 */
export function registerSiteFile(app: FastifyInstance, { setup }: Pick<HttpParts, "setup">): void {
  registerFile(app, {
    base: "/api/v1/setup/site",
    versions: "/api/v1/setup/versions",
    body: SITE_BODY,
    member: "site",
    editing: (reply) => setup?.site ?? setupOff(reply),
  });
}

/** The uplinks file, without its secrets. */
export function registerUplinksFile(
  app: FastifyInstance,
  { setup }: Pick<HttpParts, "setup">,
): void {
  registerFile(app, {
    base: "/api/v1/setup/uplinks",
    versions: "/api/v1/setup/uplinks/versions",
    body: UPLINKS_BODY,
    member: "content",
    editing: (reply) =>
      setup === null
        ? setupOff(reply)
        : (setup.uplinks ?? void reply.code(404).send(problem(404, NO_UPLINKS))),
  });
}

/** Sends the response, and returns undefined. */
export function setupOff(reply: FastifyReply): undefined {
  void reply.code(403).send(problem(403, OFF));
}

interface FileRoutes {
  readonly base: string;
  readonly versions: string;
  readonly body: Schema;
  /** Name of the parsed file in responses. */
  readonly member: "site" | "content";
  /** Undefined if it has sent the response. */
  readonly editing: (reply: FastifyReply) => FileEditing | undefined;
}

function registerFile(app: FastifyInstance, routes: FileRoutes): void {
  const { base, versions, body, member, editing } = routes;
  const view = ({ content, text }: { readonly content: unknown; readonly text: string | null }) =>
    member === "site" ? { site: content, text } : { content };
  app.get(base, (_request, reply) => {
    const file = editing(reply)?.read();
    if (file === undefined) return reply;
    return reply
      .header("etag", `"${file.hash}"`)
      .send({ hash: file.hash, isBlank: file.isBlank, ...view(file) });
  });
  app.post<{ Body: object }>(
    `${base}/check`,
    { schema: { body }, preValidation: shallowBody },
    (request, reply) => {
      const file = editing(reply);
      return file === undefined ? reply : reply.send(file.check(request.body));
    },
  );
  app.put<{ Body: object }>(
    base,
    { schema: { body }, preValidation: shallowBody },
    async (request, reply) => {
      const file = editing(reply);
      if (file === undefined) return reply;
      const expected = expectedHash(request);
      if (expected === null) return reply.code(428).send(problem(428, NO_MATCH));
      const outcome = await file.save(request.body, expected, whoOf(request));
      return saved(request, reply, outcome, view);
    },
  );
  app.get(versions, (_request, reply) => {
    const file = editing(reply);
    return file === undefined ? reply : reply.send({ versions: file.versions() });
  });
  app.get<{ Params: { version: number } }>(
    `${versions}/:version`,
    { schema: { params: SETUP_VERSION } },
    (request, reply) => {
      const file = editing(reply);
      if (file === undefined) return reply;
      const { version } = request.params;
      const kept = file.version(version);
      if (kept === null)
        return reply.code(404).send(problem(404, `version ${version} is not kept`));
      return reply.send({ version, ...view(kept), changes: kept.changes });
    },
  );
  app.post<{ Params: { version: number } }>(
    `${versions}/:version/restore`,
    { schema: { params: SETUP_VERSION } },
    async (request, reply) => {
      const file = editing(reply);
      if (file === undefined) return reply;
      const expected = expectedHash(request);
      if (expected === null) return reply.code(428).send(problem(428, NO_MATCH));
      const { version } = request.params;
      return saved(request, reply, await file.restore(version, expected, whoOf(request)), view);
    },
  );
}

function saved(
  request: FastifyRequest,
  reply: FastifyReply,
  outcome: SaveOutcome,
  view: (file: { readonly content: unknown; readonly text: string | null }) => object,
): FastifyReply {
  switch (outcome.outcome) {
    case "saved": {
      const { file, report } = outcome;
      request.auditDetail = detailOf(report.changes);
      return reply.header("etag", `"${file.hash}"`).send({ hash: file.hash, report });
    }
    case "changed_elsewhere": {
      const { file, changes } = outcome;
      const { hash, isBlank, content } = file;
      const message = "the file has changed in the meantime; review it and save again";
      const { text: _text, ...rest } = { text: null, ...view({ content, text: null }) };
      return reply
        .code(412)
        .header("etag", `"${hash}"`)
        .send({ ...problem(412, message), hash, isBlank, ...rest, changes });
    }
    case "faults": {
      const message = "the file contains errors; nothing was changed";
      return reply.code(422).send({ ...problem(422, message), faults: outcome.faults });
    }
    case "busy":
      return reply.code(409).send(problem(409, outcome.detail));
    case "unknown_version":
      return reply.code(404).send(problem(404, outcome.detail));
    case "not_writable":
      return reply.code(500).send(problem(500, outcome.detail));
  }
}

/** Codes and names with a sign: what the audit log records of a change. */
function detailOf({
  sensors,
  site,
  uplinks,
}: Extract<SaveOutcome, { outcome: "saved" }>["report"]["changes"]): string {
  const signed = (sign: string, list: readonly string[]) => list.map((name) => sign + name);
  return [
    ...signed("+", [...sensors.added, ...uplinks.added]),
    ...signed("-", [...sensors.removed, ...uplinks.removed]),
    ...signed("~", [
      ...sensors.changed.map(({ code }) => code),
      ...uplinks.changed.map(({ name }) => name),
    ]),
    ...site,
  ].join(" ");
}

/** One strong entity tag; `*` would overwrite a version that nobody has seen. */
function expectedHash(request: FastifyRequest): string | null {
  return /^"([0-9a-f]{64})"$/.exec(request.headers["if-match"]?.trim() ?? "")?.[1] ?? null;
}
