import { type AlarmEvent, eventId } from "../../../core/alarm/event.ts";
import { findingKey } from "../../../core/diagnosis/finding.ts";
import { FINDING_ALARM, sinceMs } from "../../alarms/api.ts";
import type { FindingChange } from "./sensor-findings.ts";
import { endedSentence, findingSentence } from "./sentence.ts";
import type { Watched } from "./watched.ts";

export function eventOf(
  { change, state }: FindingChange,
  { sensor, machine, place }: Watched,
  readingId: string,
  timeMs: number,
): AlarmEvent {
  const { finding, bearing, missed, last, since, stands } = state;
  const { verdict } = last;
  const value = findingKey(finding, bearing);
  const isEnded = change === "ended";
  return {
    id:
      change === "stands"
        ? (stands?.id ?? "")
        : eventId(FINDING_ALARM, sensor.code, value, readingId, change),
    sensor: sensor.code,
    kind: "accel",
    value,
    alarm: FINDING_ALARM,
    severity: state.worstStage === 3 ? "alarm" : "warning",
    state: isEnded ? "cleared" : "active",
    timeMs,
    limit: verdict.limit,
    hysteresis: null,
    measured: isEnded ? null : verdict.level,
    unit: verdict.unit,
    readingId,
    raisedMs: stands?.sinceMs ?? timeMs,
    sinceMs: sinceMs(since),
    worst: { measured: verdict.level, timeMs: last.timeMs },
    acknowledged: null,
    shelved: null,
    note: null,
    reason: null,
    text: isEnded
      ? endedSentence(finding, bearing, place, missed)
      : findingSentence(verdict, state, machine, sensor, place),
    historical: false,
  };
}
