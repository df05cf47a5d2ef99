import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { input, OBJECT, type Schema } from "../../core/schema.ts";
import {
  FILE_CHECK,
  FILE_VERSIONS,
  type FileEditing,
  SAVED_FILE,
  type SaveOutcome,
  SITE_TEXT,
  SITE_VERSION,
  UPLINKS_CONTENT,
  UPLINKS_VERSION,
} from "../../core/setup.ts";
import { type Operation, SETUP_OFF, serve, setupOff } from "../../http/api-operation.ts";
import { integer } from "../../http/api-schemas.ts";
import { whoOf } from "../../http/audit.ts";
import type { HttpParts } from "../../http/parts.ts";
import { problem, refuse, refuseFaulty } from "../../http/problem.ts";

const VERSION = input({ version: integer(1, 999_999_999) }, ["version"]);

const NO_UPLINKS = "UPLINKS_FILE is not set: set it to a path and restart the agent";
const NO_MATCH = 'send If-Match with the hash that GET returned, in quotes, such as "3f2a…"';
const NOT_KEPT = { ...SETUP_OFF, 404: "This version is not kept." } as const;
const SAVE_REFUSED = {
  409: "Another change is being saved, or a signed configuration is on trial.",
  412: "The file was changed in the meantime; the response contains its hash, its content and the changes it would make.",
  422: "The file contains errors; the response lists them with their locations. Nothing was changed.",
  428: "If-Match is missing.",
  500: "The file could not be written; nothing was changed.",
} as const;

interface FileDescription {
  readonly a: string;
  readonly what: string;
  readonly base: string;
  readonly versions: string;
  readonly also: Readonly<Record<number, string>>;
  /** What is said of secrets. */
  readonly secrets: string;
  /** Name of the parsed file in responses. */
  readonly member: "site" | "content";
  readonly body: Schema<object>;
  readonly content: Schema<object>;
  readonly version: Schema<object>;
}

/** The site file, and the uplinks file without its secrets. Each is validated by its own schema, which names each error. */
const FILES: Readonly<Record<"site" | "uplinks", FileDescription>> = {
  site: {
    a: "a site file",
    what: "site",
    base: "/api/v1/setup/site",
    versions: "/api/v1/setup/versions",
    also: SETUP_OFF,
    secrets: "",
    member: "site",
    body: { ...OBJECT, description: "A whole site file." },
    content: SITE_TEXT,
    version: SITE_VERSION,
  },
  uplinks: {
    a: "an uplinks file",
    what: "uplinks",
    base: "/api/v1/setup/uplinks",
    versions: "/api/v1/setup/uplinks/versions",
    also: { ...SETUP_OFF, 404: "UPLINKS_FILE is not set." },
    secrets: ", without secrets",
    member: "content",
    body: {
      ...OBJECT,
      description:
        "A whole uplinks file; values shown as ******** stay unchanged, and `password` and `sasKey` of an uplink are written to files.",
    },
    content: UPLINKS_CONTENT,
    version: UPLINKS_VERSION,
  },
};

function operationsOf(file: FileDescription) {
  const { a, what, base, versions, also, secrets, member, body } = file;
  const saved = { response: "The new hash and the changes.", schema: SAVED_FILE } as const;
  return {
    read: {
      path: base,
      method: "get",
      summary: `The current ${what} file${secrets}. Its hash is also the ETag.`,
      also,
      response: `The file; \`${member}\` is null if it is not JSON.`,
      schema: file.content,
    },
    check: {
      path: `${base}/check`,
      method: "post",
      asks: true,
      ...(what === "uplinks" && { role: "all" }),
      summary: `Checks ${a} without writing it, and lists the changes it would make.`,
      body,
      also,
      response: "Faults, warnings and changes.",
      schema: FILE_CHECK,
    },
    save: {
      path: base,
      method: "put",
      summary: `Replaces the ${what} file and applies the difference. If-Match carries the hash of the file that was edited. Audited.`,
      body,
      also: { ...also, ...SAVE_REFUSED },
      ...saved,
    },
    versions: {
      path: versions,
      method: "get",
      summary: `The last ten ${what} files that were replaced here, newest first.`,
      also,
      response: "The versions.",
      schema: FILE_VERSIONS,
    },
    version: {
      path: `${versions}/{version}`,
      method: "get",
      summary: `One version,${secrets && " without secrets,"} and the changes that restoring it would make.`,
      params: VERSION,
      also: NOT_KEPT,
      response: "The file.",
      schema: file.version,
    },
    restore: {
      path: `${versions}/{version}/restore`,
      method: "post",
      summary: "Restores a version. If-Match as for a change. Audited.",
      params: VERSION,
      also: { ...SAVE_REFUSED, ...NOT_KEPT },
      ...saved,
    },
  } as const satisfies Record<string, Operation>;
}

