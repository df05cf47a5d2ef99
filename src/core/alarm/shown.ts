/** Alarms as shown to people and programs; free of Node, because the dashboard uses it too. */
import {
  INTEGER,
  list,
  MS,
  NUMBER,
  named,
  type Of,
  object,
  oneOf,
  orNull,
  type Schema,
  TEXT,
} from "../schema.ts";
import { KINDS, type Kind } from "../sensor.ts";

const BASELINE = named(
  "Baseline",
  object({
    sensor: TEXT,
    alarm: TEXT,
    value: TEXT,
    unit: orNull(TEXT),
    /** any: no signal shows whether the machine runs. */
    machineState: oneOf(["running", "standing", "any"]),
    /** Rate, Hz, and samples of the records that it was learned of, as `6400/4096`; null: of a value without records. */
    record: orNull(TEXT),
    status: oneOf(["learning", "learned", "zone_c", "zone_d"]),
    learned: INTEGER,
    wanted: INTEGER,
    median: orNull(NUMBER),
    mad: orNull(NUMBER),
    /** The slow baseline beside the first. */
    slow: orNull(object({ median: NUMBER, mad: NUMBER })),
    high: orNull(NUMBER),
    low: orNull(NUMBER),
  }),
);
export type BaselineView = Of<typeof BASELINE>;
export const BASELINES = object({ baselines: list(BASELINE) });
export type BaselineStatus = BaselineView["status"];

/** Number of alarms, for a badge. Shelved ones are counted only there, acknowledged ones in no severity. */
export const ALARM_COUNTS = object({
  alarm: INTEGER,
  warning: INTEGER,
  acknowledged: INTEGER,
  shelved: INTEGER,
});
export type AlarmCounts = Of<typeof ALARM_COUNTS>;

/** The fixed limits of one value of a sensor; those of a baseline are with the baselines. */
const LIMIT = named(
  "Limit",
  object({
    alarm: TEXT,
    kind: oneOf(KINDS),
    value: TEXT,
    unit: orNull(TEXT),
    highHigh: orNull(NUMBER),
    high: orNull(NUMBER),
    low: orNull(NUMBER),
    lowLow: orNull(NUMBER),
  }),
);
export type LimitView = Of<typeof LIMIT>;
export const LIMITS = object({ limits: list(LIMIT) });

export const ALARM_ACTION_NAMES = ["acknowledge", "shelve", "unshelve", "note"] as const;
export type AlarmActionName = (typeof ALARM_ACTION_NAMES)[number];

export interface AlarmNote {
  readonly by: string;
  readonly time: string;
  readonly note: string | null;
}
/** An active alarm by its newest reading. */
export interface NewestShown {
  readonly measured: number | null;
  readonly limit: number | null;
  /** Of a finding. */
  readonly stage: number | null;
  readonly time: string;
  readonly text: string;
}

/** The current state of an alarm, or one of its events: members of the payload in docs/alarms.md. */
export interface ShownAlarm {
  readonly id: string;
  /** Of its newest event. */
  readonly eventId?: string;
  readonly sensor: string;
  readonly name?: string;
  readonly kind: Kind;
  readonly value: string;
  readonly alarm: string;
  readonly severity?: "warning" | "alarm";
  /** normal: shelved, and not active. */
  readonly state: "active" | "cleared" | "normal";
  readonly time?: string;
  readonly since?: string;
  readonly limit?: number | null;
  readonly measured?: number | null;
  readonly unit: string | null;
  readonly raised?: string;
  readonly worst?: { readonly measured: number | null; readonly time: string };
  readonly acknowledged: AlarmNote | null;
  readonly shelved?: (AlarmNote & { readonly until: string }) | null;
  readonly note?: AlarmNote | null;
  readonly text?: string;
  /** What it shows now; the other members are those of its last transition. Absent while it is not active. */
  readonly newest?: NewestShown;
  readonly historical?: boolean;
}
/** A stored event: a payload without `v` and `site`. */
export type ShownEvent = ShownAlarm & Required<Pick<ShownAlarm, "time" | "severity" | "text">>;
export const ALARM: Schema<ShownAlarm> = named<ShownAlarm>("Alarm", {
  type: "object",
  description:
    "Members of the event's payload (docs/alarms.md); `id` is that of the event that raised the alarm, `eventId` that of its newest event.",
  additionalProperties: true,
  properties: { id: TEXT, sensor: TEXT, alarm: TEXT, value: TEXT },
  required: ["id", "sensor", "alarm", "value"],
});
export const ALARM_LISTS = object({
  /** Neither acknowledged nor shelved. */
  active: list(ALARM),
  /** Active and acknowledged. */
  acknowledged: list(ALARM),
  /** Active or not. */
  shelved: list(ALARM),
  /** Payloads of events, newest first. */
  history: list<ShownEvent>({ type: "object", additionalProperties: true }),
  /** Position to request older events from; null at the end. */
  before: orNull(INTEGER),
});
export type AlarmLists = Of<typeof ALARM_LISTS>;

/** One entry of the audit. `source`: http, mqtt, cli; `subject`: `sensor/alarm/value`; `detail`: JSON. */
const ALARM_ACTION = named(
  "AlarmAction",
  object({
    timeMs: MS,
    who: TEXT,
    source: TEXT,
    /** acknowledge, shelve, unshelve, note, relearn. */
    what: TEXT,
    subject: TEXT,
    detail: TEXT,
    /** `done`, or why not. */
    outcome: TEXT,
  }),
);
export type AlarmAction = Of<typeof ALARM_ACTION>;
export const ALARM_ACTIONS = object({ actions: list(ALARM_ACTION) });

/** Since when an alarm stands; of an event when it happened. */
export const shownTime = ({ since, raised, time }: ShownAlarm, isEvent: boolean) =>
  isEvent ? (time ?? raised) : (since ?? raised ?? time);
