import { KINDS } from "../core/sensor.ts";
import {
  INTEGER,
  list,
  MS,
  map,
  NUMBER,
  object,
  oneOf,
  orNull,
  ref,
  TEXT,
  YES_NO,
} from "./api-response-schema.ts";
import type { Schema } from "./api-schemas.ts";

/** The state of the agent, its connections and its buffer. */
export const AGENT_RESPONSES: Readonly<Record<string, Schema>> = {
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
      clock: object({ skewMs: orNull(NUMBER), isPlausible: YES_NO, isConfirmed: YES_NO }),
      notifications: {
        ...list(
          object({ name: oneOf(["webhook", "email", "heartbeat"]), lastError: orNull(TEXT) }),
        ),
        description: "Destinations of messages to people, each with why the last one failed.",
      },
      activeAlarms: {
        ...orNull(object({ warning: INTEGER, alarm: INTEGER })),
        description: "Active and not shelved, acknowledged ones included. Null if alarms are off.",
      },
      certificates: {
        ...list(
          object({
            uplink: { ...TEXT, description: "Empty for the box's own." },
            file: { ...TEXT, description: "Base name of the file; `broker` for the broker's." },
            setting: { ...orNull(TEXT), description: "What names the file." },
            subject: TEXT,
            fingerprint: { ...TEXT, description: "SHA-256." },
            fromMs: MS,
            untilMs: MS,
            daysLeft: { ...INTEGER, description: "Negative once it has ended." },
            state: oneOf(["valid", "ending", "ended"]),
            isRenewedByRestart: YES_NO,
          }),
        ),
        description:
          "Those that the agent depends on. Ending: 14 days or less are left, or a third of its life.",
      },
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
      renewedByRestart: {
        ...list(TEXT),
        description: "Settings whose files below $CREDENTIALS_DIRECTORY are copies of the start.",
      },
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
      consequences: list(TEXT),
      uplinks: object({
        added: list(TEXT),
        removed: list(TEXT),
        changed: list(object({ name: TEXT, fields: list(TEXT) })),
      }),
    }),
    faults: list(ref("ConfigurationFault")),
    warnings: list(ref("ConfigurationFault")),
    pendingRestart: list(TEXT),
    renewedByRestart: list(TEXT),
  }),
  ConfigurationFault: object({ place: TEXT, problem: TEXT, remedy: TEXT }),
  Gateway: object({
    isUp: YES_NO,
    isNeeded: {
      ...YES_NO,
      description: "False if the site file reads nothing through it (registers only).",
    },
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
      stolen: {
        ...orNull(TEXT),
        description:
          "Another client takes the session over again and again; until ten minutes after the last time.",
      },
      brokerCertificates: {
        ...list(object({ subject: TEXT, fingerprint: TEXT, fromMs: MS, untilMs: MS })),
        description: "The chain that the broker showed last, its own certificate first.",
      },
      addresses: {
        ...list(object({ url: TEXT, lastError: orNull(TEXT) })),
        description:
          "The broker's addresses in the order they are tried, each with why the last attempt failed.",
      },
      otherAgent: {
        ...orNull(TEXT),
        description: "Another agent publishes as this site at the broker: what to do.",
      },
      refused: {
        ...orNull(
          object({
            topics: INTEGER,
            examples: list(object({ topic: TEXT, reason: TEXT })),
            text: { ...TEXT, description: "Which topics, by whom, and what to change." },
          }),
        ),
        description: "Publishes that the broker refuses although the session lives.",
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
    [
      "retainAvailable",
      "stolen",
      "brokerCertificates",
      "addresses",
      "hostOnline",
      "hostDoubt",
      "otherAgent",
    ],
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
    hours: object({
      bytes: { ...INTEGER, description: "What hourly and daily values take, approximately." },
      limitBytes: {
        ...INTEGER,
        description: "Above it the oldest hours are merged to UTC days, then the oldest days go.",
      },
      oldestHourMs: orNull(MS),
      oldestDayMs: orNull(MS),
    }),
    dropped: { ...map(INTEGER), description: "Readings dropped, by reason." },
    alarm: orNull(TEXT),
    isWritable: YES_NO,
    kept: object({
      measurements: INTEGER,
      pins: INTEGER,
      bytes: INTEGER,
      limitBytes: INTEGER,
      isFull: { ...YES_NO, description: "What must stay fills the room: new ones are not kept." },
    }),
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
};
