/** The visible alarms, active or shelved: finds one, and its current event. */

import { type AlarmEvent, eventId } from "../../../core/alarm/event.ts";
import { normalCode, type Sensor } from "../../../core/sensor.ts";
import type { AlarmChange, AlarmContext } from "./context.ts";
import { type AlarmState, eventMembers, normalAlarm } from "./sensor-alarms.ts";
import { sinceMs } from "./since.ts";

export interface FoundAlarm {
  /** Normalised sensor code. */
  readonly code: string;
  /** The code as events and topics have it. */
  readonly written: string;
  readonly key: string;
  readonly state: AlarmState;
  /** Null if the sensor is no longer in the site file. */
  readonly sensor: Sensor | null;
}

/** Every alarm that is active or shelved. @param codes normalised, of the sensors; null: of all */
export function* shownAlarms(
  { sensors, states }: AlarmContext,
  codes: ReadonlySet<string> | null = null,
): Generator<FoundAlarm> {
  for (const [code, key, state] of states.live(codes)) {
    if (state.raised === null && state.shelved === null) continue;
    const sensor = sensors.get(code)?.sensor ?? null;
    yield { code, written: sensor?.code ?? states.written(code), key, state, sensor };
  }
}

/** The alarm that the id of an event or of an alarm belongs to. */
export function findAlarm(context: AlarmContext, id: string): FoundAlarm | null {
  for (const alarm of shownAlarms(context)) {
    const { raised, shelved } = alarm.state;
    const ids = [raised?.id, raised?.eventId, shelved?.alarmId, shelfId(alarm)];
    if (ids.includes(id)) return alarm;
  }
  return null;
}

/** The same alarm with its current state. */
export function refreshed({ states }: AlarmContext, found: FoundAlarm): FoundAlarm {
  const state = states.of(found.code).live.get(found.key) ?? normalAlarm(found.state);
  return { ...found, state };
}

/** The displayed id of an alarm that is shelved and not active. */
export function shelfId({ code, key }: Pick<FoundAlarm, "code" | "key">): string {
  return eventId("shelf", code, key, "", "");
}

/** The newest event of an alarm, made from its state; null while the alarm is not active. */
export function currentEvent({ written, state }: FoundAlarm): AlarmEvent | null {
  const { raised } = state;
  if (raised === null) return null;
  return eventMembersOf(raised.eventId, written, state, raised.seenMs, {
    state: "active",
    text: raised.text,
  });
}

/** The newest event as it was told: readings since then change the alarm, but not its retained topic. */
export function toldEvent(found: FoundAlarm): AlarmEvent | null {
  const event = currentEvent(found);
  return event && { ...event, ...found.state.raised?.told };
}

/** Keeps what the events of a change tell of alarms that stand. */
export function keepTold({ events, states, tx }: Pick<AlarmChange, "events" | "states" | "tx">) {
  for (const { id, sensor, alarm, value, ...event } of events) {
    const code = normalCode(sensor);
    const key = `${alarm}/${value}`;
    const state = states.of(code).live.get(key);
    if (!state?.raised || state.raised.eventId !== id) continue;
    const { timeMs, measured, readingId, worst, text, reason } = event;
    const told = { timeMs, measured, readingId, worst, text, reason };
    states.put(tx, code, key, { ...state, raised: { ...state.raised, told } });
  }
}

/**
 * An event that no reading caused, but an operator, the passing of time or the site file.
 * @param transition what happened, as part of the event's id
 */
export function eventOfState(
  sensor: string,
  of: AlarmState,
  transition: string,
  nowMs: number,
  becomes: Pick<AlarmEvent, "state" | "text">,
): AlarmEvent {
  const { alarm, value, raised } = of;
  const id = eventId(alarm, sensor, value, raised?.readingId ?? "", transition);
  return eventMembersOf(id, sensor, of, nowMs, becomes);
}

function eventMembersOf(
  id: string,
  sensor: string,
  of: AlarmState,
  nowMs: number,
  becomes: Pick<AlarmEvent, "state" | "text">,
): AlarmEvent {
  const { raised } = of;
  const { active, worst } = of.watch;
  return {
    ...eventMembers(of),
    id,
    sensor,
    readingId: raised?.readingId ?? "",
    severity: active?.rank === 2 ? "alarm" : "warning",
    ...becomes,
    timeMs: nowMs,
    limit: active?.limit ?? null,
    hysteresis: active?.hysteresis ?? null,
    measured: raised?.measured ?? null,
    raisedMs: raised?.timeMs ?? nowMs,
    sinceMs: of.since === null ? (raised?.timeMs ?? nowMs) : sinceMs(of.since),
    worst: worst ?? { measured: raised?.measured ?? null, timeMs: raised?.seenMs ?? nowMs },
    historical: false,
  };
}
