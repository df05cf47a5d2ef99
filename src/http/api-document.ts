import { ALARM_WORDS, type AlarmWord } from "../core/alarm/shown.ts";
import {
  ALARM_ID,
  ALARMS_QUERY,
  AUDIT_QUERY,
  BASELINE,
  BASELINES_QUERY,
  LIMITS_QUERY,
  RELEARN_BODY,
  WORD_BODIES,
} from "./api-alarms.ts";
import { BACKFILL_BODY, SETTINGS_FORM } from "./api-commands.ts";
import { COMPARE_BODY } from "./api-configuration.ts";
import { SETUP_OPERATIONS } from "./api-document-setup.ts";
import { DEBUG_BODY, LOG_QUERY } from "./api-log.ts";
import { MACHINE_ID, MACHINES_QUERY, REPORT_QUERY } from "./api-machines.ts";
import {
  AROUND_QUERY,
  DAYS_QUERY,
  MEASUREMENT_ID,
  MEASUREMENTS_QUERY,
  PIN_BODY,
  SENSOR_CODE,
  SPECTRA_QUERY,
} from "./api-measurements.ts";
import type { Operation } from "./api-operation.ts";
import { READINGS_QUERY, TREND_QUERY } from "./api-readings.ts";
import { RESPONSE, RESPONSES } from "./api-responses.ts";
import { FILE_ID, GAPS_QUERY, objectOf, type Schema, SENSOR } from "./api-schemas.ts";
import { SENSORS_QUERY } from "./api-sensors.ts";
import { SERIES_QUERY, WAVEFORMS_QUERY } from "./api-waveforms.ts";
import { AUDIT_LOG_QUERY } from "./audit.ts";

const ALARMS_OFF = { 501: "ALARMS_ENABLED is false." } as const;
const WORD_SUMMARIES: Readonly<Record<AlarmWord, string>> = {
  acknowledge: "Acknowledges an alarm. Audited.",
  shelve: "Shelves an alarm until a given time, at most 31 days ahead. Audited.",
  unshelve: "Unshelves an alarm. Audited.",
  note: "Adds a note to an alarm. Audited.",
};

