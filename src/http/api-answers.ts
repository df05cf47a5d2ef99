/** What the API answers, as JSON Schema: shown in the OpenAPI document, and what tests hold real answers to. */
import { LANES } from "../core/ports.ts";
import { REASONS } from "../core/quality.ts";
import { KINDS } from "../core/sensor.ts";
import type { Schema } from "./api-schemas.ts";

const TEXT: Schema = { type: "string" };
const INTEGER: Schema = { type: "integer" };
const NUMBER: Schema = { type: "number" };
const YES_NO: Schema = { type: "boolean" };
const MS: Schema = { type: "number", description: "Milliseconds since 1970 UTC." };
const ISO: Schema = { type: "string", format: "date-time" };

const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const list = (items: Schema): Schema => ({ type: "array", items });
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] });
const oneOf = (values: readonly (string | number)[]): Schema => ({ enum: values });
const map = (values: Schema): Schema => ({ type: "object", additionalProperties: values });
/** Every member is always there, but for those named after it. */
function object(
  properties: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required };
}

const SERIES = {
  fileId: INTEGER,
  sensor: TEXT,
  sensorName: orNull(TEXT),
  time: ISO,
  timeMs: MS,
  reading: { ...TEXT, description: "Id of the reading." },
  channel: INTEGER,
  axis: oneOf(["H", "V", "A"]),
  sampleRateHz: NUMBER,
  samples: INTEGER,
  recordingReason: orNull(INTEGER),
  unit: oneOf([0, 1, 2, 3, 4, 5, 6]),
  label: TEXT,
  step: NUMBER,
};
const SERIES_END = {
  doubt: orNull(ref("Doubt")),
  count: INTEGER,
  base64: {
    type: "string",
    contentEncoding: "base64",
    description: "Little-endian 32-bit floats.",
  },
};

