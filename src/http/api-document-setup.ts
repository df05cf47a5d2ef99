import { ANSWER } from "./api-answers.ts";
import type { Operation } from "./api-operation.ts";
import { DISCOVER_BODY, DRAFT_BODY, PROBE_BODY, TRY_BODY } from "./api-setup.ts";
import { SETUP_VERSION, SITE_BODY, UPLINKS_BODY } from "./api-setup-files.ts";

const SETUP_OFF = { 403: "SETUP_ENABLED is false, or HTTP_VIEW_TOKEN asks." } as const;
const NO_UPLINKS = { ...SETUP_OFF, 404: "UPLINKS_FILE is not set." } as const;
const SAVE_REFUSED = {
  409: "Another change is being saved, or a signed configuration is on trial.",
  412: "The file was changed meanwhile; the answer holds its hash, its content and what it would change.",
  422: "The file would have faults; the answer lists them with their places. Nothing was changed.",
  428: "If-Match is missing.",
} as const;
const TRY_REFUSED = {
  ...SETUP_OFF,
  409: "Another one is being tried.",
  422: "There are faults; the answer lists them with their places. Nothing was tried.",
} as const;

/** Set-up, as the API's document tells of it. */
export const SETUP_OPERATIONS: readonly Operation[] = [
  {
    path: "/api/v1/setup",
    method: "get",
    summary: "What may be set up here, and what stands in the way.",
    also: SETUP_OFF,
    answer: "The two files.",
    schema: ANSWER.setup,
  },
  {
    path: "/api/v1/setup/schemas",
    method: "get",
    summary: "The published schemas of both files, which forms are made of.",
    also: SETUP_OFF,
    answer: "JSON Schemas.",
    schema: ANSWER.setupSchemas,
  },
  {
    path: "/api/v1/setup/site",
    method: "get",
    summary: "The site file as it is now. Its hash is the ETag, too.",
    also: SETUP_OFF,
    answer: "The file; `site` is null where it is no JSON.",
    schema: ANSWER.setupSite,
  },
  {
    path: "/api/v1/setup/site/check",
    method: "post",
    summary: "Faults of a site file that is not written, and what it would change.",
    body: SITE_BODY,
    also: SETUP_OFF,
    answer: "Faults, warnings and changes.",
    schema: ANSWER.setupCheck,
  },
  {
    path: "/api/v1/setup/site",
    method: "put",
    summary:
      "Replaces the site file and applies the difference. If-Match names the hash it was made from. Audited.",
    body: SITE_BODY,
    also: { ...SETUP_OFF, ...SAVE_REFUSED },
    answer: "The new hash, and what was changed.",
    schema: ANSWER.setupSaved,
  },
  {
    path: "/api/v1/setup/versions",
    method: "get",
    summary: "The last ten site files that were replaced here, newest first.",
    also: SETUP_OFF,
    answer: "The versions.",
    schema: ANSWER.setupVersions,
  },
  {
    path: "/api/v1/setup/versions/{version}",
    method: "get",
    summary: "One of them, and what taking it back would change.",
    params: SETUP_VERSION,
    also: { ...SETUP_OFF, 404: "It is not kept." },
    answer: "The file.",
    schema: ANSWER.setupVersion,
  },
  {
    path: "/api/v1/setup/versions/{version}/restore",
    method: "post",
    summary: "Takes it back. If-Match as for a change. Audited.",
    params: SETUP_VERSION,
    also: { ...SETUP_OFF, ...SAVE_REFUSED, 404: "It is not kept." },
    answer: "The new hash, and what was changed.",
    schema: ANSWER.setupSaved,
  },
  {
    path: "/api/v1/setup/uplinks",
    method: "get",
    summary: "The uplinks file as it is now, without secrets. Its hash is the ETag, too.",
    also: NO_UPLINKS,
    answer: "The file; `content` is null where it is no JSON.",
    schema: ANSWER.setupUplinks,
  },
  {
    path: "/api/v1/setup/uplinks/check",
    method: "post",
    summary: "Faults of a uplinks file that is not written, and what it would change.",
    body: UPLINKS_BODY,
    also: NO_UPLINKS,
    answer: "Faults, warnings and changes.",
    schema: ANSWER.setupCheck,
  },
  {
    path: "/api/v1/setup/uplinks",
    method: "put",
    summary:
      "Replaces the uplinks file and applies the difference. If-Match names the hash it was made from. Audited.",
    body: UPLINKS_BODY,
    also: { ...NO_UPLINKS, ...SAVE_REFUSED },
    answer: "The new hash, and what was changed.",
    schema: ANSWER.setupSaved,
  },
  {
    path: "/api/v1/setup/uplinks/versions",
    method: "get",
    summary: "The last ten uplinks files that were replaced here, newest first.",
    also: NO_UPLINKS,
    answer: "The versions.",
    schema: ANSWER.setupVersions,
  },
  {
    path: "/api/v1/setup/uplinks/versions/{version}",
    method: "get",
    summary: "One of them, without secrets, and what taking it back would change.",
    params: SETUP_VERSION,
    also: { ...SETUP_OFF, 404: "It is not kept." },
    answer: "The file.",
    schema: ANSWER.setupUplinksVersion,
  },
  {
    path: "/api/v1/setup/uplinks/versions/{version}/restore",
    method: "post",
    summary: "Takes it back. If-Match as for a change. Audited.",
    params: SETUP_VERSION,
    also: { ...SETUP_OFF, ...SAVE_REFUSED, 404: "It is not kept." },
    answer: "The new hash, and what was changed.",
    schema: ANSWER.setupSaved,
  },
  {
    path: "/api/v1/setup/probe",
    method: "post",
    summary: "Reads one day of a sensor that need not be saved. Nothing is stored or published.",
    body: PROBE_BODY,
    also: TRY_REFUSED,
    answer: "The newest reading, and the messages that it would become; or why nothing was read.",
    schema: ANSWER.setupProbe,
  },
  {
    path: "/api/v1/setup/uplinks/test",
    method: "post",
    summary:
      "Opens one session at each address of an uplink that need not be saved, and leaves it.",
    body: TRY_BODY,
    also: TRY_REFUSED,
    answer: "What each address said.",
    schema: ANSWER.setupTried,
  },
  {
    path: "/api/v1/setup/discover",
    method: "post",
    summary:
      "Logs in at an analytics service and asks it for its sensors. The password is kept nowhere.",
    body: DISCOVER_BODY,
    also: { ...SETUP_OFF, 409: "It is being asked already." },
    answer: "It began.",
    status: 202,
    schema: ANSWER.setupDiscovery,
  },
  {
    path: "/api/v1/setup/discover",
    method: "get",
    summary: "How far that is.",
    also: SETUP_OFF,
    answer: "Its state.",
    schema: ANSWER.setupDiscovery,
  },
  {
    path: "/api/v1/setup/discover/draft",
    method: "post",
    summary: "What it found as sensors of a site file, with what a person adds. Changes nothing.",
    body: DRAFT_BODY,
    also: { ...SETUP_OFF, 404: "Nothing was found yet." },
    answer: "The sensors, and what could not be known.",
    schema: ANSWER.setupDraft,
  },
];
