/** Changes caused by the passing of time: sensors that fall silent or report again, and shelves that end. */
import { isUnreadable, type SensorState } from "../../../core/agent-status.ts";
import { normalCode, readingKinds, type Sensor } from "../../../core/sensor.ts";
import type { AlarmChange, AlarmContext } from "./context.ts";
import { restate } from "./operator-changes.ts";
import { normalAlarm, type SensorAlarms } from "./sensor-alarms.ts";
import { silentSentence } from "./sentence.ts";
import { sinceFrom } from "./since.ts";
import { heardAgain, ONE_WARNING, transit } from "./transitions.ts";

export const SILENT = "silent";
const SILENT_KEY = "silent/state";

/** Whether `applyTime` would change anything. */
export function hasTimeChanges(
  { states }: AlarmContext,
  nowMs: number,
  sensors: readonly SensorState[],
): boolean {
  for (const sensor of sensors) {
    if (silenceChange(states.of(normalCode(sensor.code)), sensor) !== null) return true;
  }
  for (const [, , { shelved }] of states.live()) {
    if (shelved !== null && shelved.untilMs <= nowMs) return true;
  }
  return false;
}

/** When the next shelf ends, ms; null while nothing is shelved. */
export function nextShelfEndMs({ states }: AlarmContext): number | null {
  let endMs: number | null = null;
  for (const [, , { shelved }] of states.live()) {
    if (shelved !== null) endMs = Math.min(endMs ?? shelved.untilMs, shelved.untilMs);
  }
  return endMs;
}

/** @param nowMs the gateway's clock, ms */
export function applyTime(
  context: AlarmChange,
  nowMs: number,
  sensors: readonly SensorState[],
  isGatewayUp: boolean,
): void {
  for (const seen of sensors) {
    const sensor = context.sensors.get(normalCode(seen.code))?.sensor;
    if (sensor === undefined) continue;
    applySilence(context, sensor, seen, nowMs, isGatewayUp);
  }
  const alarms = [...context.states.live()];
  for (const [code, key, alarm] of alarms) {
    if (alarm.shelved === null || alarm.shelved.untilMs > nowMs) continue;
    const { untilMs } = alarm.shelved;
    const unshelved = { ...alarm, shelved: null };
    restate(context, code, key, unshelved, "unshelved", nowMs, untilMs);
  }
}

interface SilenceChange {
  readonly change: "raised" | "cleared";
  readonly lastReadingMs: number;
  readonly readingId: string;
}

/**
 * Null if nothing changes. Only a newer reading ends a silence: the state alone may change without one, for example
 * because a restarted agent does not know the sensor's interval yet.
 */
function silenceChange(
  known: SensorAlarms,
  { kinds, state, lastReadingMs }: SensorState,
): SilenceChange | null {
  if (lastReadingMs === null || state === "unknown") return null;
  const raised = known.live.get(SILENT_KEY)?.raised ?? null;
  if ((state === "silent") === (raised !== null)) return null;
  let readingId = `${lastReadingMs}`;
  for (const [kind, { timeMs, id }] of known.newest) {
    if (timeMs === lastReadingMs) readingId = id;
    // One that was stored since the sensors were looked at: the next look knows it.
    if (timeMs > lastReadingMs && kinds.some((of) => of.kind === kind)) return null;
  }
  if (raised === null) return { change: "raised", lastReadingMs, readingId };
  return raised.readingId === readingId ? null : { change: "cleared", lastReadingMs, readingId };
}

function applySilence(
  { events, site, states, tx }: AlarmChange,
  sensor: Sensor,
  seen: SensorState,
  nowMs: number,
  isGatewayUp: boolean,
): void {
  const code = normalCode(sensor.code);
  const known = states.of(code);
  const [kind] = readingKinds(sensor);
  const news = silenceChange(known, seen);
  if (kind === undefined || news === null) return;
  const { change, lastReadingMs, readingId } = news;
  const before = {
    ...(known.live.get(SILENT_KEY) ??
      normalAlarm({ alarm: SILENT, kind, value: "state", unit: "s" })),
    ...(change === "raised" ? { since: sinceFrom(lastReadingMs) } : {}),
  };
  const seconds = Math.max(0, Math.round((nowMs - lastReadingMs) / 1000));
  const cause = { readingId, timeMs: nowMs, measured: seconds };
  const subject = { site, sensor, type: null, isHistorical: false };
  const worst = { measured: seconds, timeMs: nowMs };
  const unreadable = isUnreadable(seen) ? "unreadable" : null;
  const next =
    change === "cleared"
      ? heardAgain(before, cause, subject)
      : transit(
          before,
          { passing: null, active: ONE_WARNING, worst },
          "raised",
          cause,
          subject,
          silentSentence(sensor, site, seconds, isGatewayUp ? unreadable : "gateway_down"),
        );
  states.put(tx, code, SILENT_KEY, next.state);
  if (next.event !== null) events.push(next.event);
}
