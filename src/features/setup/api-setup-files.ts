import type { FastifyReply, FastifyRequest } from "fastify";
import { type ServedOperation, served } from "../../http/api-operation.ts";
import { whoOf } from "../../http/audit.ts";
import { problem, refuse, refuseFaulty } from "../../http/problem.ts";
import type { Setup } from "./actions.ts";
import type { FileEditor } from "./file-editor.ts";
import { type FileOperations, SITE, UPLINKS } from "./file-operations.ts";
import type { SaveOutcome } from "./shown.ts";

const NO_UPLINKS = "UPLINKS_FILE is not set: set it to a path and restart the agent";
const NO_MATCH = 'send If-Match with the hash that GET returned, in quotes, such as "3f2a…"';

/** The site and uplinks files, while SETUP_ENABLED is true. */
export const setupFiles = ({ site, uplinks }: Setup): readonly ServedOperation[] => [
  ...fileOperations(SITE, "site", () => site),
  ...fileOperations(UPLINKS, "content", (reply) => uplinks ?? void refuse(reply, 404, NO_UPLINKS)),
];

/** @param editing undefined if it has sent the response */
function fileOperations(
  operations: FileOperations,
  member: "site" | "content",
  editing: (reply: FastifyReply) => FileEditor | undefined,
): readonly ServedOperation[] {
  const view = ({ content, text }: { readonly content: unknown; readonly text: string | null }) =>
    member === "site" ? { site: content, text } : { content };
  return [
    served(operations.read, (_request, reply) => {
      const file = editing(reply)?.read();
      if (file === undefined) return reply;
      return reply
        .header("etag", `"${file.hash}"`)
        .send({ hash: file.hash, isBlank: file.isBlank, ...view(file) });
    }),
    served(operations.check, (request, reply) => {
      const file = editing(reply);
      return file === undefined ? reply : reply.send(file.check(request.body));
    }),
    served(operations.save, async (request, reply) => {
      const file = editing(reply);
      if (file === undefined) return reply;
      const expected = expectedHash(request);
      if (expected === null) return refuse(reply, 428, NO_MATCH);
      const outcome = await file.save(request.body, expected, whoOf(request));
      return saved(request, reply, outcome, view);
    }),
    served(operations.versions, (_request, reply) => {
      const file = editing(reply);
      return file === undefined ? reply : reply.send({ versions: file.versions() });
    }),
    served(operations.version, (request, reply) => {
      const file = editing(reply);
      if (file === undefined) return reply;
      const { version } = request.params;
      const kept = file.version(version);
      if (kept === null) return refuse(reply, 404, `version ${version} is not kept`);
      return reply.send({ version, ...view(kept), changes: kept.changes });
    }),
    served(operations.restore, async (request, reply) => {
      const file = editing(reply);
      if (file === undefined) return reply;
      const expected = expectedHash(request);
      if (expected === null) return refuse(reply, 428, NO_MATCH);
      const { version } = request.params;
      return saved(request, reply, await file.restore(version, expected, whoOf(request)), view);
    }),
  ];
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
