import type { Severity } from "../core/alarm/event.ts";
import type { AlarmSource } from "../publish/sparkplug/alarm-metrics.ts";
import type { Alarms } from "./alarms.ts";

const severityOf = (rank: number | undefined): Severity => (rank === 2 ? "alarm" : "warning");

/** The alarms as the Sparkplug node of an uplink sees them. `isChosen`: the sensors that go to this uplink. */
export function sparkplugAlarms(
  alarms: Pick<Alarms, "engine" | "onEvents">,
  isChosen: (sensor: string) => boolean,
): AlarmSource {
  return {
    watched: (sensor) => alarms.engine.watches(sensor),
    active: (sensor) =>
      alarms.engine.active(sensor).map(({ alarm, value, watch, raised }) => ({
        alarm,
        value,
        severity: severityOf(watch.active?.rank),
        timeMs: raised?.timeMs ?? 0,
      })),
    onChange: (listener) =>
      alarms.onEvents((events) => {
        for (const { sensor, alarm, value, state, severity, timeMs, historical } of events) {
          if (historical || !isChosen(sensor)) continue;
          listener(sensor, {
            alarm,
            value,
            severity: state === "active" ? severity : "normal",
            timeMs,
          });
        }
      }),
  };
}
