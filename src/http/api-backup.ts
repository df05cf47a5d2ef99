import type { FastifyInstance, FastifyRequest } from "fastify";
import { faultText } from "../core/configuration.ts";
import type { RestoreOutcome } from "../core/setup.ts";
import { isLocalSocket } from "./api-commands.ts";
import { objectOf, type Schema, text } from "./api-schemas.ts";
import { setupOff } from "./api-setup-files.ts";
import { whoOf } from "./audit.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { shallowBody } from "./shallow-body.ts";

export const BACKUP_BODY: Schema = { type: "object", description: "A whole backup." };
export const RESTORE_QUERY = objectOf({
  site: text(64, "Repeats the site's name of a backup of another site."),
  dryRun: { type: "boolean", default: false, description: "Only say what would change." },
});

const FAULTS_SHOWN = 10;
const MISSING = problem(501, "backup: not available in this agent");
const STATUS = { busy: 409, other_site: 409, unusable: 422, not_writable: 500 } as const;

/** The configuration as one document. Commands on this machine need no SETUP_ENABLED. */
export function registerBackupApi(
  app: FastifyInstance,
  { backup: desk = null, setup, site }: Pick<HttpParts, "backup" | "setup" | "site">,
): void {
  const isOff = (request: FastifyRequest) => setup === null && !isLocalSocket(request);
  app.get("/api/v1/setup/backup", (request, reply) => {
    if (isOff(request)) return setupOff(reply) ?? reply;
    if (desk === null) return reply.code(501).send(MISSING);
    const name = `gateside-${site.current.site.replace(/[^\w.-]+/g, "_")}-backup.json`;
    return reply
      .header("content-disposition", `attachment; filename="${name}"`)
      .type("application/json; charset=utf-8")
      .send(`${JSON.stringify(desk.backup(), null, 2)}\n`);
  });
  app.post<{ Body: object; Querystring: { site?: string; dryRun: boolean } }>(
    "/api/v1/setup/restore",
    { schema: { body: BACKUP_BODY, querystring: RESTORE_QUERY }, preValidation: shallowBody },
    async (request, reply) => {
      if (isOff(request)) return setupOff(reply) ?? reply;
      if (desk === null) return reply.code(501).send(MISSING);
      const { site: repeated = null, dryRun: isDryRun } = request.query;
      request.auditDetail = isDryRun ? "dry run" : "";
      const asked = { text: JSON.stringify(request.body), site: repeated, isDryRun };
      const outcome = await desk.restore(asked, whoOf(request));
      if ("detail" in outcome)
        return reply
          .code(STATUS[outcome.outcome])
          .send(problem(STATUS[outcome.outcome], outcome.detail));
      if (outcome.outcome === "faults") {
        // Commands show the message alone.
        const first = outcome.faults.slice(0, FAULTS_SHOWN).map(faultText).join("; ");
        const message = `the backup contains errors for this box; nothing was changed: ${first}`;
        return reply.code(422).send({ ...problem(422, message), faults: outcome.faults });
      }
      return reply.send(restored(outcome, setup?.site.read().hash ?? null));
    },
  );
}

function restored(
  outcome: Extract<RestoreOutcome, { readonly view: unknown }>,
  hash: string | null,
): object {
  const report = outcome.outcome === "saved" ? outcome.report : null;
  return { outcome: outcome.outcome, ...outcome.view, hash, report };
}
