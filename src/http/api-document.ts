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
import { MACHINE_ID } from "./api-machines.ts";
import type { Operation } from "./api-operation.ts";
import { READINGS_QUERY, TREND_QUERY } from "./api-readings.ts";
import { RESPONSE, RESPONSES } from "./api-responses.ts";
import { FILE_ID, GAPS_QUERY, objectOf, type Schema, SENSOR } from "./api-schemas.ts";
import { SENSORS_QUERY } from "./api-sensors.ts";
import { SERIES_QUERY, WAVEFORMS_QUERY } from "./api-waveforms.ts";
import { AUDIT_LOG_QUERY } from "./audit.ts";

const ALARMS_OFF = { 501: "ALARMS_ENABLED is false." } as const;
const WORD_SUMMARIES: Readonly<Record<AlarmWord, string>> = {
  acknowledge: "Somebody has seen the alarm. Audited.",
  shelve: "Keeps the alarm quiet until a time, at most 31 days ahead. Audited.",
  unshelve: "Ends that at once. Audited.",
  note: "Puts a note to the alarm. Audited.",
};

const OPERATIONS: readonly Operation[] = [
  {
    path: "/api/v1/status",
    method: "get",
    summary: "The agent at a glance: gateway, links, buffer, clock, sensors.",
    answer: "The agent's state.",
    schema: RESPONSE.status,
  },
  {
    path: "/api/v1/configuration",
    method: "get",
    summary: "What is in effect, and what of settings and files is not.",
    also: { 501: "This agent has none." },
    answer: "Site and uplinks as they are in effect, without secrets.",
    schema: RESPONSE.configuration,
  },
  {
    path: "/api/v1/configuration/compare",
    method: "post",
    summary: "Which settings differ from the running ones, compared by digests keyed with a nonce.",
    body: COMPARE_BODY,
    also: { 501: "This agent has none." },
    answer: "Names of the settings that differ.",
    schema: RESPONSE.comparison,
  },
  {
    path: "/api/v1/reload",
    method: "post",
    summary: "Reads site and uplinks files again and applies what differs.",
    also: { 501: "This agent has none." },
    answer: "What was changed, or why the reload was refused; every outcome is answered with 200.",
    schema: RESPONSE.reload,
  },
  {
    path: "/api/v1/sensors",
    method: "get",
    summary: "Sensors by area and machine with state, zone and newest readings.",
    query: SENSORS_QUERY,
    answer: "A page; `next` is its successor's `cursor`, null on the last one.",
    schema: RESPONSE.sensors,
  },
  {
    path: "/api/v1/sensors/{code}",
    method: "get",
    summary: "One sensor, as in the list.",
    params: objectOf({ code: SENSOR }, ["code"]),
    also: { 404: "No sensor of this code." },
    answer: "The sensor.",
    schema: RESPONSE.sensor,
  },
  {
    path: "/api/v1/readings",
    method: "get",
    summary: "Stored readings of a sensor and kind, in pages. The last day where no time is given.",
    query: READINGS_QUERY,
    answer: "A page; `next` is its successor's `cursor`, null on the last one.",
    schema: RESPONSE.readings,
  },
  {
    path: "/api/v1/trend",
    method: "get",
    summary:
      "The same range thinned to buckets of lowest, highest and mean, so that weeks draw fast and no spike is lost.",
    query: TREND_QUERY,
    answer: "The buckets that hold a value; others are holes.",
    schema: RESPONSE.trend,
  },
  {
    path: "/api/v1/waveforms",
    method: "get",
    summary: "Measurements of a sensor whose samples are stored, newest first.",
    query: WAVEFORMS_QUERY,
    answer: "The measurements.",
    schema: RESPONSE.waveforms,
  },
  {
    path: "/api/v1/waveform/{fileId}",
    method: "get",
    summary: "Time signal in unit 0 G, 1 mm/s², 2 mm/s, 3 in/s, 4 µm, 5 mils, 6 GE.",
    params: FILE_ID,
    query: SERIES_QUERY,
    also: { 404: "No stored samples of this id." },
    answer: "The signal; empty with a `doubt` where the record cannot give it.",
    schema: RESPONSE.waveform,
  },
  {
    path: "/api/v1/spectrum/{fileId}",
    method: "get",
    summary:
      "Single-sided peak-amplitude spectrum in the same units, with its largest peaks and the harmonics of the configured speed.",
    params: FILE_ID,
    query: SERIES_QUERY,
    also: { 404: "No stored samples of this id." },
    answer: "The lines; empty with a `doubt` where the record cannot give them.",
    schema: RESPONSE.spectrum,
  },
  {
    path: "/api/v1/gaps",
    method: "get",
    summary: "Dropped readings, newest first.",
    query: GAPS_QUERY,
    answer: "The gaps.",
    schema: RESPONSE.gaps,
  },
  {
    path: "/api/v1/faults",
    method: "get",
    summary: "What is wrong now, in plain words, each with its remedy.",
    answer: "The faults; empty if there are none.",
    schema: RESPONSE.faults,
  },
  {
    path: "/api/v1/backfill",
    method: "get",
    summary: "The running or last re-read of past days.",
    answer: "The job, null before the first.",
    schema: RESPONSE.backfill,
  },
  {
    path: "/api/v1/backfill",
    method: "post",
    summary: "Reads days again; nothing already stored is stored or sent twice.",
    body: BACKFILL_BODY,
    status: 202,
    also: {
      400: "A day or sensor that cannot be read.",
      409: "One is running.",
      501: "Not available in this agent.",
    },
    answer: "The job, null before the first.",
    schema: RESPONSE.backfill,
  },
  {
    path: "/api/v1/settings",
    method: "post",
    summary:
      "Queues settings for a sensor on the gateway. What the form below does not allow is answered `rejected_local`, and kept.",
    body: SETTINGS_FORM,
    also: { 501: "Not available in this agent." },
    answer: "The outcome, also of a refusal. `queued` is never `applied`.",
    schema: RESPONSE.settings,
  },
  {
    path: "/api/v1/machines",
    method: "get",
    summary: "Machines of the site file with state, speed and how many findings stand.",
    also: ALARMS_OFF,
    answer: "The machines.",
    schema: RESPONSE.machines,
  },
  {
    path: "/api/v1/machines/{id}/findings",
    method: "get",
    summary: "What diagnosis finds on a machine, with its evidence, and what it cannot tell.",
    params: MACHINE_ID,
    also: { 404: "No machine of this id.", ...ALARMS_OFF },
    answer: "Findings that stand, and what was looked for on each sensor.",
    schema: RESPONSE.findings,
  },
  {
    path: "/api/v1/alarms",
    method: "get",
    summary: "Alarms that are active, acknowledged or shelved, and the newest events.",
    query: ALARMS_QUERY,
    also: ALARMS_OFF,
    answer: "The lists; `before` is the next page's `before`, null on the last one.",
    schema: RESPONSE.alarms,
  },
  {
    path: "/api/v1/alarms/audit",
    method: "get",
    summary: "What people said of alarms, newest first.",
    query: AUDIT_QUERY,
    also: ALARMS_OFF,
    answer: "The entries.",
    schema: RESPONSE.audit,
  },
  {
    path: "/api/v1/alarms/limits",
    method: "get",
    summary: "The fixed limits that a sensor's values are watched by.",
    query: LIMITS_QUERY,
    also: ALARMS_OFF,
    answer: "The limits; null where there is none on that side.",
    schema: RESPONSE.limits,
  },
  ...ALARM_WORDS.map(
    (word): Operation => ({
      path: `/api/v1/alarms/{id}/${word}`,
      method: "post",
      summary: WORD_SUMMARIES[word],
      params: ALARM_ID,
      body: WORD_BODIES[word],
      also: { 404: "No alarm of this id is active or shelved.", ...ALARMS_OFF },
      answer: "The alarm as it stands now.",
      schema: RESPONSE.alarm,
    }),
  ),
  {
    path: "/api/v1/baselines",
    method: "get",
    summary: "Learned limits, and those that are being learned.",
    query: BASELINES_QUERY,
    also: ALARMS_OFF,
    answer: "The baselines.",
    schema: RESPONSE.baselines,
  },
  {
    path: "/api/v1/baselines/{sensor}/{alarm}/{value}/relearn",
    method: "post",
    summary: "Learns a baseline again; an alarm based on the old one ends. Audited.",
    params: BASELINE,
    body: RELEARN_BODY,
    also: { 404: "There is no such baseline.", ...ALARMS_OFF },
    answer: "That it was done.",
    schema: RESPONSE.relearned,
  },
  ...SETUP_OPERATIONS,
  {
    path: "/api/v1/audit",
    method: "get",
    summary: "Changes with who, when, what and outcome, newest first.",
    query: AUDIT_LOG_QUERY,
    also: { 501: "This agent keeps none." },
    answer: "A page; `before` is the next page's `before`, null on the last one.",
    schema: RESPONSE.auditLog,
  },
  {
    path: "/api/v1/events",
    method: "get",
    summary:
      "Live events (server-sent): `reading`, `gap`, `status` every 2 s, `skipped` for a reader that is too slow.",
    also: { 503: "Too many streams are open." },
    answer:
      "The stream. A reading's event has its `seq` as id; after a short break the browser's Last-Event-ID brings what was missed.",
    schema: null,
    answerType: "text/event-stream",
  },
  {
    path: "/healthz",
    method: "get",
    summary: "200 while the agent's loop and database work. Needs no token.",
    alike: { 503: "One of them does not." },
    answer: "Each part.",
    schema: RESPONSE.health,
  },
  {
    path: "/readyz",
    method: "get",
    summary: "200 while gateway, broker and buffer are all well.",
    alike: { 503: "At least one is not." },
    answer: "Each one's state.",
    schema: RESPONSE.health,
  },
  {
    path: "/metrics",
    method: "get",
    summary: "Prometheus text; every name begins with gateside_.",
    answer: "The metrics.",
    schema: null,
    answerType: "text/plain",
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
        "JSON behind the dashboard. Times ending in Ms are milliseconds since 1970 UTC. With HTTP_TOKEN set every path but /healthz wants it as bearer token.",
      contact: { name: "Who runs this box" },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    // The document is served by the agent that it describes.
    servers: [{ url: "/", description: "This agent." }],
    security: [{ bearer: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: RESPONSES,
    },
  };
}

const OTHER_ORIGIN = "A page of another origin asks, or by a host name that is not answered.";

function describe(operation: Operation): object {
  const { summary, query, params, body, also, alike, answer, schema, status = 200 } = operation;
  const type = operation.answerType ?? "application/json";
  const content = { [type]: schema === null ? {} : { schema } };
  const answers: Record<string, unknown> = {
    [status]: { description: answer, content },
    ...((query ?? params ?? body) && {
      400: problemResponse("A parameter is wrong; the message names it."),
    }),
    403: problemResponse(
      operation.method === "get"
        ? OTHER_ORIGIN
        : `HTTP_VIEW_TOKEN may look and change nothing. ${OTHER_ORIGIN}`,
    ),
    ...(operation.path !== "/healthz" && {
      401: problemResponse("Token missing or wrong."),
      429: {
        ...problemResponse("Too many wrong tokens from this address."),
        headers: {
          "Retry-After": { description: "Wait so long, s.", schema: { type: "integer" } },
        },
      },
    }),
  };
  for (const [code, text] of Object.entries(also ?? {})) answers[code] = problemResponse(text);
  for (const [code, text] of Object.entries(alike ?? {})) {
    answers[code] = { description: text, content };
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
    responses: answers,
  };
}

const TAGS = {
  api: "What the dashboard shows and does.",
  health: "For supervisors and Prometheus.",
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
