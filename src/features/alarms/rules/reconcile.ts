/**
 * The effect of another site file: alarms that it no longer defines, those of sensors that it disables, and those of
 * channels that it scales differently, end. Baselines that it no longer defines, or that no reading can reach, are forgotten.
 */

import type { CompiledSensor } from "../../../core/alarm/compile.ts";
import { alarmValues } from "../../../core/alarm/values.ts";
import { isRead, normalCode, readingKinds } from "../../../core/sensor.ts";
import { baselineKey, baselineOf } from "./baseline.ts";
import type { AlarmChange } from "./context.ts";
import { FINDING_ALARM } from "./finding-alarms.ts";
import { eventOfState } from "./found-alarm.ts";
import { isRescaled, rescale } from "./rescale.ts";
import { mayDoubt, RUNNING_SIGNAL_KEY } from "./running-signal.ts";
import { type AlarmState, normalAlarm } from "./sensor-alarms.ts";
import {
  disabledSentence,
  otherStatesSentence,
  removedSentence,
  rescaledSentence,
} from "./sentence.ts";
import { hasFormer, isOfPlace, takeOver } from "./take-over.ts";
import { SILENT } from "./time-changes.ts";

export function reconcile(context: AlarmChange, nowMs: number): void {
  const { events, sensors, site, states, successors, tx } = context;
  for (const [code, compiled] of sensors) {
    // Otherwise its first reading does this.
    if (!hasFormer(context, compiled) || states.of(code).newest.size === 0) continue;
    takeOver(context, compiled, nowMs);
  }
  for (const code of states.codes()) {
    const successor = successors.get(code);
    const compiled = sensors.get(code);
    if (compiled !== undefined && isRescaled(context, compiled)) rescale(context, compiled, nowMs);
    const before = states.of(code);
    if (before.live.size + before.baselines.size === 0) continue;
    for (const [key, alarm] of before.live) {
      if (compiled !== undefined && isDefined(context, compiled, key, alarm)) continue;
      // What is of the place stands until the next sensor there has a reading; one that is disabled has none.
      if (successor !== undefined && isRead(successor) && isOfPlace(alarm)) continue;
      states.edit(tx, code).live.delete(key);
      if (alarm.raised === null) continue;
      const sensor = compiled?.sensor.code ?? states.written(code);
      const isDisabled = compiled !== undefined && !isRead(compiled.sensor);
      const sentence = isDisabled ? disabledSentence : removedSentence;
      const text = sentence({ site, code: sensor, ...alarm });
      events.push(eventOfState(sensor, alarm, "removed", nowMs, { state: "cleared", text }));
    }
    for (const key of before.baselines.keys()) {
      const watch = compiled?.byKey.get(baselineOf(key).watch);
      const isInForce = watch?.test.type === "baseline" && isReached(context, code, key);
      if (isInForce || successor !== undefined) continue;
      states.edit(tx, code).baselines.delete(key);
    }
    if (compiled !== undefined) endUnreached(context, compiled, nowMs);
  }
}

/**
 * Ends alarms of findings that diagnosis has forgotten, of a sensor that was moved or whose states were damaged: nothing
 * else would. After diagnosis has been given the same site file.
 */
export function endForgotten(
  context: AlarmChange,
  stands: (code: string, value: string) => boolean,
  nowMs: number,
): void {
  const { sensors, states, successors } = context;
  for (const code of states.codes()) {
    const compiled = sensors.get(code);
    if (compiled === undefined || successors.has(code)) continue;
    for (const [key, alarm] of states.of(code).live) {
      const isForgotten = alarm.alarm === FINDING_ALARM && !stands(code, alarm.value);
      if (isForgotten && alarm.raised !== null)
        endChanged(context, compiled, key, alarm, rescaledSentence, nowMs);
    }
  }
}

/** Whether readings ask for it: running and standing have levels of their own, once a signal tells them apart. */
function isReached({ wait }: AlarmChange, code: string, baseline: string): boolean {
  return (baselineOf(baseline).machine === "any") !== wait.hasRunning(code);
}

/** An alarm by a level that no reading can reach would never end. */
function endUnreached(context: AlarmChange, compiled: CompiledSensor, nowMs: number): void {
  const code = normalCode(compiled.sensor.code);
  for (const [key, alarm] of context.states.of(code).live) {
    const { learnedAt } = alarm;
    if (learnedAt !== undefined && !isReached(context, code, baselineKey(key, learnedAt)))
      endChanged(context, compiled, key, alarm, otherStatesSentence, nowMs);
  }
}

function endChanged(
  { events, site, states, tx }: AlarmChange,
  { sensor: { code } }: CompiledSensor,
  key: string,
  alarm: AlarmState,
  sentence: typeof otherStatesSentence,
  nowMs: number,
): void {
  const { alarm: name, value, raised, shelved } = alarm;
  states.put(tx, normalCode(code), key, { ...normalAlarm(alarm), shelved });
  if (raised === null) return;
  const reason = "configuration_changed";
  const text = sentence({ site, code, alarm: name, value });
  const told = { ...alarm, reason };
  events.push(eventOfState(code, told, reason, nowMs, { state: "cleared", text }));
}

function isDefined(
  { findings, site }: AlarmChange,
  { byKey, sensor }: CompiledSensor,
  key: string,
  { alarm, kind, value }: AlarmState,
): boolean {
  // Nothing would ever clear it: no reading comes, and whether the sensor is silent is unknown.
  if (!isRead(sensor)) return false;
  if (byKey.has(key) || alarm === SILENT) return true;
  const machine = site.machines?.find(({ id }) => id === sensor.location?.machine);
  if (key === RUNNING_SIGNAL_KEY) return mayDoubt(machine, sensor);
  if (alarm === FINDING_ALARM)
    return findings?.possibleOn(machine, sensor).includes(value) === true;
  // The next good reading of the value clears it, where readings still have it.
  return (
    alarm === "bad_quality" &&
    readingKinds(sensor).includes(kind) &&
    alarmValues(sensor, kind).some(({ name }) => name === value)
  );
}
