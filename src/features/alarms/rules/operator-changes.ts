/** Changes by operators: acknowledge, shelve, note, and relearning of baselines. */
import { normalCode } from "../../../core/sensor.ts";
import { baselineOf, UNLEARNED } from "./baseline.ts";
import type { AlarmChange } from "./context.ts";
import { eventOfState, type FoundAlarm } from "./found-alarm.ts";
import { type AlarmState, normalAlarm } from "./sensor-alarms.ts";
import { actionSentence, relearnedSentence } from "./sentence.ts";
import { NORMAL } from "./watch-state.ts";

/**
 * Sets another state of an alarm, and reports it while the alarm is active.
 * @param word what happened to it, as part of the event's id
 * @param mark distinguishes it from the same action at another time, ms
 */
export function restate(
  { events, sensors, states, tx }: AlarmChange,
  code: string,
  key: string,
  alarm: AlarmState,
  word: string,
  nowMs: number,
  mark: number,
  by: string | null = null,
): void {
  if (alarm.raised === null) {
    states.put(tx, code, key, alarm);
    return;
  }
  const sensor = sensors.get(code)?.sensor.code ?? states.written(code);
  const text = `${actionSentence(word, alarm, by)} ${alarm.raised.text}`;
  const event = eventOfState(sensor, alarm, `${word}:${mark}`, nowMs, { state: "active", text });
  states.put(tx, code, key, { ...alarm, raised: { ...alarm.raised, eventId: event.id } });
  events.push(event);
}

/** Applies an operator's action on an alarm, and reports it while the alarm is active. */
export function applyOperatorChange(
  context: AlarmChange,
  found: FoundAlarm,
  next: Pick<AlarmState, "acknowledged" | "shelved" | "note">,
  word: string,
  nowMs: number,
  by: string,
): void {
  const { code, key, state } = found;
  restate(context, code, key, { ...state, ...next }, word, nowMs, nowMs, by);
}

/** Restarts the baselines of a watch and clears an alarm based on the old ones. False if the watch has no baseline. */
export function relearn(
  { events, sensors, site, states, tx }: AlarmChange,
  sensor: string,
  alarm: string,
  value: string,
  nowMs: number,
): boolean {
  const code = normalCode(sensor);
  const key = `${alarm}/${value}`;
  const compiled = sensors.get(code);
  const watch = compiled?.byKey.get(key);
  if (compiled === undefined || watch?.test.type !== "baseline") return false;
  const state = states.edit(tx, code);
  const from = state.nextSample;
  for (const own of state.baselines.keys())
    if (baselineOf(own).watch === key) state.baselines.set(own, { ...UNLEARNED, from });
  const before = state.live.get(key);
  if (!before?.raised) {
    // A shelf stays: it has an end of its own.
    const { aside: _none, ...rest } = before ?? normalAlarm(watch);
    states.put(tx, code, key, { ...rest, watch: NORMAL, since: null });
    return true;
  }
  const text = relearnedSentence({ site, code: watch.sensor, alarm, value });
  const event = eventOfState(watch.sensor, before, "relearned", nowMs, { state: "cleared", text });
  states.put(tx, code, key, { ...normalAlarm(before), shelved: before.shelved });
  events.push(event);
  return true;
}
