/** Responses of the API as JSON Schema: shown in the OpenAPI document, and used by tests to validate real responses. */
import { FINDINGS } from "../core/diagnosis/finding.ts";
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
/** Every member is always present, except those named after it. */
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

/** By their names in the document's components. */
export const RESPONSES: Readonly<Record<string, Schema>> = {
  Status: object(
    {
      site: TEXT,
      version: TEXT,
      startedAtMs: MS,
      nowMs: MS,
      timezone: { ...TEXT, description: "IANA zone of the gateway." },
      gateway: ref("Gateway"),
      links: list(ref("Link")),
      buffer: ref("Buffer"),
      sensors: list(ref("SensorState")),
      delivered: { ...INTEGER, description: "Total of all links." },
      clock: object({ skewMs: orNull(NUMBER), isPlausible: YES_NO }),
      daysSetAside: list(
        object({ sensor: TEXT, kind: TEXT, day: TEXT, times: INTEGER, sinceMs: MS, untilMs: MS }),
      ),
      http: object({ address: orNull(TEXT), lastError: orNull(TEXT) }),
      configuration: {
        ...TEXT,
        description: "First 12 hex digits of the SHA-256 of the configuration in effect.",
      },
      pendingRestart: { ...list(TEXT), description: "Settings that differ from the running ones." },
      pendingReload: {
        ...list(TEXT),
        description: "Settings that name files that have changed since.",
      },
      configurationFaults: { ...list(TEXT), description: "Why the last reload was refused." },
      faults: { ...INTEGER, description: "Number of faults in /api/v1/faults." },
      alarms: {
        ...orNull(
          object({ alarm: INTEGER, warning: INTEGER, acknowledged: INTEGER, shelved: INTEGER }),
        ),
        description:
          "Numbers of alarms. Each is counted once: as shelved, otherwise as acknowledged, otherwise by severity. Null if alarms are off.",
      },
      setup: { ...YES_NO, description: "SETUP_ENABLED." },
      modbus: {
        ...orNull(object({ address: orNull(TEXT), clients: INTEGER, lastError: orNull(TEXT) })),
        description: "Null unless MODBUS_PORT is set; address is null while it does not listen.",
      },
    },
    ["modbus"],
  ),
  Configuration: object({
    configuration: TEXT,
    pendingRestart: list(TEXT),
    pendingReload: list(TEXT),
    faults: list(TEXT),
    site: { type: "object", description: "As in the site file, defaults filled in." },
    uplinks: { ...list({ type: "object" }), description: "Without secrets, and without main." },
  }),
  ReloadReport: object({
    outcome: oneOf(["applied", "unchanged", "refused"]),
    configuration: TEXT,
    changes: object({
      sensors: object({
        added: list(TEXT),
        removed: list(TEXT),
        changed: list(object({ code: TEXT, fields: list(TEXT) })),
      }),
      site: list(TEXT),
      uplinks: object({
        added: list(TEXT),
        removed: list(TEXT),
        changed: list(object({ name: TEXT, fields: list(TEXT) })),
      }),
    }),
    faults: list(ref("ConfigurationFault")),
    warnings: list(ref("ConfigurationFault")),
    pendingRestart: list(TEXT),
  }),
  ConfigurationFault: object({ place: TEXT, problem: TEXT, remedy: TEXT }),
  Gateway: object({
    isUp: YES_NO,
    url: TEXT,
    lastAnswerAtMs: orNull(MS),
    lastError: orNull(TEXT),
    lastErrorClass: orNull(TEXT),
    skewMs: { ...orNull(NUMBER), description: "Gateway's clock minus the agent's." },
  }),
  Link: object(
    {
      name: oneOf(["mqtt", "sparkplug"]),
      isConnected: YES_NO,
      url: { ...TEXT, description: "The address in use, or the next one to be tried." },
      since: { ...orNull(MS), description: "When it last connected or disconnected." },
      lastError: orNull(TEXT),
      retainAvailable: {
        ...orNull(YES_NO),
        description: "Whether the broker supports retained messages; null without a session.",
      },
      addresses: {
        ...list(object({ url: TEXT, lastError: orNull(TEXT) })),
        description:
          "The broker's addresses in the order they are tried, each with why the last attempt failed.",
      },
      uplink: TEXT,
      pending: { ...INTEGER, description: "Readings waiting for this link, without waveforms." },
      oldestTimeMs: { ...orNull(MS), description: "Time of the oldest of these readings." },
      hostOnline: {
        ...orNull(YES_NO),
        description: "Sparkplug: its primary host; null without one.",
      },
      hostDoubt: { ...orNull(TEXT), description: "Why that host's STATE is in doubt." },
      delivered: { ...INTEGER, description: "Acknowledged since the agent's start." },
      failures: { ...map(INTEGER), description: "Publishes that failed since then, by reason." },
    },
    ["retainAvailable", "addresses", "hostOnline", "hostDoubt"],
  ),
  Buffer: object({
    lanes: {
      type: "object",
      description: "By lane; lanes of uplinks other than main are named uplink/lane.",
      additionalProperties: object({ readings: INTEGER, oldestTimeMs: orNull(MS) }),
    },
    readings: INTEGER,
    databaseBytes: INTEGER,
    limitBytes: INTEGER,
    diskFreeBytes: orNull(INTEGER),
    hoursUntilFull: orNull(NUMBER),
    dropped: { ...map(INTEGER), description: "Readings dropped, by reason." },
    alarm: orNull(TEXT),
    isWritable: YES_NO,
  }),
  SensorState: object(
    {
      code: TEXT,
      state: oneOf(["online", "silent", "unknown"]),
      lastReadingMs: orNull(MS),
      batteryV: orNull(NUMBER),
      firmware: { ...orNull({ type: ["string", "number"] }), description: "Of state reads." },
      signalDbm: { ...orNull(NUMBER), description: "Of state reads, dBm." },
      name: orNull(TEXT),
      zone: { ...orNull(oneOf(["A", "B", "C", "D"])), description: "Worst zone of its axes." },
      kinds: list(ref("Reads")),
    },
    ["name", "zone", "firmware", "signalDbm"],
  ),
  Reads: object(
    {
      kind: oneOf(KINDS),
      lastReadingMs: orNull(MS),
      cadenceS: orNull(NUMBER),
      lastReadAtMs: orNull(MS),
      lastError: orNull(TEXT),
      isSilent: { ...YES_NO, description: "It has missed three expected intervals." },
      hasRecords: { ...YES_NO, description: "At least one record has been read or is stored." },
    },
    ["isSilent", "hasRecords"],
  ),
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
    enabled: { ...YES_NO, description: "False: kept in lists, but not read." },
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
    firmware: { ...orNull({ type: ["string", "number"] }), description: "Of state reads." },
    signalDbm: { ...orNull(NUMBER), description: "Of state reads, dBm." },
    reads: list(ref("Reads")),
    zone: { ...orNull(oneOf(["A", "B", "C", "D"])), description: "Worst zone of its axes." },
    latest: {
      type: "object",
      propertyNames: oneOf(KINDS),
      additionalProperties: ref("Reading"),
    },
  }),
  Reading: object({
    seq: { ...INTEGER, description: "Position in the order of storage." },
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
  Waveform: object({
    ...SERIES,
    stepUnit: oneOf(["s"]),
    firstIndex: INTEGER,
    overall: orNull(object({ value: NUMBER, detection: oneOf(["rms", "pp"]) })),
    ...SERIES_END,
  }),
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
  Alarm: {
    type: "object",
    description:
      "Members of the event's payload (docs/alarms.md); `id` is that of the event that raised the alarm, `eventId` that of its newest event.",
    additionalProperties: true,
    properties: { id: TEXT, sensor: TEXT, alarm: TEXT, value: TEXT },
    required: ["id", "sensor", "alarm", "value"],
  },
  Limit: object({
    alarm: TEXT,
    kind: oneOf(KINDS),
    value: TEXT,
    unit: orNull(TEXT),
    highHigh: orNull(NUMBER),
    high: orNull(NUMBER),
    low: orNull(NUMBER),
    lowLow: orNull(NUMBER),
  }),
  Baseline: object({
    sensor: TEXT,
    alarm: TEXT,
    value: TEXT,
    unit: orNull(TEXT),
    machineState: oneOf(["running", "standing", "any"]),
    status: oneOf(["learning", "learned", "zone_c", "zone_d"]),
    learned: INTEGER,
    wanted: INTEGER,
    median: orNull(NUMBER),
    mad: orNull(NUMBER),
    slow: orNull(object({ median: NUMBER, mad: NUMBER })),
    high: orNull(NUMBER),
    low: orNull(NUMBER),
  }),
  Machine: object({
    id: INTEGER,
    name: orNull(TEXT),
    state: orNull(oneOf(["running", "standing"])),
    speedRpm: orNull(NUMBER),
    sensors: list(TEXT),
    findings: INTEGER,
    worstStage: orNull(INTEGER),
  }),
  Finding: object({
    id: TEXT,
    finding: oneOf(FINDINGS),
    bearing: orNull(TEXT),
    sensor: TEXT,
    point: orNull(INTEGER),
    stage: INTEGER,
    worstStage: INTEGER,
    since: TEXT,
    lastSeen: TEXT,
    readingId: TEXT,
    inRow: INTEGER,
    speedRpm: NUMBER,
    level: NUMBER,
    unit: oneOf(["mm/s", "GE"]),
    limit: NUMBER,
    evidence: list(ref("EvidenceLine")),
    text: TEXT,
  }),
  EvidenceLine: object({
    name: TEXT,
    spectrum: oneOf(["velocity", "envelope"]),
    channel: INTEGER,
    axis: oneOf(["H", "V", "A"]),
    hz: NUMBER,
    order: NUMBER,
    amplitude: NUMBER,
    unit: oneOf(["mm/s", "GE"]),
    ratio: NUMBER,
    sideBands: list(object({ hz: NUMBER, order: NUMBER, amplitude: NUMBER })),
  }),
  CheckedSensor: object({
    sensor: TEXT,
    point: orNull(INTEGER),
    time: orNull(TEXT),
    readingId: orNull(TEXT),
    speedRpm: orNull(NUMBER),
    lookedFor: list(TEXT),
    cannotTell: list(
      object({
        finding: orNull(oneOf(FINDINGS)),
        bearing: orNull(TEXT),
        reason: TEXT,
        text: TEXT,
      }),
    ),
  }),
  AlarmAction: object({
    timeMs: MS,
    who: TEXT,
    source: TEXT,
    what: TEXT,
    subject: TEXT,
    detail: TEXT,
    outcome: TEXT,
  }),
  AuditEntry: object({
    entry: INTEGER,
    timeMs: MS,
    who: TEXT,
    address: TEXT,
    what: TEXT,
    detail: TEXT,
    outcome: TEXT,
    times: INTEGER,
    lastTimeMs: MS,
  }),
  Health: object({
    status: oneOf(["ok", "failing", "ready", "not ready"]),
    checks: map(
      object(
        {
          ok: YES_NO,
          detail: TEXT,
          uplinks: {
            ...map(object({ ok: YES_NO, detail: TEXT })),
            description: "By uplink; only for the broker, in /readyz.",
          },
        },
        ["uplinks"],
      ),
    ),
  }),
  Problem: object({ error: object({ status: INTEGER, message: TEXT }) }),
};

const FAULTS = list(object({ place: TEXT, problem: TEXT, remedy: TEXT }));

const SETUP_FILE = object({
  path: TEXT,
  trouble: { ...orNull(TEXT), description: "Why it cannot be saved." },
});
const ANYTHING: Schema = { type: ["object", "null"], additionalProperties: true };

/** Complete responses, by the names that the operations use. */
export const RESPONSE = {
  status: ref("Status"),
  configuration: ref("Configuration"),
  reload: ref("ReloadReport"),
  comparison: object({ differing: list(TEXT) }),
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
  alarms: object({
    active: list(ref("Alarm")),
    acknowledged: list(ref("Alarm")),
    shelved: list(ref("Alarm")),
    history: list({ type: "object", additionalProperties: true }),
    before: orNull(INTEGER),
  }),
  alarm: object({ alarm: ref("Alarm") }),
  limits: object({ limits: list(ref("Limit")) }),
  machines: object({ machines: list(ref("Machine")) }),
  findings: object({
    machine: ref("Machine"),
    findings: list(ref("Finding")),
    checked: list(ref("CheckedSensor")),
  }),
  audit: object({ actions: list(ref("AlarmAction")) }),
  setupSite: object({
    hash: TEXT,
    site: { type: ["object", "null"], additionalProperties: true },
    text: orNull(TEXT),
  }),
  setup: object({
    isNamed: { ...YES_NO, description: "False before the first site file." },
    sensors: INTEGER,
    mayChange: { ...YES_NO, description: "False for HTTP_VIEW_TOKEN." },
    site: SETUP_FILE,
    uplinks: { ...orNull(SETUP_FILE), description: "Null if UPLINKS_FILE is not set." },
  }),
  setupSchemas: object({ site: ANYTHING, uplinks: ANYTHING }),
  setupUplinks: object({ hash: TEXT, isBlank: YES_NO, content: ANYTHING }),
  setupUplinksVersion: object({ version: INTEGER, content: ANYTHING, changes: list(TEXT) }),
  setupProbe: object({
    day: TEXT,
    records: INTEGER,
    durationMs: NUMBER,
    error: { ...orNull(TEXT), description: "Why nothing could be read." },
    reading: orNull(
      object({
        id: TEXT,
        time: ISO,
        values: map({}),
        units: map(TEXT),
        quality: map({}),
        raw: {},
      }),
    ),
    messages: list(object({ topic: TEXT, qos: INTEGER, retain: YES_NO, payload: TEXT })),
  }),
  setupStates: object({
    reads: list(
      object({
        source: TEXT,
        time: orNull(ISO),
        values: list(
          object(
            {
              name: TEXT,
              value: {},
              unit: orNull(TEXT),
              quality: TEXT,
              otherOrder: { ...orNull(NUMBER), description: "With the words swapped." },
            },
            ["otherOrder"],
          ),
        ),
        error: { ...orNull(TEXT), description: "Why there are no values." },
      }),
    ),
  }),
  setupTried: object({ addresses: list(object({ url: TEXT, ok: YES_NO, detail: TEXT })) }),
  setupDiscovery: object({
    state: oneOf(["none", "running", "failed", "found"]),
    detail: TEXT,
    devices: INTEGER,
  }),
  setupDraft: object({
    sensors: { ...list({ type: "object" }), description: "Not in the site file yet." },
    kept: INTEGER,
    notes: list(TEXT),
    types: list(object({ type: INTEGER, count: INTEGER, example: TEXT })),
  }),
  setupCheck: object({ faults: FAULTS, warnings: FAULTS, changes: list(TEXT) }),
  setupSaved: object({ hash: TEXT, report: ref("ReloadReport") }),
  setupVersions: object({
    versions: list(object({ version: INTEGER, replacedAtMs: MS, replacedBy: TEXT, hash: TEXT })),
  }),
  setupVersion: object({
    version: INTEGER,
    site: { type: ["object", "null"], additionalProperties: true },
    text: TEXT,
    changes: list(TEXT),
  }),
  auditLog: object({ entries: list(ref("AuditEntry")), before: orNull(INTEGER) }),
  baselines: object({ baselines: list(ref("Baseline")) }),
  relearned: object({ ok: YES_NO, detail: TEXT }),
  health: ref("Health"),
  problem: ref("Problem"),
} satisfies Readonly<Record<string, Schema>>;
