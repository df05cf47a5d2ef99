/**
 * The effect of a corrected unit, range or clamp (plant section 23): what was learned from the channel's earlier values is
 * forgotten, and alarms on them end. A code written otherwise is the same sensor with other topics: its alarms move there.
 */

import type { CompiledSensor } from "../../../core/alarm/compile.ts";
import { changedScales, isScaledBy, parseScales, SHAFT_KEY } from "../../../core/scaling.ts";
import { normalCode } from "../../../core/sensor.ts";
import { baselineOf, UNLEARNED } from "./baseline.ts";
import type { AlarmChange, AlarmContext } from "./context.ts";
import { FINDING_ALARM } from "./finding-alarms.ts";
import { eventOfState } from "./found-alarm.ts";
import { RUNNING_SIGNAL } from "./running-signal.ts";
import { type AlarmState, isNothing, normalAlarm } from "./sensor-alarms.ts";
import { rescaledSentence } from "./sentence.ts";
import { respell } from "./take-over.ts";

/** Whether `rescale` has anything to do. */
export function isRescaled({ states }: AlarmContext, { sensor, scales }: CompiledSensor): boolean {
  const known = states.of(normalCode(sensor.code));
  return known.scales !== scales || known.written !== sensor.code;
}

/** Applies what the scales and the code in effect change. */
export function rescale(context: AlarmChange, compiled: CompiledSensor, nowMs: number): void {
  const { events, site, states, tx } = context;
  const { sensor, scales, byKey } = compiled;
  respell(context, compiled, nowMs);
  const state = states.edit(tx, normalCode(sensor.code));
  const changed = changedScales(parseScales(state.scales), parseScales(scales));
  state.scales = scales;
  const isMoved = [...changed].some((key) => key.startsWith("place/") || key.startsWith("axis/"));
  const isOf = ({ alarm, kind, value }: Pick<AlarmState, "alarm" | "kind" | "value">) =>
    isScaledBy(changed, kind, value) ||
    (isMoved && (alarm === FINDING_ALARM || value === RUNNING_SIGNAL));
  for (const [key, alarm] of state.live) {
    if (!isOf(alarm)) continue;
    const normal = { ...normalAlarm(alarm), shelved: alarm.shelved };
    if (isNothing(normal)) state.live.delete(key);
    else state.live.set(key, normal);
    if (alarm.raised === null) continue;
    const reason = "configuration_changed";
    const text = rescaledSentence({ site, code: sensor.code, ...alarm });
    const told = { ...alarm, reason };
    events.push(eventOfState(sensor.code, told, reason, nowMs, { state: "cleared", text }));
  }
  for (const [key, alarm] of state.past) if (isOf(alarm)) state.past.delete(key);
  for (const key of state.baselines.keys()) {
    const watch = byKey.get(baselineOf(key).watch);
    const isTurned = changed.has(SHAFT_KEY) && watch?.isVibration === true;
    if (watch !== undefined && (isOf(watch) || isTurned))
      state.baselines.set(key, { ...UNLEARNED, from: state.nextSample });
  }
}
