/** Responses of the API as JSON Schema: shown in the OpenAPI document, and used by tests to validate real responses. */
import {
  INTEGER,
  list,
  MS,
  map,
  object,
  oneOf,
  orNull,
  ref,
  TEXT,
  YES_NO,
} from "./api-response-schema.ts";
import { AGENT_RESPONSES } from "./api-responses-agent.ts";
import { ALARM_RESPONSES } from "./api-responses-alarms.ts";
import { READING_RESPONSES } from "./api-responses-readings.ts";
import { SETUP_RESPONSE } from "./api-responses-setup.ts";
import type { Schema } from "./api-schemas.ts";

/** By their names in the document's components. */
export const RESPONSES: Readonly<Record<string, Schema>> = {
  ...AGENT_RESPONSES,
  ...READING_RESPONSES,
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
  ...ALARM_RESPONSES,
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

/** Complete responses, by the names that the operations use. */
export const RESPONSE = {
  status: ref("Status"),
  configuration: ref("Configuration"),
  reload: ref("ReloadReport"),
  publishTrials: object({
    uplinks: list(object({ uplink: TEXT, url: TEXT, ok: YES_NO, detail: TEXT })),
  }),
  comparison: object({ differing: list(TEXT) }),
  sensors: object({ total: INTEGER, next: orNull(INTEGER), sensors: list(ref("Sensor")) }),
  sensor: ref("Sensor"),
  readings: object({ next: orNull(TEXT), readings: list(ref("Reading")) }),
  trend: ref("Trend"),
  waveforms: object({ waveforms: list(ref("Measurement")) }),
  measurements: object({
    measurements: list(ref("StoredMeasurement")),
    next: orNull(TEXT),
  }),
  measurementDays: object({
    days: { ...list(TEXT), description: "Calendar days of the gateway's zone, yyyy-MM-dd." },
  }),
  measurement: object({
    measurement: orNull(ref("StoredMeasurement")),
    older: orNull(ref("StoredMeasurement")),
    newer: orNull(ref("StoredMeasurement")),
    since: { ...orNull(TEXT), description: "Time of the oldest measurement of the sensor." },
    reading: orNull(ref("Reading")),
  }),
  report: object({ title: TEXT, html: TEXT }),
  pin: object({ pinned: YES_NO, note: orNull(TEXT) }),
  spectra: ref("Spectra"),
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
  machines: object({
    machines: list({ anyOf: [ref("Machine"), ref("RankedMachine")] }),
  }),
  findings: object({
    machine: ref("Machine"),
    findings: list(ref("Finding")),
    checked: list(ref("CheckedSensor")),
  }),
  outlook: object({ machine: INTEGER, values: list(ref("ValueOutlook")) }),
  audit: object({ actions: list(ref("AlarmAction")) }),
  ...SETUP_RESPONSE,
  auditLog: object({ entries: list(ref("AuditEntry")), before: orNull(INTEGER) }),
  log: object({
    level: TEXT,
    debugUntilMs: orNull(MS),
    last: { ...INTEGER, description: "`after` of the next request." },
    dropped: { ...INTEGER, description: "Lines since the start that are no longer kept." },
    lines: list({ type: "object", additionalProperties: true }),
  }),
  backup: { type: "object", additionalProperties: true },
  restored: object({
    outcome: oneOf(["planned", "unchanged", "saved"]),
    unchanged: YES_NO,
    changes: list(TEXT),
    disabled: {
      ...list(TEXT),
      description: "Uplinks that are not used here, with what they lack.",
    },
    nextStart: { ...YES_NO, description: "In effect at the next start only." },
    hash: orNull(TEXT),
    report: orNull(ref("ReloadReport")),
  }),
  logLevel: object({ level: TEXT, debugUntilMs: orNull(MS) }),
  baselines: object({ baselines: list(ref("Baseline")) }),
  relearned: object({ ok: YES_NO, detail: TEXT }),
  health: ref("Health"),
  problem: ref("Problem"),
} satisfies Readonly<Record<string, Schema>>;
