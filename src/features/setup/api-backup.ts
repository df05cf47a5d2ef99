import type { FastifyRequest } from "fastify";
import { faultText } from "../../core/configuration/configuration-fault.ts";
import type { Of } from "../../core/schema.ts";
import type { SiteSource } from "../../core/site-source.ts";
import { type ServedOperation, served, setupOff } from "../../http/api-operation.ts";
import { whoOf } from "../../http/audit.ts";
import { isLocalSocket } from "../../http/local-socket.ts";
import { refuse, refuseFaulty } from "../../http/problem.ts";
import { JSON_UTF8 } from "../../http/shared-responses.ts";
import type { FileEditor } from "./file-editor.ts";
import { BACKUP, RESTORE } from "./operations.ts";
import type { Restorer } from "./restorer.ts";
import type { RESTORED, RestoreOutcome } from "./shown.ts";

const FAULTS_SHOWN = 10;
const STATUS = {
  busy: 409,
  changed: 409,
  other_site: 409,
  unusable: 422,
  not_writable: 500,
} as const;

/**
 * The configuration as one document. Commands on this machine need no SETUP_ENABLED.
 * @param siteFile null while that is false
 */
export function backupOperations(
  backups: Pick<Restorer, "backup" | "restore">,
  siteFile: Pick<FileEditor, "read"> | null,
  site: SiteSource,
): readonly ServedOperation[] {
  const isOff = (request: FastifyRequest) => siteFile === null && !isLocalSocket(request);
  return [
    served(BACKUP, (request, reply) => {
      if (isOff(request)) return setupOff(reply);
      const made = backups.backup();
      if ("detail" in made) return refuse(reply, 409, made.detail);
      const name = `gateside-${site.current.site.replace(/[^\w.-]+/g, "_")}-backup.json`;
      return reply
        .header("content-disposition", `attachment; filename="${name}"`)
        .type(JSON_UTF8)
        .send(`${JSON.stringify(made.backup, null, 2)}\n`);
    }),
    served(RESTORE, async (request, reply) => {
      if (isOff(request)) return setupOff(reply);
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
      return reply.send(restored(outcome, siteFile?.read().hash ?? null));
    }),
  ];
}

function restored(
  outcome: Extract<RestoreOutcome, { readonly view: unknown }>,
  hash: string | null,
): Of<typeof RESTORED> {
  const report = outcome.outcome === "saved" ? outcome.report : null;
  return { outcome: outcome.outcome, ...outcome.view, hash, report };
}
