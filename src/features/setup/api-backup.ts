import type { FastifyInstance, FastifyRequest } from "fastify";
import { faultText } from "../../core/configuration-fault.ts";
import { input, OBJECT, type Of } from "../../core/schema.ts";
import { RESTORED, type RestoreOutcome } from "../../core/setup.ts";
import { type Operation, SETUP_OFF, serve, setupOff } from "../../http/api-operation.ts";
import { flag, text } from "../../http/api-schemas.ts";
import { whoOf } from "../../http/audit.ts";
import { isLocalSocket } from "../../http/local-socket.ts";
import type { HttpParts } from "../../http/parts.ts";
import { refuse, refuseFaulty } from "../../http/problem.ts";
import { JSON_UTF8 } from "../../http/shared-responses.ts";

const FAULTS_SHOWN = 10;
const MISSING = "backup: not available in this agent";
const STATUS = {
  busy: 409,
  changed: 409,
  other_site: 409,
  unusable: 422,
  not_writable: 500,
} as const;

const BACKUP = {
  path: "/api/v1/setup/backup",
  method: "get",
  role: "all",
  summary: "Site and uplinks files as one document, without secrets. For HTTP_TOKEN alone.",
  also: {
    ...SETUP_OFF,
    409: "A file is not there or is not JSON.",
    501: "Not available in this agent.",
  },
  response: "The backup; `missing` names the secrets of uplinks that are not in it.",
  schema: { ...OBJECT, additionalProperties: true },
} as const satisfies Operation;

const RESTORE = {
  path: "/api/v1/setup/restore",
  method: "post",
  summary:
    "Restores a backup: checked, kept as versions, applied by difference and tried. Audited.",
  query: input({
    site: text(64, "Repeats the site's name of a backup of another site."),
    dryRun: flag("Only say what would change."),
    basis: text(64, "Of a dry run: restores only while the files of this box are still those."),
  }),
  body: { ...OBJECT, description: "A whole backup." },
  also: {
    ...SETUP_OFF,
    409: "Another change is being saved or on trial, the files are not those of `basis`, or the backup is of another site.",
    422: "The backup is damaged, newer than this agent, or has errors for this box. Nothing was changed.",
    501: "Not available in this agent.",
  },
  response: "What changes or has changed, and which uplinks lack secrets here.",
  schema: RESTORED,
} as const satisfies Operation;

export const BACKUP_OPERATIONS: readonly Operation[] = [BACKUP, RESTORE];

/** The configuration as one document. Commands on this machine need no SETUP_ENABLED. */
export function registerBackupApi(
  app: FastifyInstance,
  { backup: backups = null, setup, site }: Pick<HttpParts, "backup" | "setup" | "site">,
): void {
  const isOff = (request: FastifyRequest) => setup === null && !isLocalSocket(request);
  serve(app, BACKUP, (request, reply) => {
    if (isOff(request)) return setupOff(reply);
    if (backups === null) return refuse(reply, 501, MISSING);
    const made = backups.backup();
    if ("detail" in made) return refuse(reply, 409, made.detail);
    const name = `gateside-${site.current.site.replace(/[^\w.-]+/g, "_")}-backup.json`;
    return reply
      .header("content-disposition", `attachment; filename="${name}"`)
      .type(JSON_UTF8)
      .send(`${JSON.stringify(made.backup, null, 2)}\n`);
  });
  serve(app, RESTORE, async (request, reply) => {
    if (isOff(request)) return setupOff(reply);
    if (backups === null) return refuse(reply, 501, MISSING);
    const { site: repeated = null, dryRun: isDryRun, basis = null } = request.query;
    request.auditDetail = isDryRun ? "dry run" : "";
    const asked = {
      text: JSON.stringify(request.body),
      site: repeated,
      isDryRun,
      basis,
      isLocal: isLocalSocket(request),
    };
    const outcome = await backups.restore(asked, whoOf(request));
    if ("detail" in outcome) return refuse(reply, STATUS[outcome.outcome], outcome.detail);
    if (outcome.outcome === "faults") {
      // Commands show the message alone.
      const first = outcome.faults.slice(0, FAULTS_SHOWN).map(faultText).join("; ");
      const message = `the backup contains errors for this box; nothing was changed: ${first}`;
      return refuseFaulty(reply, message, outcome.faults);
    }
    return reply.send(restored(outcome, setup?.site.read().hash ?? null));
  });
}

function restored(
  outcome: Extract<RestoreOutcome, { readonly view: unknown }>,
  hash: string | null,
): Of<typeof RESTORED> {
  const report = outcome.outcome === "saved" ? outcome.report : null;
  return { outcome: outcome.outcome, ...outcome.view, hash, report };
}
