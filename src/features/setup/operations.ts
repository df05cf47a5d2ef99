/** Backup and restore, what can be set up, and tests before saving. */

import { ADDRESS_REPORTS, PROBE_REPORT } from "../../core/configuration/setup.ts";
import { input, OBJECT, type Schema } from "../../core/schema.ts";
import { POLLED_KINDS } from "../../core/sensor.ts";
import { type Operation, SETUP_OFF } from "../../http/api-operation.ts";
import { choice, DAY, flag, text } from "../../http/api-schemas.ts";
import { SENSOR_ENTRY, TRY_REFUSED } from "../../http/trial.ts";
import { RESTORED, SETUP_SCHEMAS, SETUP_VIEW } from "./shown.ts";

export const BACKUP = {
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

export const RESTORE = {
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

const POLLED_KIND = choice(POLLED_KINDS);

const UPLINK_ENTRY: Schema<{ readonly name?: unknown }> = {
  ...OBJECT,
  description: "An uplink as in the uplinks file.",
};
export const SETUP = {
  path: "/api/v1/setup",
  method: "get",
  summary: "What can be set up here, and what prevents a save.",
  also: SETUP_OFF,
  response: "The two files.",
  schema: SETUP_VIEW,
} as const satisfies Operation;

export const SCHEMAS = {
  path: "/api/v1/setup/schemas",
  method: "get",
  summary: "The published schemas of both files. The forms are generated from them.",
  also: SETUP_OFF,
  response: "JSON Schemas.",
  schema: SETUP_SCHEMAS,
} as const satisfies Operation;

export const PROBE = {
  path: "/api/v1/setup/probe",
  method: "post",
  summary:
    "Reads one day of a sensor that need not be in the site file. Nothing is stored or published.",
  body: input(
    {
      sensor: SENSOR_ENTRY,
      kind: POLLED_KIND,
      date: DAY,
    },
    ["sensor", "kind"],
  ),
  also: TRY_REFUSED,
  response:
    "The newest reading and the messages it would become, or the reason why nothing was read.",
  schema: PROBE_REPORT,
} as const satisfies Operation;

export const TRY_UPLINK = {
  path: "/api/v1/setup/uplinks/test",
  method: "post",
  summary:
    "Opens and closes one session at each address of an uplink that need not be in the uplinks file.",
  body: input({ uplink: UPLINK_ENTRY }, ["uplink"]),
  also: TRY_REFUSED,
  response: "The result for each address.",
  schema: ADDRESS_REPORTS,
} as const satisfies Operation;
