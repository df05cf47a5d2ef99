/** One state per machine (plant section 20), from what is known of it now. */

import type { Severity } from "../../../core/alarm/event.ts";
import type { CONDITIONS, MARKS, UNKNOWN_REASONS } from "../../../core/condition/words.ts";
import type { Stage } from "../../../core/diagnosis/finding.ts";
import { DAY_MS } from "../../../core/time-units.ts";
import { worstZone, type Zone } from "../../../pipeline/signal/severity.ts";
import type { StandingAlarm } from "../../alarms/api.ts";

type Condition = (typeof CONDITIONS)[number];
type UnknownReason = (typeof UNKNOWN_REASONS)[number];

interface Mark {
  readonly sensor: string;
  readonly mark: (typeof MARKS)[number];
  /** A sentence. */
  readonly text: string;
}

/** An active alarm of one of the machine's sensors. */
export interface OpenAlarm extends StandingAlarm {
  /** Of a finding; otherwise null. */
  readonly stage: Stage | null;
}

export interface ConditionSensor {
  readonly code: string;
  /** As a sentence begins with it. */
  readonly name: string;
  /** False: disabled in the site file. */
  readonly isRead: boolean;
  /** Null: it was never read. */
  readonly lastReadingMs: number | null;
  /** No kind of it, or not all, missed three intervals. */
  readonly isFresh: boolean;
  /** It has a machine class or limits, or a rule, baseline or finding judges a value of its newest readings. */
  readonly isJudged: boolean;
  /** A reading younger than three intervals was judged. */
  readonly isJudgedNow: boolean;
  /** Of its last record of the running machine. */
  readonly zone: Zone | null;
  readonly isBatteryLow: boolean;
}

/** A machine, or a sensor without one. */
export interface ConditionInput {
  /** Null while there is no signal, or no recent value of it. */
  readonly state: "running" | "standing" | null;
  /** Null unless it stands. */
  readonly standing: ConditionSince | null;
  readonly sensors: readonly ConditionSensor[];
  /** Null while alarms are disabled: zones then speak for themselves. */
  readonly alarms: readonly OpenAlarm[] | null;
  /** The one that begins first; null without any. */
  readonly outlook: EarliestOutlook | null;
  readonly nowMs: number;
}

export interface EarliestOutlook {
  readonly fromMs: number;
  /** A sentence. */
  readonly text: string;
}

export interface ConditionSince {
  readonly timeMs: number;
  /** Storage begins there: it may be longer. */
  readonly isAtLeast: boolean;
}

export interface MachineCondition {
  readonly condition: Condition;
  /** A sentence. */
  readonly reason: string;
  /** Null unless the condition is unknown. */
  readonly unknown: UnknownReason | null;
  readonly since: ConditionSince | null;
  /** Those that make the condition, the worst first. */
  readonly alarms: readonly OpenAlarm[];
  /** True if each of them is acknowledged. */
  readonly isAcknowledged: boolean;
  readonly stage: Stage | null;
  readonly zone: Zone | null;
  /** When the earliest outlook begins, ms; null without one. */
  readonly outlookMs: number | null;
  readonly marks: readonly Mark[];
}

/** An outlook that begins within it is something to watch. */
const WATCH_MS = 60 * DAY_MS;

/** When the machine becomes something to watch, ms. */
export const watchBeginsMs = ({ fromMs }: EarliestOutlook) => fromMs - WATCH_MS;

/** They are the sensor's: they say nothing of the machine. */
const SENSOR_ALARMS: ReadonlySet<string> = new Set(["silent", "battery_low", "bad_quality"]);

export function machineCondition(input: ConditionInput): MachineCondition {
  const all = input.alarms ?? [];
  const shelved = all.filter(({ isShelved }) => isShelved);
  const alarms = all
    .filter(({ alarm, isShelved }) => !isShelved && !SENSOR_ALARMS.has(alarm))
    .toSorted(worseAlarm);
  const common = {
    alarms,
    isAcknowledged: false,
    stage: alarms.reduce<Stage | null>((worst, { stage }) => higher(worst, stage), null),
    zone: zoneOf(input.sensors, shelved),
    outlookMs: input.outlook?.fromMs ?? null,
    marks: marksOf(input),
    unknown: null,
  };
  const [worst] = alarms;
  if (worst !== undefined)
    return {
      ...common,
      condition: worst.severity,
      reason: withRest(worst.text, alarms.length - 1),
      since: { timeMs: worst.sinceMs, isAtLeast: false },
      // An acknowledged warning beside an alarm says nothing of the alarm.
      isAcknowledged: alarms.every((one) => one.severity !== worst.severity || one.isAcknowledged),
    };
  const unknown = unknownReason(input);
  // Without alarms the zone says it, while it is one of now.
  const isZoneAlone = input.alarms === null && unknown === null;
  const severity = isZoneAlone ? ZONE_SEVERITIES[common.zone ?? ""] : undefined;
  if (severity !== undefined)
    return { ...common, condition: severity, reason: `In zone ${common.zone}.`, since: null };
  const { outlook, nowMs } = input;
  if (outlook !== null && watchBeginsMs(outlook) <= nowMs)
    return { ...common, condition: "watch", reason: outlook.text, since: null };
  if (unknown !== null)
    return {
      ...common,
      condition: "unknown",
      unknown,
      reason: UNKNOWN_TEXTS[unknown],
      since: unknown === "no_recent_reading" ? lastReading(input.sensors) : null,
    };
  const zone = common.zone === null ? "" : ` in zone ${common.zone}`;
  if (input.state === "standing")
    return {
      ...common,
      condition: "standing",
      reason: zone === "" ? "The machine stands." : `The machine stands; it last ran${zone}.`,
      since: input.standing,
    };
  const reason = zone === "" ? "Within its limits." : `Runs${zone}.`;
  return { ...common, condition: "ok", reason, since: null };
}

