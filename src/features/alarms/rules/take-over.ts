/**
 * The effect of `replaces` (plant section 23): with the first reading of a sensor, alarms and baselines of the one that was
 * in its place before become its own.
 */

import type { CompiledSensor } from "../../../core/alarm/compile.ts";
import { type AlarmEvent, takenOverId } from "../../../core/alarm/event.ts";
import { parseScales, scaleKey } from "../../../core/scaling.ts";
import { normalCode } from "../../../core/sensor.ts";
import type { Site } from "../../../core/site.ts";
import { baselineOf, UNLEARNED } from "./baseline.ts";
import type { AlarmChange, AlarmContext } from "./context.ts";
import { FINDING_ALARM } from "./finding-alarms.ts";
import type { LearningSample } from "./follow-up.ts";
import { eventOfState } from "./found-alarm.ts";
import type { Learned } from "./learned-levels.ts";
import type { AlarmState, SensorAlarms } from "./sensor-alarms.ts";
import { replacedSentence, replacingSentence, respelledSentence } from "./sentence.ts";
import { sinceMs } from "./since.ts";

/** Of the sensor itself, not of what it measures: they end with it. */
const OWN_ALARMS: ReadonlySet<string> = new Set(["silent", "battery_low", "bad_quality"]);

/** Whether an alarm belongs to the place, so that it waits there for the next sensor. */
export function isOfPlace({ alarm }: Pick<AlarmState, "alarm">): boolean {
  return !OWN_ALARMS.has(alarm);
}

/** Whether `takeOver` has anything to do. */
export function hasFormer({ states }: AlarmContext, { formers }: CompiledSensor): boolean {
  return formers.some((code) => {
    const { live, baselines } = states.of(normalCode(code));
    return live.size > 0 || baselines.size > 0;
  });
}

/** Applies what a sensor takes over from those before it. */
export function takeOver(context: AlarmChange, compiled: CompiledSensor, nowMs: number): void {
  const { events, samples, site, states, tx } = context;
  const machine = site.machines?.find(({ id }) => id === compiled.sensor.location?.machine);
  const possible = context.findings?.possibleOn(machine, compiled.sensor) ?? [];
  const code = normalCode(compiled.sensor.code);
  const own = states.edit(tx, code);
  own.scales ??= compiled.scales;
  for (const listed of compiled.formers) {
    const old = states.edit(tx, normalCode(listed));
    const former = old.written ?? listed;
    const isSameUnit = unitsOf(old, compiled);
    const goesOn = ({ alarm, kind, value }: AlarmState, key: string) => {
      if (alarm === FINDING_ALARM) return possible.includes(value);
      return isOfPlace({ alarm }) && compiled.byKey.has(key) && isSameUnit(kind, value);
    };
    for (const [key, alarm] of old.live) {
      const next = goesOn(alarm, key) ? moved(alarm, own.live.get(key), former, compiled) : null;
      if (next !== null) own.live.set(key, next.state);
      const stands = next?.isMoved === true ? next.state : null;
      events.push(...told(site, alarm, stands, former, compiled, nowMs));
    }
    for (const [key, baseline] of old.baselines) {
      const watch = compiled.byKey.get(baselineOf(key).watch);
      if (watch?.test.type !== "baseline" || !isSameUnit(watch.kind, watch.value)) continue;
      if ((own.baselines.get(key)?.first ?? null) !== null) continue;
      if (baseline.first !== null) own.baselines.set(key, baseline);
      else samples.push(...learnedBefore(context, code, normalCode(former), key));
    }
    for (const map of [old.live, old.past, old.pastMs, old.baselines]) map.clear();
  }
}

/** A code that is written otherwise, with other leading zeros, has other topics: what stands ends there and stands here. */
export function respell(
  { events, site, states, tx }: AlarmChange,
  { sensor }: CompiledSensor,
  nowMs: number,
): void {
  const state = states.edit(tx, normalCode(sensor.code));
  const former = state.written;
  state.written = sensor.code;
  if (former === null || former === sensor.code) return;
  for (const [key, alarm] of state.live) {
    const { raised } = alarm;
    if (raised === null) continue;
    const text = respelledSentence({ site, code: former, ...alarm }, sensor.code);
    const ended = { ...alarm, reason: "replaced" };
    const word = `written as ${sensor.code}`;
    events.push(eventOfState(former, ended, word, nowMs, { state: "cleared", text }));
    const told = { state: "active", text: raised.text } as const;
    const event = eventOfState(sensor.code, alarm, `${word}, not ${former}`, nowMs, told);
    state.live.set(key, { ...alarm, raised: { ...raised, eventId: event.id } });
    events.push(event);
  }
}

/** The alarm as it stands under the new sensor. Where that has one of its own, only its beginning may be earlier. */
function moved(
  alarm: AlarmState,
  own: AlarmState | undefined,
  former: string,
  { sensor }: CompiledSensor,
): { readonly state: AlarmState; readonly isMoved: boolean } {
  if (own?.raised) {
    const isEarlier =
      alarm.since !== null && (own.since === null || sinceMs(alarm.since) < sinceMs(own.since));
    return { state: isEarlier ? { ...own, since: alarm.since } : own, isMoved: false };
  }
  const { raised } = alarm;
  if (raised === null) return { state: alarm, isMoved: true };
  const id = takenOverId(alarm, sensor.code, former, raised.timeMs);
  const text = replacingSentence(raised.text, former);
  return { state: { ...alarm, raised: { ...raised, id, eventId: id, text } }, isMoved: true };
}

/** The end under the old code and, if the alarm goes on, the event with which it stands under the new one. */
function told(
  site: Site,
  alarm: AlarmState,
  next: AlarmState | null,
  former: string,
  { sensor }: CompiledSensor,
  nowMs: number,
): AlarmEvent[] {
  if (alarm.raised === null) return [];
  const text = replacedSentence({ site, code: former, ...alarm }, sensor.code);
  const ended = { ...alarm, reason: "replaced" };
  const end = eventOfState(former, ended, "replaced", nowMs, { state: "cleared", text });
  if (!next?.raised) return [end];
  const stands = eventOfState(sensor.code, next, "", nowMs, {
    state: "active",
    text: next.raised.text,
  });
  return [end, { ...stands, id: next.raised.id }];
}

/** What was learned so far is learned by the new sensor. */
function learnedBefore(
  { learning, states, tx }: AlarmChange,
  code: string,
  former: string,
  key: string,
): LearningSample[] {
  const before = states.of(former).baselines.get(key) ?? UNLEARNED;
  const values = learning.of(former, key, before.from).slice(0, before.count);
  const own = states.edit(tx, code);
  const from = own.nextSample;
  const ofOwn = learning.of(code, key, from);
  const replaced = ofOwn.splice(0, ofOwn.length, ...values);
  tx.onRollback(() => ofOwn.splice(0, ofOwn.length, ...replaced));
  own.nextSample += values.length;
  own.baselines.set(key, { ...before, count: values.length, from });
  return values.map((value, i) => {
    const zone = i < before.inD ? "D" : i < before.inC ? "C" : null;
    const learned: Learned = { [key]: [value, zone] };
    return { sensor: code, number: from + i, text: JSON.stringify(learned) };
  });
}

/** Whether a value had the unit that it has now: another range of the new sensor is no other number. */
function unitsOf(old: SensorAlarms, { scales }: CompiledSensor) {
  const before = parseScales(old.scales);
  const now = parseScales(scales);
  return (kind: AlarmState["kind"], value: string): boolean => {
    const key = scaleKey(kind, value);
    const unit = before[key]?.[0];
    return unit === undefined || unit === now[key]?.[0];
  };
}
