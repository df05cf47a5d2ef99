/** From a change to its event, and to the state that remembers it. */

import type { WatchTest } from "../../../core/alarm/compile.ts";
import { type AlarmEvent, eventId, type Severity } from "../../../core/alarm/event.ts";
import type { Sensor } from "../../../core/sensor.ts";
import type { Site } from "../../../core/site.ts";
import { type AlarmState, eventMembers, type Raised } from "./sensor-alarms.ts";
import {
  activeSentence,
  badQualitySentence,
  clearedSentence,
  damagedSentence,
  goodAgainSentence,
  heardAgainSentence,
  type Sentence,
} from "./sentence.ts";
import { type Since, sinceFrom, sinceMs } from "./since.ts";
import { NORMAL, type StateChange, type WatchState } from "./watch-state.ts";
import { namedValue } from "./zone-basis.ts";

/** The reading, or the moment, that caused a transition. */
export interface Cause {
  readonly readingId: string;
  readonly timeMs: number;
  readonly measured: number | null;
  /** Of the newest reading before it that was normal, if one is known. */
  readonly normalMs?: number | null;
}

export interface Subject {
  readonly site: Site;
  readonly sensor: Sensor;
  /** The derivation of the limit; null for alarms without one. */
  readonly type: WatchTest["type"] | null;
  readonly isHistorical: boolean;
}

export interface Transition {
  readonly state: AlarmState;
  readonly event: AlarmEvent | null;
}

export const severityOf = (rank: number | undefined): Severity =>
  rank === 2 ? "alarm" : "warning";

/** Adopts a watch's next state, with its event if that is a transition. */
export function transit(
  before: AlarmState,
  watch: WatchState,
  change: StateChange | null,
  cause: Cause,
  subject: Subject,
  sentence?: string,
): Transition {
  const since = sinceAfter(before, watch, cause);
  if (change === null) {
    const { raised } = before;
    const seen = raised === null ? null : { ...raised, ...seenIn(cause) };
    return { state: { ...before, watch, since, raised: seen }, event: null };
  }
  const active = change === "cleared" ? before.watch.active : watch.active;
  if (active === null) return { state: { ...before, watch, since }, event: null };
  const transition =
    change === "cleared" ? "cleared" : `active:${severityOf(active.rank)}:${active.side}`;
  const id = eventId(before.alarm, subject.sensor.code, before.value, cause.readingId, transition);
  const worst = (change === "cleared" ? before.watch.worst : watch.worst) ?? {
    measured: cause.measured,
    timeMs: cause.timeMs,
  };
  const parts: Sentence = {
    ...subject,
    value: namedValue(before.value, before.unit),
    unit: before.unit,
    measured: cause.measured,
    worst: worst.measured,
  };
  const text =
    sentence ??
    (change === "cleared"
      ? clearedSentence(parts)
      : activeSentence(parts, active, subject.type ?? "limits"));
  const raised: Raised = {
    id: before.raised?.id ?? id,
    eventId: id,
    timeMs: before.raised?.timeMs ?? cause.timeMs,
    ...seenIn(cause),
    text,
  };
  // Somebody has seen the warning, and nobody the alarm (ISA-18.2: an alarm that gets worse is announced again).
  const seen = isWorse(before.watch.active, active) ? { ...before, acknowledged: null } : before;
  const event: AlarmEvent = {
    ...eventMembers(seen),
    id,
    sensor: subject.sensor.code,
    text,
    severity: severityOf(active.rank),
    state: change === "cleared" ? "cleared" : "active",
    timeMs: cause.timeMs,
    limit: active.limit,
    hysteresis: active.hysteresis,
    measured: cause.measured,
    readingId: cause.readingId,
    raisedMs: raised.timeMs,
    sinceMs: sinceMs((change === "cleared" ? before.since : since) ?? sinceFrom(raised.timeMs)),
    worst,
    historical: subject.isHistorical,
  };
  const state: AlarmState =
    change === "cleared"
      ? { ...before, watch, raised: null, since, reason: null, acknowledged: null, note: null }
      : { ...seen, watch, since, raised };
  return { state, event };
}

/** From the first reading beyond the limit on; null in a normal state. */
function sinceAfter(before: AlarmState, watch: WatchState, cause: Cause): Since | null {
  const { passing, active } = watch;
  if (passing === null && active === null) return null;
  const beginMs = passing?.sinceMs ?? cause.timeMs;
  if (before.since === null) return sinceFrom(beginMs, cause.normalMs);
  const { side } = before.watch.active ?? before.watch.passing ?? {};
  // Beyond the other limit without an alarm that goes on: that began by itself.
  if (active !== null || passing?.side === side) return before.since;
  return sinceFrom(beginMs, before.raised?.seenMs ?? before.watch.passing?.sinceMs ?? null);
}

/** True if an active alarm becomes more severe, or passes the limit on the other side. */
function isWorse(before: WatchState["active"], now: NonNullable<WatchState["active"]>): boolean {
  return before !== null && (now.rank > before.rank || now.side !== before.side);
}

function seenIn(cause: Cause): Pick<Raised, "readingId" | "seenMs" | "measured"> {
  return { readingId: cause.readingId, seenMs: cause.timeMs, measured: cause.measured };
}

/** Consecutive bad readings that raise an alarm (plant section 11). */
const BAD_READINGS = 3;

/** A value that is bad in this reading, or of a damaged record (with the number that was read). */
export function badReading(
  before: AlarmState,
  reason: string,
  cause: Cause,
  subject: Subject,
): Transition {
  const { raised } = before;
  const state = { ...before, reason, raised: raised && { ...raised, ...seenIn(cause) } };
  const { passing, active } = before.watch;
  if (active !== null) return { state, event: null };
  const readings = (passing?.readings ?? 0) + 1;
  const watch: WatchState = {
    passing: {
      side: "high",
      sinceMs: passing?.sinceMs ?? cause.timeMs,
      readings,
      alarmSinceMs: null,
      alarmReadings: 0,
    },
    active: readings < BAD_READINGS ? null : ONE_WARNING,
    worst: { measured: cause.measured, timeMs: passing?.sinceMs ?? cause.timeMs },
  };
  const since = sinceAfter(before, watch, cause);
  if (watch.active === null) return { state: { ...state, watch, since }, event: null };
  const of = { ...subject, value: before.value, unit: before.unit };
  const text =
    cause.measured === null
      ? badQualitySentence(subject.sensor, subject.site, before.value, reason, BAD_READINGS)
      : damagedSentence({ ...of, measured: cause.measured, worst: null }, reason, BAD_READINGS);
  return transit(state, watch, "raised", cause, subject, text);
}

export const ONE_WARNING = { rank: 1, side: "high", limit: null, hysteresis: null } as const;

/** The value can be used again. */
export function goodReading(before: AlarmState, cause: Cause, subject: Subject): Transition {
  if (before.watch.active === null) {
    return { state: { ...before, watch: NORMAL, since: null }, event: null };
  }
  const text = goodAgainSentence(subject.sensor, subject.site, before.value);
  return transit(before, NORMAL, "cleared", cause, subject, text);
}

/** The sensor is sending again. */
export function heardAgain(before: AlarmState, cause: Cause, subject: Subject): Transition {
  const text = heardAgainSentence(subject.sensor, subject.site);
  return transit(before, NORMAL, "cleared", cause, subject, text);
}