/** As the built-in alarms say it. */
const ZONE_SEVERITIES: Readonly<Record<string, Severity>> = { C: "warning", D: "alarm" };

const UNKNOWN_TEXTS: Readonly<Record<UnknownReason, string>> = {
  no_sensor: "No sensor is assigned to this machine.",
  not_read: "Its sensors are disabled in the site file.",
  never_read: "No reading yet: its sensors were never read.",
  no_recent_reading: "No reading within three intervals.",
  nothing_judged: "No machine class is set, and nothing judges its values.",
  no_recent_judgement: "No reading within three intervals could be judged.",
};

/** Why nothing can be said of a machine without an open alarm; null if something can. */
function unknownReason({ sensors, state }: ConditionInput): UnknownReason | null {
  if (sensors.length === 0) return "no_sensor";
  const read = sensors.filter(({ isRead }) => isRead);
  if (read.length === 0) return "not_read";
  if (read.every(({ lastReadingMs }) => lastReadingMs === null)) return "never_read";
  if (!read.some(({ isFresh }) => isFresh)) return "no_recent_reading";
  if (!read.some(({ isJudged }) => isJudged)) return "nothing_judged";
  // A machine that stands is judged by its last running record.
  if (state === "standing" || read.some(({ isJudgedNow }) => isJudgedNow)) return null;
  return "no_recent_judgement";
}

function lastReading(sensors: readonly ConditionSensor[]): ConditionSince | null {
  const times = sensors.flatMap(({ lastReadingMs }) => lastReadingMs ?? []);
  return times.length === 0 ? null : { timeMs: Math.max(...times), isAtLeast: false };
}

function marksOf({ sensors, alarms }: ConditionInput): Mark[] {
  const own = sensors.flatMap((sensor): Mark[] => {
    const { code, name, isRead, isFresh, lastReadingMs, isBatteryLow } = sensor;
    const marks: Mark[] = [];
    if (isRead && lastReadingMs === null)
      marks.push({ sensor: code, mark: "never_read", text: `${name} was never read.` });
    else if (isRead && !isFresh)
      marks.push({ sensor: code, mark: "silent", text: `${name} is silent.` });
    if (isBatteryLow)
      marks.push({ sensor: code, mark: "battery_low", text: `${name} has a low battery.` });
    return marks;
  });
  const told = (alarms ?? []).flatMap(({ sensor, alarm, isShelved, text }): Mark[] => {
    if (isShelved) return [{ sensor, mark: "shelved", text: `Shelved: ${text}` }];
    return alarm === "bad_quality" ? [{ sensor, mark: "bad_quality", text }] : [];
  });
  return [...own, ...told];
}

/** The worst zone; that of a sensor whose zone alarm is shelved does not count. */
function zoneOf(sensors: readonly ConditionSensor[], shelved: readonly OpenAlarm[]): Zone | null {
  const isShelved = (code: string) =>
    shelved.some(({ sensor, alarm }) => alarm === "zone" && sensor === code);
  return worstZone(sensors.map(({ code, zone }) => (isShelved(code) ? null : zone)));
}

/** Worst first: severity, unacknowledged, stage, longest. */
function worseAlarm(a: OpenAlarm, b: OpenAlarm): number {
  return (
    severityRank(b) - severityRank(a) ||
    Number(a.isAcknowledged) - Number(b.isAcknowledged) ||
    (b.stage ?? 0) - (a.stage ?? 0) ||
    a.sinceMs - b.sinceMs
  );
}

const severityRank = ({ severity }: OpenAlarm) => (severity === "alarm" ? 2 : 1);

const higher = (a: Stage | null, b: Stage | null) => ((b ?? 0) > (a ?? 0) ? b : a);

function withRest(text: string, rest: number): string {
  // The text of an alarm may be several sentences.
  return rest === 0 ? text : `${text} (and ${rest} more)`;
}
