/** The state of the agent as HTTP, statistics and the command line show it. */

import { ZONES } from "../pipeline/signal/severity.ts";
import { ALARM_COUNTS } from "./alarm/shown.ts";
import { CONFIGURATION_STATE } from "./configuration/configuration.ts";
import { LANE_DEPTH } from "./delivery/delivery.ts";
import { ENGINES } from "./engine-failures.ts";
import type { FailureClass } from "./failure.ts";
import { KEPT_STATE } from "./query/measurements.ts";
import {
  INTEGER,
  known,
  list,
  MS,
  map,
  NUMBER,
  named,
  type Of,
  object,
  oneOf,
  optional,
  orNull,
  type Schema,
  TEXT,
  YES_NO,
} from "./schema.ts";
import { KINDS } from "./sensor.ts";
import { CERTIFICATE_STATE, CERTIFICATES } from "./status/certificate.ts";
import { DAY_SET_ASIDE } from "./status/set-aside.ts";

/** Topics that a broker refuses, some of them with the name of the reason. */
const REFUSED_PUBLISHES = object({
  topics: INTEGER,
  examples: list(object({ topic: TEXT, reason: TEXT })),
  text: { ...TEXT, description: "Which topics, by whom, and what to change." },
});
export type RefusedPublishes = Of<typeof REFUSED_PUBLISHES>;
/** The reason where a topic is left out because what comes there is too large for a session. */
export const NOT_RECEIVED = "not_received";

const SESSION = {
  name: oneOf(["mqtt", "sparkplug"]),
  isConnected: YES_NO,
  url: { ...TEXT, description: "The address in use, or the next one to be tried." },
  since: { ...orNull(MS), description: "When it last connected or disconnected." },
  lastError: orNull(TEXT),
  retainAvailable: optional({
    ...orNull(YES_NO),
    description: "Whether the broker supports retained messages; null without a session.",
  }),
  stolen: optional({
    ...orNull(TEXT),
    description:
      "How the session is ended again and again, as by another client that takes it over; until ten minutes after the last time.",
  }),
  brokerCertificates: optional({
    ...CERTIFICATES,
    description: "The chain that the broker showed last, its own certificate first.",
  }),
  addresses: optional({
    ...list(object({ url: TEXT, lastError: orNull(TEXT) })),
    description:
      "The broker's addresses in the order they are tried, each with why the last attempt failed.",
  }),
  otherAgent: optional({
    ...orNull(TEXT),
    description: "Another agent publishes as this site at the broker: what to do.",
  }),
  refused: {
    ...orNull(REFUSED_PUBLISHES),
    description: "Publishes that the broker refuses although the session lives.",
  },
  hostOnline: optional({
    ...orNull(YES_NO),
    description: "Sparkplug: its primary host; null without one.",
  }),
  hostDoubt: optional({ ...orNull(TEXT), description: "Why that host's STATE is in doubt." }),
};
const LINK_STATE = object(SESSION);
export type LinkState = Of<typeof LINK_STATE>;

/** A link for display: its session, and its counts. */
const LINK_STATUS = named(
  "Link",
  object({
    ...SESSION,
    uplink: TEXT,
    machines: optional({ ...YES_NO, description: "Whether conditions of machines are sent." }),
    pending: { ...INTEGER, description: "Readings waiting for this link, without waveforms." },
    oldestTimeMs: { ...orNull(MS), description: "Time of the oldest of these readings." },
    /** Messages on mqtt, readings and measurements on sparkplug. */
    delivered: { ...INTEGER, description: "Acknowledged since the agent's start." },
    /** As gateside_delivery_failures_total counts them. */
    failures: { ...map(INTEGER), description: "Publishes that failed since then, by reason." },
  }),
);
export type LinkStatus = Of<typeof LINK_STATUS>;

/** How the publish of `doctor` through a session of the running agent ended. */
export const PUBLISH_TRIAL = object({ uplink: TEXT, url: TEXT, ok: YES_NO, detail: TEXT });
export type PublishTrial = Of<typeof PUBLISH_TRIAL>;

const GATEWAY_STATE = named(
  "Gateway",
  object({
    isUp: YES_NO,
    isNeeded: {
      ...YES_NO,
      description: "False if the site file reads nothing through it (registers only).",
    },
    url: TEXT,
    lastAnswerAtMs: orNull(MS),
    lastError: orNull(TEXT),
    lastErrorClass: orNull(known<FailureClass>(TEXT)),
    skewMs: { ...orNull(NUMBER), description: "Gateway's clock minus the agent's." },
  }),
);
export type GatewayState = Of<typeof GATEWAY_STATE>;

/** Up, or not needed. */
export function isGatewayWell({ isUp, isNeeded }: Pick<GatewayState, "isUp" | "isNeeded">) {
  return isUp || isNeeded === false;
}

/** A gateway that was never contacted, as on a box without sensors, is neither up nor down. */
export function isUntried(gateway: Pick<GatewayState, "isUp" | "lastAnswerAtMs" | "lastError">) {
  return !gateway.isUp && gateway.lastAnswerAtMs === null && gateway.lastError === null;
}

/** One kind of a sensor. */
export const READS = named(
  "Reads",
  object({
    kind: oneOf(KINDS),
    lastReadingMs: orNull(MS),
    /** Learned cadence, s; null before three records. */
    cadenceS: orNull(NUMBER),
    lastReadAtMs: orNull(MS),
    lastError: orNull(TEXT),
    isSilent: optional({ ...YES_NO, description: "It has missed three expected intervals." }),
    hasRecords: optional({
      ...YES_NO,
      description: "At least one record has been read or is stored.",
    }),
  }),
);
/** From the node's own state (state reads), or the version in its records. */
export const FIRMWARE: Schema<string | number | null> = {
  ...orNull(known<string | number>({ type: ["string", "number"] })),
  description: "Of state reads.",
};
export const SIGNAL_DBM = { ...orNull(NUMBER), description: "Of state reads, dBm." };
export const ZONE = { ...orNull(oneOf(ZONES)), description: "Worst zone of its axes." };
export const SENSOR_STATES = ["online", "silent", "unknown"] as const;

