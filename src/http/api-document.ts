import { READINGS_QUERY, TREND_QUERY } from "./api-readings.ts";
import {
  DAY,
  FILE_ID,
  INSTANT,
  integer,
  KIND,
  objectOf,
  type Schema,
  SENSOR,
} from "./api-schemas.ts";
import { SENSORS_QUERY } from "./api-sensors.ts";
import { SERIES_QUERY, WAVEFORMS_QUERY } from "./api-waveforms.ts";

const PROBLEM: Schema = {
  type: "object",
  properties: {
    error: {
      type: "object",
      properties: { status: { type: "integer" }, message: { type: "string" } },
    },
  },
};

interface Operation {
  readonly path: string;
  readonly method: "get" | "post";
  readonly summary: string;
  readonly query?: Schema;
  readonly params?: Schema;
  readonly body?: Schema;
  /** Answers by status other than 200 and 401. */
  readonly also?: Readonly<Record<number, string>>;
  /** Member names of the answer, told in words. */
  readonly answer: string;
  readonly answerType?: string;
}

const OPERATIONS: readonly Operation[] = [
  {
    path: "/api/v1/status",
    method: "get",
    summary: "The agent at a glance: gateway, links, buffer, clock, sensors.",
    answer:
      "AgentStatus: site, version, startedAtMs, nowMs, timezone, gateway, links, buffer, sensors, delivered, clock; faults = how many there are now.",
  },
  {
    path: "/api/v1/sensors",
    method: "get",
    summary: "Sensors by area and machine with state, zone and newest readings.",
    query: SENSORS_QUERY,
    answer:
      "total, next (cursor or null), sensors[]: configuration, state, lastReadingMs, batteryV, zone, reads[], latest{kind: reading}.",
  },
  {
    path: "/api/v1/sensors/{code}",
    method: "get",
    summary: "One sensor, as in the list.",
    params: objectOf({ code: SENSOR }, ["code"]),
    also: { 404: "No sensor of this code." },
    answer: "The sensor.",
  },
  {
    path: "/api/v1/readings",
    method: "get",
    summary: "Stored readings of a sensor and kind, in pages. The last day where no time is given.",
    query: READINGS_QUERY,
    answer:
      "next (cursor or null), readings[]: seq, id, sensor, kind, time, timeMs, storedAtMs, values, units, quality, attributes, waveforms[].",
  },
  {
    path: "/api/v1/trend",
    method: "get",
    summary:
      "The same range thinned to buckets of lowest, highest and mean, so that weeks draw fast and no spike is lost.",
    query: TREND_QUERY,
    answer:
      "sensor, kind, fromMs, toMs, bucketMs, readings, series{value: {unit, timesMs[], min[], max[], mean[], doubtful[]}}.",
  },
  {
    path: "/api/v1/waveforms",
    method: "get",
    summary: "Measurements of a sensor whose samples are stored, newest first.",
    query: WAVEFORMS_QUERY,
    answer: "waveforms[]: time, timeMs, reading, channels[]: fileId, channel, axis.",
  },
  {
    path: "/api/v1/waveform/{fileId}",
    method: "get",
    summary: "Time signal in unit 0 G, 1 mm/s², 2 mm/s, 3 in/s, 4 µm, 5 mils, 6 GE.",
    params: FILE_ID,
    query: SERIES_QUERY,
    also: { 404: "No stored samples of this id." },
    answer:
      "fileId, sensor, time, channel, axis, sampleRateHz, samples, recordingReason, unit, label, step (s), firstIndex, doubt, count, base64 (little-endian 32-bit floats).",
  },
  {
    path: "/api/v1/spectrum/{fileId}",
    method: "get",
    summary:
      "Single-sided peak-amplitude spectrum in the same units, with its largest peaks and the harmonics of the configured speed.",
    params: FILE_ID,
    query: SERIES_QUERY,
    also: { 404: "No stored samples of this id." },
    answer:
      "as waveform, with step (Hz), detection, peaks[]: frequencyHz, amplitude; speedHz, harmonicsHz[].",
  },
  {
    path: "/api/v1/gaps",
    method: "get",
    summary: "Readings that were given up, newest first.",
    query: objectOf({ limit: integer(1, 1000, 100) }),
    answer: "gaps[]: gapId, sensor, kind, fromMs, toMs, count, reason.",
  },
  {
    path: "/api/v1/faults",
    method: "get",
    summary: "What is wrong now, in plain words, each with its remedy.",
    answer:
      "faults[]: code, severity (error, warning), subject (gateway, broker, buffer, clock or a sensor's code), what, remedy, sinceMs.",
  },
  {
    path: "/api/v1/backfill",
    method: "get",
    summary: "The running or last re-read of past days.",
    answer:
      "job: null or job, request, state, startedAtMs, endedAtMs, reads{done, failed, total}, stored, duplicates, notes[].",
  },
  {
    path: "/api/v1/backfill",
    method: "post",
    summary: "Reads days again; nothing already stored is stored or sent twice.",
    body: objectOf({ from: DAY, to: DAY, sensor: SENSOR }, ["from", "to"]),
    also: { 202: "Started.", 400: "A day or sensor that cannot be read.", 409: "One is running." },
    answer: "job.",
  },
  {
    path: "/api/v1/settings",
    method: "post",
    summary: "Queues settings for a sensor on the gateway; the members of contract 8.",
    body: { type: "object" },
    answer: "ok, outcome, statusNumber, description. `queued` is never `applied`.",
  },
  {
    path: "/api/v1/events",
    method: "get",
    summary:
      "Live events (server-sent): `reading`, `gap`, `status` every 2 s, `skipped` for a reader that is too slow.",
    also: { 503: "Too many streams are open." },
    answer: "text/event-stream",
    answerType: "text/event-stream",
  },
  {
    path: "/healthz",
    method: "get",
    summary: "200 while the agent's loop and database work. Needs no token.",
    also: { 503: "One of them does not." },
    answer: "status, checks{name: {ok, detail}}.",
  },
  {
    path: "/readyz",
    method: "get",
    summary: "200 while gateway, broker and buffer are all well.",
    also: { 503: "At least one is not; each one's state is given." },
    answer: "status, checks{gateway, broker, buffer: {ok, detail}}.",
  },
];

/** The OpenAPI 3.1 document; inputs are the very schemas that requests are checked by. */
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
      schemas: { Kind: KIND, Instant: INSTANT, Problem: PROBLEM },
    },
  };
}

function describe(operation: Operation): object {
  const { summary, query, params, body, also, answer, answerType } = operation;
  const answers: Record<string, unknown> = {
    200: { description: answer, content: { [answerType ?? "application/json"]: {} } },
    ...(operation.path !== "/healthz" && { 401: problemAnswer("Token missing or wrong.") }),
    ...((query ?? params ?? body) && {
      400: problemAnswer("A parameter is wrong; the message names it."),
    }),
  };
  for (const [status, text] of Object.entries(also ?? {})) answers[status] = problemAnswer(text);
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
    content: { "application/json": { schema: { $ref: "#/components/schemas/Problem" } } },
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