const OPERATIONS: readonly Operation[] = [
  {
    path: "/api/v1/status",
    method: "get",
    summary: "The agent at a glance: gateway, links, buffer, clock, sensors.",
    response: "The agent's state.",
    schema: RESPONSE.status,
  },
  {
    path: "/api/v1/configuration",
    method: "get",
    summary: "The configuration in effect, and changes to settings and files that are pending.",
    also: { 501: "Not available in this agent." },
    response: "Site and uplinks as they are in effect, without secrets.",
    schema: RESPONSE.configuration,
  },
  {
    path: "/api/v1/configuration/compare",
    method: "post",
    summary: "Which settings differ from the running ones, compared by digests keyed with a nonce.",
    body: COMPARE_BODY,
    also: { 501: "Not available in this agent." },
    response: "Names of the settings that differ.",
    schema: RESPONSE.comparison,
  },
  {
    path: "/api/v1/reload",
    method: "post",
    summary: "Reloads the site and uplinks files and applies the differences.",
    also: { 501: "Not available in this agent." },
    response: "The changes, or why the reload was refused; 200 for every outcome.",
    schema: RESPONSE.reload,
  },
  {
    path: "/api/v1/doctor/publish",
    method: "post",
    summary:
      "Publishes {} to agent/state/doctor on every uplink, for gateside doctor on this machine.",
    also: { 403: "Not over the socket in DATA_DIR.", 501: "Not available in this agent." },
    response: "How the publish of each session ended, and what its broker refuses.",
    schema: RESPONSE.publishTrials,
  },
  {
    path: "/api/v1/sensors",
    method: "get",
    summary: "Sensors by area and machine with state, zone and newest readings.",
    query: SENSORS_QUERY,
    response: "A page; `next` is the `cursor` of the next one, null on the last page.",
    schema: RESPONSE.sensors,
  },
  {
    path: "/api/v1/sensors/{code}",
    method: "get",
    summary: "One sensor, as in the list.",
    params: objectOf({ code: SENSOR }, ["code"]),
    also: { 404: "No sensor of this code." },
    response: "The sensor.",
    schema: RESPONSE.sensor,
  },
  {
    path: "/api/v1/readings",
    method: "get",
    summary: "Stored readings of a sensor and kind, in pages. Without a time range, the last day.",
    query: READINGS_QUERY,
    response: "A page; `next` is the `cursor` of the next one, null on the last page.",
    schema: RESPONSE.readings,
  },
  {
    path: "/api/v1/trend",
    method: "get",
    summary:
      "The same range reduced to buckets with minimum, maximum and mean, so that weeks plot quickly and no spike is lost.",
    query: TREND_QUERY,
    response: "The buckets that contain a value; others are left out.",
    schema: RESPONSE.trend,
  },
  {
    path: "/api/v1/waveforms",
    method: "get",
    summary: "Measurements of a sensor whose samples are stored, newest first.",
    query: WAVEFORMS_QUERY,
    response: "The measurements.",
    schema: RESPONSE.waveforms,
  },
  {
    path: "/api/v1/waveform/{fileId}",
    method: "get",
    summary: "Time waveform in unit 0 G, 1 mm/s², 2 mm/s, 3 in/s, 4 µm, 5 mils, 6 GE.",
    params: FILE_ID,
    query: SERIES_QUERY,
    also: { 404: "No samples are stored under this id." },
    response: "The waveform; empty, with a `doubt`, if it cannot be computed from the record.",
    schema: RESPONSE.waveform,
  },
  {
    path: "/api/v1/spectrum/{fileId}",
    method: "get",
    summary:
      "Single-sided peak-amplitude spectrum in the same units, with its largest peaks and the harmonics of the configured speed.",
    params: FILE_ID,
    query: SERIES_QUERY,
    also: { 404: "No samples are stored under this id." },
    response:
      "The spectral lines; empty, with a `doubt`, if they cannot be computed from the record.",
    schema: RESPONSE.spectrum,
  },
  {
    path: "/api/v1/sensors/{code}/measurements",
    method: "get",
    summary: "Measurements of a sensor with samples, young and kept, newest first.",
    params: SENSOR_CODE,
    query: MEASUREMENTS_QUERY,
    also: { 404: "No sensor of this code." },
    response: "A page; `next` is the `cursor` of the next one, null on the last page.",
    schema: RESPONSE.measurements,
  },
  {
    path: "/api/v1/sensors/{code}/measurements/days",
    method: "get",
    summary: "Days on which a sensor has measurements.",
    params: SENSOR_CODE,
    query: DAYS_QUERY,
    also: { 404: "No sensor of this code." },
    response: "The days, oldest first.",
    schema: RESPONSE.measurementDays,
  },
  {
    path: "/api/v1/sensors/{code}/measurements/{reading}",
    method: "get",
    summary: "One measurement with its reading and its neighbours, also of one that is gone.",
    params: MEASUREMENT_ID,
    query: AROUND_QUERY,
    also: { 404: "No measurement of this reading, and no time to find its neighbours by." },
    response: "The measurement, null if it is gone, and the ones before and after it.",
    schema: RESPONSE.measurement,
  },
  {
    path: "/api/v1/sensors/{code}/measurements/{reading}/pin",
    method: "post",
    summary: "Pins a measurement, so that it stays; again, to change the note. Audited.",
    params: MEASUREMENT_ID,
    body: PIN_BODY,
    also: {
      404: "No reading of this id.",
      409: "Its samples are not stored any more.",
      507: "No room: 500 pins, or what must stay fills its quarter of the buffer.",
    },
    response: "Pinned.",
    schema: RESPONSE.pin,
  },
  {
    path: "/api/v1/sensors/{code}/measurements/{reading}/pin",
    method: "delete",
    summary: "Removes the pin of a measurement. Audited.",
    params: MEASUREMENT_ID,
    also: { 404: "No reading of this id.", 409: "Its samples are not stored any more." },
    response: "Not pinned.",
    schema: RESPONSE.pin,
  },
  {
    path: "/api/v1/sensors/{code}/spectra",
    method: "get",
    summary: "Spectra of a channel for a waterfall, evenly chosen from a range, newest first.",
    params: SENSOR_CODE,
    query: SPECTRA_QUERY,
    also: { 404: "No sensor of this code." },
    response: "At most `count` spectra of the `total` in the range.",
    schema: RESPONSE.spectra,
  },
  {
    path: "/api/v1/gaps",
    method: "get",
    summary: "Dropped readings, newest first.",
    query: GAPS_QUERY,
    response: "The gaps.",
    schema: RESPONSE.gaps,
  },
  {
    path: "/api/v1/faults",
    method: "get",
    summary: "Current faults in plain words, each with its remedy.",
    response: "The faults; empty if there are none.",
    schema: RESPONSE.faults,
  },
  {
    path: "/api/v1/backfill",
    method: "get",
    summary: "The running or most recent backfill.",
    response: "The job; null before the first one.",
    schema: RESPONSE.backfill,
  },
  {
    path: "/api/v1/backfill",
    method: "post",
    summary: "Starts a backfill, which reads days again. Nothing is stored or sent twice.",
    body: BACKFILL_BODY,
    status: 202,
    also: {
      400: "A day or sensor cannot be read.",
      409: "One is running.",
      501: "Not available in this agent.",
    },
    response: "The job; null before the first one.",
    schema: RESPONSE.backfill,
  },
  {
    path: "/api/v1/settings",
    method: "post",
    summary:
      "Queues settings for a sensor on the gateway. A request that violates the schema gets the outcome `rejected_local` and is recorded.",
    body: SETTINGS_FORM,
    also: { 501: "Not available in this agent." },
    response: "The outcome, including that of a refusal. `queued` does not mean applied.",
    schema: RESPONSE.settings,
  },
  {
    path: "/api/v1/machines",
    method: "get",
    summary:
      "Machines of the site file with state, speed and number of active findings; with `sort=worst` every machine with its condition, worst first.",
    query: MACHINES_QUERY,
    also: ALARMS_OFF,
    response: "The machines.",
    schema: RESPONSE.machines,
  },
  {
    path: "/api/v1/machines/{id}/report",
    method: "get",
    summary:
      "The report on a machine as one HTML document. Without a time range, the last 30 days.",
    params: MACHINE_ID,
    query: REPORT_QUERY,
    also: { 404: "No machine of this id." },
    response: "Its title, and the document: inline SVG, no script, nothing loaded.",
    schema: RESPONSE.report,
  },
  {
    path: "/api/v1/machines/{id}/findings",
    method: "get",
    summary: "Findings of a machine with their evidence, and the faults that could not be checked.",
    params: MACHINE_ID,
    also: { 404: "There is no machine with this id.", ...ALARMS_OFF },
    response: "Active findings, and what was checked on each sensor.",
    schema: RESPONSE.findings,
  },
  {
    path: "/api/v1/machines/{id}/outlook",
    method: "get",
    summary:
      "When rising velocities and bands of a machine will reach their next limit, or why that is not told.",
    params: MACHINE_ID,
    also: { 404: "There is no machine with this id." },
    response: "Each value with its level, limit and slope.",
    schema: RESPONSE.outlook,
  },
  {
    path: "/api/v1/alarms",
    method: "get",
    summary: "Alarms that are active, acknowledged or shelved, and the newest events.",
    query: ALARMS_QUERY,
    also: ALARMS_OFF,
    response: "The lists; `before` requests the next page, and is null on the last one.",
    schema: RESPONSE.alarms,
  },
  {
    path: "/api/v1/alarms/audit",
    method: "get",
    summary: "Actions by people on alarms, newest first.",
    query: AUDIT_QUERY,
    also: ALARMS_OFF,
    response: "The entries.",
    schema: RESPONSE.audit,
  },
  {
    path: "/api/v1/alarms/limits",
    method: "get",
    summary: "The fixed limits that apply to a sensor's values.",
    query: LIMITS_QUERY,
    also: ALARMS_OFF,
    response: "The limits; null if there is none on that side.",
    schema: RESPONSE.limits,
  },
  ...ALARM_WORDS.map(
    (word): Operation => ({
      path: `/api/v1/alarms/{id}/${word}`,
      method: "post",
      summary: WORD_SUMMARIES[word],
      params: ALARM_ID,
      body: WORD_BODIES[word],
      also: {
        404: "No active or shelved alarm has this id.",
        ...(word === "acknowledge" && { 409: "Someone else has already acknowledged it." }),
        ...ALARMS_OFF,
      },
      response: "The current state of the alarm.",
      schema: RESPONSE.alarm,
    }),
  ),
  {
    path: "/api/v1/baselines",
    method: "get",
    summary: "Learned limits, and those that are being learned.",
    query: BASELINES_QUERY,
    also: ALARMS_OFF,
    response: "The baselines.",
    schema: RESPONSE.baselines,
  },
  {
    path: "/api/v1/baselines/{sensor}/{alarm}/{value}/relearn",
    method: "post",
    summary: "Starts learning a baseline again; an alarm based on the old one ends. Audited.",
    params: BASELINE,
    body: RELEARN_BODY,
    also: { 404: "There is no such baseline.", ...ALARMS_OFF },
    response: "The outcome.",
    schema: RESPONSE.relearned,
  },
  ...SETUP_OPERATIONS,
  {
    path: "/api/v1/log",
    method: "get",
    summary:
      "The newest 5,000 lines or 2 MB of the agent's log since its start, secrets masked. For HTTP_TOKEN alone.",
    query: LOG_QUERY,
    also: { 501: "Not available in this agent." },
    response: "Lines, oldest first; with `format=jsonl` a file of them.",
    schema: RESPONSE.log,
  },
  {
    path: "/api/v1/log/debug",
    method: "post",
    summary: "Logs at level debug for up to 15 minutes; 0 ends that. Audited.",
    body: DEBUG_BODY,
    also: { 501: "Not available in this agent." },
    response: "The level in effect.",
    schema: RESPONSE.logLevel,
  },
  {
    path: "/api/v1/audit",
    method: "get",
    summary: "Changes with who, when, what and outcome, newest first.",
    query: AUDIT_LOG_QUERY,
    also: { 501: "Not available in this agent." },
    response: "A page; `before` requests the next page, and is null on the last one.",
    schema: RESPONSE.auditLog,
  },
  {
    path: "/api/v1/events",
    method: "get",
    summary:
      "Live events (server-sent): `reading`, `gap`, `status` every 2 s, `skipped` if the client is too slow.",
    also: { 503: "Too many streams are open." },
    response:
      "The stream. The id of a reading's event is its `seq`; after a short interruption, Last-Event-ID resumes with the events that were missed.",
    schema: null,
    contentType: "text/event-stream",
  },
  {
    path: "/healthz",
    method: "get",
    summary: "200 while the agent's event loop and database work. No token is required.",
    alike: { 503: "One of them does not work." },
    response: "Each part.",
    schema: RESPONSE.health,
  },
  {
    path: "/readyz",
    method: "get",
    summary: "200 while gateway, broker and buffer are all working.",
    alike: { 503: "At least one is not working." },
    response: "The state of each.",
    schema: RESPONSE.health,
  },
  {
    path: "/metrics",
    method: "get",
    summary: "Prometheus text; every name begins with gateside_.",
    response: "The metrics.",
    schema: null,
    contentType: "text/plain",
  },
];