const SENSOR_STATE = named(
  "SensorState",
  object({
    code: TEXT,
    state: oneOf(SENSOR_STATES),
    /** Newest reading time over its kinds. */
    lastReadingMs: orNull(MS),
    batteryV: orNull(NUMBER),
    firmware: optional(FIRMWARE),
    signalDbm: optional(SIGNAL_DBM),
    name: optional(orNull(TEXT)),
    zone: optional(ZONE),
    kinds: list(READS),
  }),
);
export type SensorState = Of<typeof SENSOR_STATE>;

/** Every read of it fails, so what it sends is unknown. */
export function isUnreadable({ kinds }: Pick<SensorState, "kinds">): boolean {
  return kinds.length > 0 && kinds.every(({ lastError }) => lastError !== null);
}

const HOURS_STATE = object({
  bytes: { ...INTEGER, description: "What hourly and daily values take, approximately." },
  limitBytes: {
    ...INTEGER,
    description: "Above it the oldest hours are merged to UTC days, then the oldest days go.",
  },
  oldestHourMs: orNull(MS),
  oldestDayMs: orNull(MS),
});
export type HoursState = Of<typeof HOURS_STATE>;

const BUFFER_STATE = named(
  "Buffer",
  object({
    lanes: {
      ...map(LANE_DEPTH),
      description: "By lane; lanes of uplinks other than main are named uplink/lane.",
    },
    readings: INTEGER,
    databaseBytes: INTEGER,
    limitBytes: INTEGER,
    diskFreeBytes: orNull(INTEGER),
    /** Hours of outage that fit into the free space at the recent rate; null while unknown. */
    hoursUntilFull: orNull(NUMBER),
    hours: HOURS_STATE,
    dropped: { ...map(INTEGER), description: "Readings dropped, by reason." },
    alarm: orNull(TEXT),
    isWritable: YES_NO,
    held: {
      ...optional(object({ by: oneOf(["reader", "writer"]), sinceMs: MS, pids: list(INTEGER) })),
      description: "Another program that holds the store open; absent while nobody does.",
    },
    notLasting: { ...optional(TEXT), description: "Why DATA_DIR does not outlast a restart." },
    kept: KEPT_STATE,
  }),
);
export type BufferState = Of<typeof BUFFER_STATE>;

const NOTIFICATION_STATE = object({
  name: oneOf(["webhook", "email", "heartbeat"]),
  lastError: orNull(TEXT),
});
export type NotificationState = Of<typeof NOTIFICATION_STATE>;

const ACTIVE_ALARMS = object({ warning: INTEGER, alarm: INTEGER });
export type ActiveAlarms = Of<typeof ACTIVE_ALARMS>;

const STATUS = {
  site: TEXT,
  version: TEXT,
  startedAtMs: MS,
  nowMs: MS,
  timezone: { ...TEXT, description: "IANA zone of the gateway." },
  gateway: GATEWAY_STATE,
  links: list(LINK_STATUS),
  buffer: BUFFER_STATE,
  sensors: list(SENSOR_STATE),
  delivered: { ...INTEGER, description: "Total of all links." },
  /** Confirmed: by a `Date` of the gateway or a new record since the start, to within a day. */
  clock: object({ skewMs: orNull(NUMBER), isPlausible: YES_NO, isConfirmed: YES_NO }),
  notifications: {
    ...list(NOTIFICATION_STATE),
    description: "Destinations of messages to people, each with why the last one failed.",
  },
  activeAlarms: {
    ...orNull(ACTIVE_ALARMS),
    description: "Active and not shelved, acknowledged ones included. Null if alarms are off.",
  },
  alarmFailures: optional({
    ...list(object({ engine: oneOf(ENGINES), lastError: TEXT, sinceMs: MS })),
    description:
      "Alarms, diagnosis or bands that fail now: readings are stored without theirs. Empty if they work.",
  }),
  certificates: {
    ...list(CERTIFICATE_STATE),
    description:
      "Those that the agent depends on. Ending: 14 days or less are left, or a third of its life.",
  },
  daysSetAside: list(DAY_SET_ASIDE),
  /** The agent's own server: why it does not listen although it should. */
  http: object({ address: orNull(TEXT), lastError: orNull(TEXT) }),
  ...CONFIGURATION_STATE,
};
const AGENT_STATUS = object(STATUS);
export type AgentStatus = Of<typeof AGENT_STATUS>;

/** As the API shows it. @param members those of features */
export const shownStatusOf = (members: Readonly<Record<string, Schema>>) =>
  named("Status", object({ ...STATUS, ...members, ...SHOWN }));

const SHOWN = {
  faults: { ...INTEGER, description: "Number of faults in /api/v1/faults." },
  alarms: {
    ...orNull(ALARM_COUNTS),
    description:
      "Numbers of alarms. Each is counted once: as shelved, otherwise as acknowledged, otherwise by severity. Null if alarms are off.",
  },
  setup: { ...YES_NO, description: "SETUP_ENABLED." },
};
const SHOWN_STATUS = object({ ...STATUS, ...SHOWN });
export type ShownStatus = Of<typeof SHOWN_STATUS>;
