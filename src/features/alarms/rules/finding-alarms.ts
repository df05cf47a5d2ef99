/** Findings as alarms: diagnosis says when one stands, becomes severe or ends; people acknowledge, note and shelve it here. */

import { watchKey } from "../../../core/alarm/compile.ts";
import type { AlarmEvent } from "../../../core/alarm/event.ts";
import { normalCode } from "../../../core/sensor.ts";
import type { AlarmChange, AlarmContext } from "./context.ts";
import { type AlarmState, eventMembers, normalAlarm } from "./sensor-alarms.ts";
import { sinceFrom, sinceMs } from "./since.ts";
import { NORMAL } from "./watch-state.ts";

export const FINDING_ALARM = "finding";
/** Its value that stands for the normal state, which all findings of a sensor are judged by: what may be learned again. */
export const NORMAL_STATE = "normal";

/** Findings are stored among the states of the alarms, under the sensor's code with this prefix. */
export const SAVED_PREFIX = "finding:";

export function isFindingState(sensor: string): boolean {
  return sensor.startsWith(SAVED_PREFIX);
}

/** The normalised code of the sensor whose findings are stored under this name. */
export function codeOfFindings(saved: string): string {
  return saved.slice(SAVED_PREFIX.length);
}

/** Adopts transitions of findings. The events that are to be reported carry what people have said of the alarm. */
export function adoptFindings(
  { events, states, tx }: AlarmChange,
  transitions: readonly AlarmEvent[],
): void {
  for (const event of transitions) {
    const code = normalCode(event.sensor);
    const key = watchKey(event.alarm, event.value);
    const before = states.of(code).live.get(key) ?? normalAlarm(event);
    const state = stateAfter(before, event);
    const told = event.state === "active" ? state : before;
    states.put(tx, code, key, state);
    const raisedMs = told.raised?.timeMs ?? event.raisedMs;
    events.push({ ...event, ...eventMembers(told), raisedMs });
  }
}

/**
 * Readings that came late have shown that findings began earlier: their alarms say the same.
 * @param since of the sensor's standing findings, ms, by the value of the alarm
 */
export function dateFindings(
  { states, tx }: AlarmChange,
  code: string,
  since: ReadonlyMap<string, number>,
): void {
  for (const [value, ms] of since) {
    const key = watchKey(FINDING_ALARM, value);
    const alarm = states.of(code).live.get(key);
    if (!alarm?.raised || (alarm.since !== null && sinceMs(alarm.since) === ms)) continue;
    states.put(tx, code, key, { ...alarm, since: sinceFrom(ms) });
  }
}

/** Remembers findings that stood before findings were alarms, without an event. */
export function restoreFindings({ states }: AlarmContext, standing: readonly AlarmEvent[]): void {
  for (const event of standing) {
    const { live } = states.loaded(normalCode(event.sensor));
    const key = watchKey(event.alarm, event.value);
    if (!live.has(key)) live.set(key, stateAfter(normalAlarm(event), event));
  }
}

function stateAfter(before: AlarmState, event: AlarmEvent): AlarmState {
  if (event.state === "cleared") {
    const over = { raised: null, acknowledged: null, note: null, since: null };
    return { ...before, ...over, watch: NORMAL };
  }
  const { id, limit, measured, readingId, text, timeMs, worst } = event;
  const rank = event.severity === "alarm" ? 2 : 1;
  const active = { rank, side: "high", limit, hysteresis: null } as const;
  const isWorse = rank > (before.watch.active?.rank ?? rank);
  return {
    ...before,
    acknowledged: isWorse ? null : before.acknowledged,
    watch: { passing: null, active, worst },
    raised: {
      id: before.raised?.id ?? id,
      eventId: id,
      timeMs: before.raised?.timeMs ?? event.raisedMs,
      readingId,
      seenMs: timeMs,
      measured,
      text,
    },
    since: sinceFrom(event.sinceMs),
  };
}
