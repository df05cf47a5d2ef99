import { ANSWER, ANSWERS } from "./api-answers.ts";
import { BACKFILL_BODY, SETTINGS_FORM } from "./api-commands.ts";
import { READINGS_QUERY, TREND_QUERY } from "./api-readings.ts";
import { FILE_ID, GAPS_QUERY, objectOf, type Schema, SENSOR } from "./api-schemas.ts";
import { SENSORS_QUERY } from "./api-sensors.ts";
import { SERIES_QUERY, WAVEFORMS_QUERY } from "./api-waveforms.ts";

interface Operation {
  readonly path: string;
  readonly method: "get" | "post";
  readonly summary: string;
  readonly query?: Schema;
  readonly params?: Schema;
  readonly body?: Schema;
  /** What the answer is, in a few words. */
  readonly answer: string;
  /** Its form; null for what is no JSON. */
  readonly schema: Schema | null;
  /** Status of that answer; 200 unless given. */
  readonly status?: number;
  readonly answerType?: string;
  /** Refusals other than 400 and 401. */
  readonly also?: Readonly<Record<number, string>>;
  /** Statuses that answer in the same form. */
  readonly alike?: Readonly<Record<number, string>>;
}

const OPERATIONS: readonly Operation[] = [
  {
    path: "/api/v1/status",
    method: "get",
    summary: "The agent at a glance: gateway, links, buffer, clock, sensors.",
    answer: "The agent's state.",
    schema: ANSWER.status,
  },
  {
    path: "/api/v1/sensors",
    method: "get",
    summary: "Sensors by area and machine with state, zone and newest readings.",
    query: SENSORS_QUERY,
    answer: "A page; `next` is its successor's `cursor`, null on the last one.",
    schema: ANSWER.sensors,
  },
  {
    path: "/api/v1/sensors/{code}",
    method: "get",
    summary: "One sensor, as in the list.",
    params: objectOf({ code: SENSOR }, ["code"]),
    also: { 404: "No sensor of this code." },
    answer: "The sensor.",
    schema: ANSWER.sensor,
  },
  {
    path: "/api/v1/readings",
    method: "get",
    summary: "Stored readings of a sensor and kind, in pages. The last day where no time is given.",
    query: READINGS_QUERY,
    answer: "A page; `next` is its successor's `cursor`, null on the last one.",
    schema: ANSWER.readings,
  },
  {
    path: "/api/v1/trend",
    method: "get",
    summary:
      "The same range thinned to buckets of lowest, highest and mean, so that weeks draw fast and no spike is lost.",
    query: TREND_QUERY,
    answer: "The buckets that hold a value; others are holes.",
    schema: ANSWER.trend,
  },
  {
    path: "/api/v1/waveforms",
    method: "get",
    summary: "Measurements of a sensor whose samples are stored, newest first.",
    query: WAVEFORMS_QUERY,
    answer: "The measurements.",
    schema: ANSWER.waveforms,
  },
  {
    path: "/api/v1/waveform/{fileId}",
    method: "get",
    summary: "Time signal in unit 0 G, 1 mm/s², 2 mm/s, 3 in/s, 4 µm, 5 mils, 6 GE.",
    params: FILE_ID,
    query: SERIES_QUERY,
    also: { 404: "No stored samples of this id." },
    answer: "The signal; empty with a `doubt` where the record cannot give it.",
    schema: ANSWER.waveform,
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
    schema: ANSWER.spectrum,
  },
  {
    path: "/api/v1/gaps",
    method: "get",
    summary: "Readings that were given up, newest first.",
    query: GAPS_QUERY,
    answer: "The gaps.",
    schema: ANSWER.gaps,
  },
  {
    path: "/api/v1/faults",
    method: "get",
    summary: "What is wrong now, in plain words, each with its remedy.",
    answer: "The faults; none while all is well.",
    schema: ANSWER.faults,
  },
  {
    path: "/api/v1/backfill",
    method: "get",
    summary: "The running or last re-read of past days.",
    answer: "The job, null before the first.",
    schema: ANSWER.backfill,
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
    schema: ANSWER.backfill,
  },
  {
    path: "/api/v1/settings",
    method: "post",
    summary:
      "Queues settings for a sensor on the gateway. What the form below does not allow is answered `rejected_local`, and kept.",
    body: SETTINGS_FORM,
    also: { 501: "Not available in this agent." },
    answer: "The outcome, also of a refusal. `queued` is never `applied`.",
    schema: ANSWER.settings,
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
    schema: ANSWER.health,
  },
  {
    path: "/readyz",
    method: "get",
    summary: "200 while gateway, broker and buffer are all well.",
    alike: { 503: "At least one is not." },
    answer: "Each one's state.",
    schema: ANSWER.health,
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

/** The OpenAPI 3.1 document; inputs are the very schemas that requests are checked by, but for settings, which the command room checks. */
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
    },
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: ANSWERS,
    },
  };
}

function describe(operation: Operation): object {
  const { summary, query, params, body, also, alike, answer, schema, status = 200 } = operation;
  const type = operation.answerType ?? "application/json";
  const content = { [type]: schema === null ? {} : { schema } };
  const answers: Record<string, unknown> = {
    [status]: { description: answer, content },
    ...((query ?? params ?? body) && {
      400: problemAnswer("A parameter is wrong; the message names it."),
    }),
    ...(operation.path !== "/healthz" && { 401: problemAnswer("Token missing or wrong.") }),
  };
  for (const [code, text] of Object.entries(also ?? {})) answers[code] = problemAnswer(text);
  for (const [code, text] of Object.entries(alike ?? {})) {
    answers[code] = { description: text, content };
  }
  return {
    summary,
    ...(operation.path === "/healthz" && { security: [] }),
    parameters: [...parametersOf(params, "path"), ...parametersOf(query, "query")],
    ...(body && {
      requestBody: { required: true, content: { "application/json": { schema: body } } },
    }),
    responses: answers,
  };
}

function problemAnswer(description: string): object {
  return {
    description,
    content: { "application/json": { schema: ANSWER.problem } },
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