const SITE = operationsOf(FILES.site);
const UPLINKS = operationsOf(FILES.uplinks);
export const SETUP_FILES_OPERATIONS: readonly Operation[] = [SITE, UPLINKS].flatMap((file) =>
  Object.values<Operation>(file),
);

/**
 * The site and uplinks files over HTTP: read, checked, replaced, and restored from one of the last ten versions. 403 while
 * SETUP_ENABLED is false.
 */
export function registerSetupFiles(
  app: FastifyInstance,
  { setup }: Pick<HttpParts, "setup">,
): void {
  registerFile(app, SITE, FILES.site, (reply) => setup?.site ?? void setupOff(reply));
  registerFile(app, UPLINKS, FILES.uplinks, (reply) =>
    setup === null ? void setupOff(reply) : (setup.uplinks ?? void refuse(reply, 404, NO_UPLINKS)),
  );
}

/** @param editing undefined if it has sent the response */
function registerFile(
  app: FastifyInstance,
  operations: ReturnType<typeof operationsOf>,
  { member }: FileDescription,
  editing: (reply: FastifyReply) => FileEditing | undefined,
): void {
  const view = ({ content, text }: { readonly content: unknown; readonly text: string | null }) =>
    member === "site" ? { site: content, text } : { content };
  serve(app, operations.read, (_request, reply) => {
    const file = editing(reply)?.read();
    if (file === undefined) return reply;
    return reply
      .header("etag", `"${file.hash}"`)
      .send({ hash: file.hash, isBlank: file.isBlank, ...view(file) });
  });
  serve(app, operations.check, (request, reply) => {
    const file = editing(reply);
    return file === undefined ? reply : reply.send(file.check(request.body));
  });
  serve(app, operations.save, async (request, reply) => {
    const file = editing(reply);
    if (file === undefined) return reply;
    const expected = expectedHash(request);
    if (expected === null) return refuse(reply, 428, NO_MATCH);
    const outcome = await file.save(request.body, expected, whoOf(request));
    return saved(request, reply, outcome, view);
  });
  serve(app, operations.versions, (_request, reply) => {
    const file = editing(reply);
    return file === undefined ? reply : reply.send({ versions: file.versions() });
  });
  serve(app, operations.version, (request, reply) => {
    const file = editing(reply);
    if (file === undefined) return reply;
    const { version } = request.params;
    const kept = file.version(version);
    if (kept === null) return refuse(reply, 404, `version ${version} is not kept`);
    return reply.send({ version, ...view(kept), changes: kept.changes });
  });
  serve(app, operations.restore, async (request, reply) => {
    const file = editing(reply);
    if (file === undefined) return reply;
    const expected = expectedHash(request);
    if (expected === null) return refuse(reply, 428, NO_MATCH);
    const { version } = request.params;
    return saved(request, reply, await file.restore(version, expected, whoOf(request)), view);
  });
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
      return refuseFaulty(reply, message, outcome.faults);
    }
    case "busy":
      return refuse(reply, 409, outcome.detail);
    case "unknown_version":
      return refuse(reply, 404, outcome.detail);
    case "not_writable":
      return refuse(reply, 500, outcome.detail);
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