/**
 * The OpenAPI 3.1 document. Inputs are the schemas that requests are validated with, except sensor settings, which the
 * command room checks.
 */
export function apiOperations(version: string): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of OPERATIONS) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: describe(operation) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Gateside local API",
      version,
      description:
        "JSON behind the dashboard. Times ending in Ms are milliseconds since 1970 UTC. If HTTP_TOKEN is set, every path except /healthz requires it as a bearer token.",
      contact: { name: "The operator of this box" },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    security: [{ bearer: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: RESPONSES,
    },
  };
}

const OTHER_ORIGIN =
  "The request comes from another origin, or uses a host name that is not allowed.";

function describe(operation: Operation): object {
  const { summary, query, params, body, also, alike, response, schema, status = 200 } = operation;
  const type = operation.contentType ?? "application/json";
  const content = { [type]: schema === null ? {} : { schema } };
  const byStatus: Record<string, unknown> = {
    [status]: { description: response, content },
    ...((query ?? params ?? body) && {
      400: problemResponse("A parameter is invalid; the message names it."),
    }),
    403: problemResponse(
      operation.method === "get" ? OTHER_ORIGIN : `HTTP_VIEW_TOKEN is read-only. ${OTHER_ORIGIN}`,
    ),
    ...(operation.path !== "/healthz" && {
      401: problemResponse("Token missing or wrong."),
      429: {
        ...problemResponse("Too many wrong tokens from this address."),
        headers: {
          "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } },
        },
      },
    }),
  };
  for (const [code, text] of Object.entries(also ?? {})) byStatus[code] = problemResponse(text);
  for (const [code, text] of Object.entries(alike ?? {})) {
    byStatus[code] = { description: text, content };
  }
  return {
    operationId: operationIdOf(operation),
    summary,
    description: summary,
    tags: [operation.path.startsWith("/api/") ? "api" : "health"],
    ...(operation.path === "/healthz" && { security: [] }),
    parameters: [...parametersOf(params, "path"), ...parametersOf(query, "query")],
    ...(body && {
      requestBody: { required: true, content: { "application/json": { schema: body } } },
    }),
    responses: byStatus,
  };
}

const TAGS = {
  api: "The functions of the dashboard.",
  health: "Health checks and metrics.",
} as const;

/** `getWaveformFileId` for `GET /api/v1/waveform/{fileId}`: stable as long as the path is. */
function operationIdOf({ method, path }: Operation): string {
  const words = path.replace(/^\/api\/v1/, "").match(/[A-Za-z0-9]+/g) ?? [];
  return method + words.map((word) => (word[0] ?? "").toUpperCase() + word.slice(1)).join("");
}

function problemResponse(description: string): object {
  return {
    description,
    content: { "application/json": { schema: RESPONSE.problem } },
  };
}

function parametersOf(schema: Schema | undefined, place: "path" | "query"): object[] {
  const properties = (schema?.["properties"] ?? {}) as Record<string, Schema>;
  const required = (schema?.["required"] ?? []) as readonly string[];
  return Object.entries(properties).map(([name, value]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema: value,
  }));
}
