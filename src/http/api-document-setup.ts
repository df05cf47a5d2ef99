import { BACKUP_BODY, RESTORE_QUERY } from "./api-backup.ts";
import type { Operation } from "./api-operation.ts";
import { RESPONSE } from "./api-responses.ts";
import { DISCOVER_BODY, DRAFT_BODY, PROBE_BODY, PROBE_STATES_BODY, TRY_BODY } from "./api-setup.ts";
import { SETUP_VERSION, SITE_BODY, UPLINKS_BODY } from "./api-setup-files.ts";

const SETUP_OFF = { 403: "SETUP_ENABLED is false, or the token is HTTP_VIEW_TOKEN." } as const;
const NO_UPLINKS = { ...SETUP_OFF, 404: "UPLINKS_FILE is not set." } as const;
const SAVE_REFUSED = {
  409: "Another change is being saved, or a signed configuration is on trial.",
  412: "The file was changed in the meantime; the response contains its hash, its content and the changes it would make.",
  422: "The file contains errors; the response lists them with their locations. Nothing was changed.",
  428: "If-Match is missing.",
} as const;
const TRY_REFUSED = {
  ...SETUP_OFF,
  409: "Another one is running.",
  422: "There are errors; the response lists them with their locations. Nothing was tried.",
} as const;

