import type { AlarmEvent } from "../../core/alarm/event.ts";
import { FINDING_ALARM } from "../../core/alarm/finding-alarms.ts";
import { RUNNING_SIGNAL } from "../../core/alarm/running-signal.ts";
import { SILENT } from "../../core/alarm/time-changes.ts";
import { severityOf } from "../../core/alarm/transitions.ts";
import type { AlarmEvents } from "../host.ts";
import type { AlarmSource } from "./alarm-metrics.ts";

/**
 * The alarms as the Sparkplug node of an uplink sees them. `isChosen`: the sensors that go to this uplink. `gatewayNow`:
 * the clock that dates a silence, ms.
 */
export function sparkplugAlarms(
  engines: Omit<AlarmEvents, "standing">,
  isChosen: (sensor: string) => boolean,
  gatewayNow: () => number,
): AlarmSource {
  return {
    watched: (sensor) => [
      ...engines.alarms.watches(sensor),
      ...(engines.alarms.mayDoubt(sensor) ? [{ alarm: "zone", value: RUNNING_SIGNAL }] : []),
      ...engines.findings.possible(sensor).map((value) => ({ alarm: FINDING_ALARM, value })),
    ],
    active: (sensor) =>
      engines.alarms.active(sensor).map(({ alarm, value, watch, raised }) => ({
        alarm,
        value,
        severity: severityOf(watch.active?.rank),
        timeMs: raised?.seenMs ?? 0,
      })),
    normalMs(sensor, key) {
      if (key.startsWith(`${SILENT}/`)) return gatewayNow();
      if (!key.startsWith(`${FINDING_ALARM}/`)) return engines.alarms.followedMs(sensor, key) ?? 0;
      const { seen, newestMs } = engines.findings.of(sensor);
      return seen?.timeMs ?? newestMs ?? 0;
    },
    onChange: (listener) =>
      engines.onEvents((events) => {
        for (const event of events) {
          const { sensor, alarm, value, state, severity, historical } = event;
          if (historical || !isChosen(sensor)) continue;
          listener(sensor, {
            alarm,
            value,
            severity: state === "active" ? severity : "normal",
            timeMs: timeOf(engines.alarms, event),
          });
        }
      }),
  };
}

/**
 * An alarm that ends because its rule was removed, or is being relearned, ends with the last reading that it used: one
 * that was measured before that moment and read after it may raise the alarm again, and a metric must not go back in
 * time.
 */
function timeOf(
  engine: AlarmEvents["alarms"],
  { sensor, kind, alarm, state, timeMs }: AlarmEvent,
): number {
  if (state === "active" || alarm === SILENT) return timeMs;
  return Math.min(timeMs, engine.newestMs(sensor, kind) ?? timeMs);
}