/** By the names they have in the document's components. */
export const ANSWERS: Readonly<Record<string, Schema>> = {
  Status: object({
    site: TEXT,
    version: TEXT,
    startedAtMs: MS,
    nowMs: MS,
    timezone: { ...TEXT, description: "IANA zone of the gateway." },
    gateway: ref("Gateway"),
    links: list(ref("Link")),
    buffer: ref("Buffer"),
    sensors: list(ref("SensorState")),
    delivered: { ...INTEGER, description: "The links' together." },
    clock: object({ skewMs: orNull(NUMBER), isPlausible: YES_NO }),
    faults: { ...INTEGER, description: "How many /api/v1/faults tells." },
  }),
  Gateway: object({
    isUp: YES_NO,
    url: TEXT,
    lastAnswerAtMs: orNull(MS),
    lastError: orNull(TEXT),
    lastErrorClass: orNull(TEXT),
    skewMs: { ...orNull(NUMBER), description: "Gateway's clock minus ours." },
  }),
  Link: object(
    {
      name: oneOf(["mqtt", "sparkplug"]),
      isConnected: YES_NO,
      url: TEXT,
      since: { ...orNull(MS), description: "When it last connected or disconnected." },
      lastError: orNull(TEXT),
      hostOnline: {
        ...orNull(YES_NO),
        description: "Sparkplug: its primary host; null without one.",
      },
      hostDoubt: { ...orNull(TEXT), description: "What is odd about that host's STATE." },
      delivered: { ...INTEGER, description: "Acknowledged since the agent's start." },
      failures: { ...map(INTEGER), description: "What did not succeed since then, by reason." },
    },
    ["hostOnline", "hostDoubt"],
  ),
  Buffer: object({
    lanes: {
      type: "object",
      propertyNames: oneOf(LANES),
      additionalProperties: object({ readings: INTEGER, oldestTimeMs: orNull(MS) }),
    },
    readings: INTEGER,
    databaseBytes: INTEGER,
    limitBytes: INTEGER,
    diskFreeBytes: orNull(INTEGER),
    hoursUntilFull: orNull(NUMBER),
    dropped: { ...map(INTEGER), description: "Readings given up, by reason." },
    alarm: orNull(TEXT),
    isWritable: YES_NO,
  }),
  SensorState: object({
    code: TEXT,
    state: oneOf(["online", "silent", "unknown"]),
    lastReadingMs: orNull(MS),
    batteryV: orNull(NUMBER),
    kinds: list(ref("Reads")),
  }),
  Reads: object({
    kind: oneOf(KINDS),
    lastReadingMs: orNull(MS),
    cadenceS: orNull(NUMBER),
    lastReadAtMs: orNull(MS),
    lastError: orNull(TEXT),
  }),
  Fault: object({
    code: TEXT,
    severity: oneOf(["error", "warning"]),
    subject: { ...TEXT, description: "gateway, broker, buffer, clock, or a sensor's code." },
    what: TEXT,
    remedy: TEXT,
    sinceMs: orNull(MS),
  }),
  Gap: object(
    {
      gapId: INTEGER,
      sensor: TEXT,
      kind: oneOf(KINDS),
      fromMs: MS,
      toMs: MS,
      count: INTEGER,
      reason: TEXT,
      recordedAtMs: MS,
    },
    ["recordedAtMs"],
  ),
  Sensor: object({
    code: TEXT,
    type: INTEGER,
    name: orNull(TEXT),
    description: orNull(TEXT),
    model: orNull(TEXT),
    kinds: list(oneOf(KINDS)),
    location: orNull(
      object(
        { company: INTEGER, area: INTEGER, machine: INTEGER, point: INTEGER, names: map(TEXT) },
        ["names"],
      ),
    ),
    channels: { ...map({ type: "object" }), description: "As in the site file." },
    machineClass: orNull(TEXT),
    limits: orNull({ type: "array", items: NUMBER, minItems: 3, maxItems: 3 }),
    speedRpm: orNull(NUMBER),
    batteryLowV: orNull(NUMBER),
    state: oneOf(["online", "silent", "unknown"]),
    lastReadingMs: orNull(MS),
    batteryV: orNull(NUMBER),
    reads: list(ref("Reads")),
    zone: { ...orNull(oneOf(["A", "B", "C", "D"])), description: "The worst of its axes." },
    latest: {
      type: "object",
      propertyNames: oneOf(KINDS),
      additionalProperties: ref("Reading"),
    },
  }),
  Reading: object({
    seq: { ...INTEGER, description: "Order of storing." },
    id: TEXT,
    sensor: TEXT,
    kind: oneOf(KINDS),
    time: ISO,
    timeMs: MS,
    storedAtMs: MS,
    values: map({ type: ["number", "string", "boolean", "null"] }),
    units: map(TEXT),
    quality: {
      type: "object",
      additionalProperties: ref("Doubt"),
      description: "Only values that are not good.",
    },
    attributes: { type: "object" },
    waveforms: list(ref("WaveformRef")),
  }),
  Doubt: object({ quality: oneOf(["uncertain", "bad"]), reason: oneOf(REASONS) }),
  WaveformRef: object({ fileId: INTEGER, channel: INTEGER, axis: oneOf(["H", "V", "A"]) }),
  TrendSeries: object({
    unit: orNull(TEXT),
    timesMs: list(MS),
    min: list(NUMBER),
    max: list(NUMBER),
    mean: list(NUMBER),
    doubtful: list(INTEGER),
  }),
  Trend: object({
    sensor: TEXT,
    kind: oneOf(KINDS),
    fromMs: MS,
    toMs: MS,
    bucketMs: NUMBER,
    readings: INTEGER,
    series: map(ref("TrendSeries")),
  }),
  Measurement: object({
    time: ISO,
    timeMs: MS,
    reading: TEXT,
    channels: list(ref("WaveformRef")),
  }),
  Waveform: object({ ...SERIES, stepUnit: oneOf(["s"]), firstIndex: INTEGER, ...SERIES_END }),
  Spectrum: object({
    ...SERIES,
    stepUnit: oneOf(["Hz"]),
    detection: oneOf(["peak"]),
    peaks: list(object({ frequencyHz: NUMBER, amplitude: NUMBER })),
    speedHz: orNull(NUMBER),
    harmonicsHz: list(NUMBER),
    ...SERIES_END,
  }),
  BackfillJob: object({
    job: INTEGER,
    request: object({ from: TEXT, to: TEXT, sensor: orNull(TEXT) }),
    state: oneOf(["running", "done", "failed", "cancelled"]),
    startedAtMs: MS,
    endedAtMs: orNull(MS),
    reads: object({ done: INTEGER, failed: INTEGER, total: INTEGER }),
    stored: INTEGER,
    duplicates: INTEGER,
    notes: list(TEXT),
  }),
  SettingsOutcome: object({
    ok: YES_NO,
    outcome: oneOf(["rejected_local", "rejected_service", "queued", "unknown"]),
    statusNumber: orNull(INTEGER),
    description: TEXT,
  }),
  Health: object({
    status: oneOf(["ok", "failing", "ready", "not ready"]),
    checks: map(object({ ok: YES_NO, detail: TEXT })),
  }),
  Problem: object({ error: object({ status: INTEGER, message: TEXT }) }),
};

/** Whole answers, by what the operations name them. */
export const ANSWER = {
  status: ref("Status"),
  sensors: object({ total: INTEGER, next: orNull(INTEGER), sensors: list(ref("Sensor")) }),
  sensor: ref("Sensor"),
  readings: object({ next: orNull(TEXT), readings: list(ref("Reading")) }),
  trend: ref("Trend"),
  waveforms: object({ waveforms: list(ref("Measurement")) }),
  waveform: ref("Waveform"),
  spectrum: ref("Spectrum"),
  gaps: object({ gaps: list(ref("Gap")) }),
  faults: object({ faults: list(ref("Fault")) }),
  backfill: object({ job: orNull(ref("BackfillJob")) }),
  settings: ref("SettingsOutcome"),
  health: ref("Health"),
  problem: ref("Problem"),
} satisfies Readonly<Record<string, Schema>>;