/** Set-up in the OpenAPI document. */
export const SETUP_OPERATIONS: readonly Operation[] = [
  {
    path: "/api/v1/setup/backup",
    method: "get",
    summary: "Site and uplinks files as one document, without secrets. For HTTP_TOKEN alone.",
    also: { ...SETUP_OFF, 501: "Not available in this agent." },
    response: "The backup; `missing` names the secrets of uplinks that are not in it.",
    schema: RESPONSE.backup,
  },
  {
    path: "/api/v1/setup/restore",
    method: "post",
    summary:
      "Restores a backup: checked, kept as versions, applied by difference and tried. Audited.",
    query: RESTORE_QUERY,
    body: BACKUP_BODY,
    also: {
      ...SETUP_OFF,
      409: "Another change is being saved or on trial, or the backup is of another site.",
      422: "The backup is damaged, newer than this agent, or has errors for this box. Nothing was changed.",
      501: "Not available in this agent.",
    },
    response: "What changes or has changed, and which uplinks lack secrets here.",
    schema: RESPONSE.restored,
  },
  {
    path: "/api/v1/setup",
    method: "get",
    summary: "What can be set up here, and what prevents a save.",
    also: SETUP_OFF,
    response: "The two files.",
    schema: RESPONSE.setup,
  },
  {
    path: "/api/v1/setup/schemas",
    method: "get",
    summary: "The published schemas of both files. The forms are generated from them.",
    also: SETUP_OFF,
    response: "JSON Schemas.",
    schema: RESPONSE.setupSchemas,
  },
  {
    path: "/api/v1/setup/site",
    method: "get",
    summary: "The current site file. Its hash is also the ETag.",
    also: SETUP_OFF,
    response: "The file; `site` is null if it is not JSON.",
    schema: RESPONSE.setupSite,
  },
  {
    path: "/api/v1/setup/site/check",
    method: "post",
    summary: "Checks a site file without writing it, and lists the changes it would make.",
    body: SITE_BODY,
    also: SETUP_OFF,
    response: "Faults, warnings and changes.",
    schema: RESPONSE.setupCheck,
  },
  {
    path: "/api/v1/setup/site",
    method: "put",
    summary:
      "Replaces the site file and applies the difference. If-Match carries the hash of the file that was edited. Audited.",
    body: SITE_BODY,
    also: { ...SETUP_OFF, ...SAVE_REFUSED },
    response: "The new hash and the changes.",
    schema: RESPONSE.setupSaved,
  },
  {
    path: "/api/v1/setup/versions",
    method: "get",
    summary: "The last ten site files that were replaced here, newest first.",
    also: SETUP_OFF,
    response: "The versions.",
    schema: RESPONSE.setupVersions,
  },
  {
    path: "/api/v1/setup/versions/{version}",
    method: "get",
    summary: "One version, and the changes that restoring it would make.",
    params: SETUP_VERSION,
    also: { ...SETUP_OFF, 404: "This version is not kept." },
    response: "The file.",
    schema: RESPONSE.setupVersion,
  },
  {
    path: "/api/v1/setup/versions/{version}/restore",
    method: "post",
    summary: "Restores a version. If-Match as for a change. Audited.",
    params: SETUP_VERSION,
    also: { ...SETUP_OFF, ...SAVE_REFUSED, 404: "This version is not kept." },
    response: "The new hash and the changes.",
    schema: RESPONSE.setupSaved,
  },
  {
    path: "/api/v1/setup/uplinks",
    method: "get",
    summary: "The current uplinks file, without secrets. Its hash is also the ETag.",
    also: NO_UPLINKS,
    response: "The file; `content` is null if it is not JSON.",
    schema: RESPONSE.setupUplinks,
  },
  {
    path: "/api/v1/setup/uplinks/check",
    method: "post",
    summary: "Checks an uplinks file without writing it, and lists the changes it would make.",
    body: UPLINKS_BODY,
    also: NO_UPLINKS,
    response: "Faults, warnings and changes.",
    schema: RESPONSE.setupCheck,
  },
  {
    path: "/api/v1/setup/uplinks",
    method: "put",
    summary:
      "Replaces the uplinks file and applies the difference. If-Match carries the hash of the file that was edited. Audited.",
    body: UPLINKS_BODY,
    also: { ...NO_UPLINKS, ...SAVE_REFUSED },
    response: "The new hash and the changes.",
    schema: RESPONSE.setupSaved,
  },
  {
    path: "/api/v1/setup/uplinks/versions",
    method: "get",
    summary: "The last ten uplinks files that were replaced here, newest first.",
    also: NO_UPLINKS,
    response: "The versions.",
    schema: RESPONSE.setupVersions,
  },
  {
    path: "/api/v1/setup/uplinks/versions/{version}",
    method: "get",
    summary: "One version, without secrets, and the changes that restoring it would make.",
    params: SETUP_VERSION,
    also: { ...SETUP_OFF, 404: "This version is not kept." },
    response: "The file.",
    schema: RESPONSE.setupUplinksVersion,
  },
  {
    path: "/api/v1/setup/uplinks/versions/{version}/restore",
    method: "post",
    summary: "Restores a version. If-Match as for a change. Audited.",
    params: SETUP_VERSION,
    also: { ...SETUP_OFF, ...SAVE_REFUSED, 404: "This version is not kept." },
    response: "The new hash and the changes.",
    schema: RESPONSE.setupSaved,
  },
  {
    path: "/api/v1/setup/probe",
    method: "post",
    summary:
      "Reads one day of a sensor that need not be in the site file. Nothing is stored or published.",
    body: PROBE_BODY,
    also: TRY_REFUSED,
    response:
      "The newest reading and the messages it would become, or the reason why nothing was read.",
    schema: RESPONSE.setupProbe,
  },
  {
    path: "/api/v1/setup/probe/states",
    method: "post",
    summary:
      "Performs each state read of a sensor once; the sensor need not be in the site file. Nothing is stored.",
    body: PROBE_STATES_BODY,
    also: TRY_REFUSED,
    response: "The values of each read as they would be stored, or the reason why there are none.",
    schema: RESPONSE.setupStates,
  },
  {
    path: "/api/v1/setup/uplinks/test",
    method: "post",
    summary:
      "Opens and closes one session at each address of an uplink that need not be in the uplinks file.",
    body: TRY_BODY,
    also: TRY_REFUSED,
    response: "The result for each address.",
    schema: RESPONSE.setupTried,
  },
  {
    path: "/api/v1/setup/discover",
    method: "post",
    summary:
      "Logs in to an analytics service and requests its list of sensors. The password is not stored.",
    body: DISCOVER_BODY,
    also: { ...SETUP_OFF, 409: "A search is already running." },
    response: "The search has started.",
    status: 202,
    schema: RESPONSE.setupDiscovery,
  },
  {
    path: "/api/v1/setup/discover",
    method: "get",
    summary: "The progress of the search.",
    also: SETUP_OFF,
    response: "Its state.",
    schema: RESPONSE.setupDiscovery,
  },
  {
    path: "/api/v1/setup/discover/draft",
    method: "post",
    summary:
      "The sensors found, as entries of a site file, completed with the values in the request. Changes nothing.",
    body: DRAFT_BODY,
    also: { ...SETUP_OFF, 404: "No result yet." },
    response: "The sensors, and what remains unknown.",
    schema: RESPONSE.setupDraft,
  },
];
