/** The alarms as Sparkplug devices of an uplink show them, and the limits that judge values. */
import type { AlarmEvent } from "../../core/alarm/event.ts";
import type { Kind } from "../../core/sensor.ts";
import type { AlarmEngines } from "./engines.ts";
import { FINDING_ALARM } from "./rules/finding-alarms.ts";
import type { Findings } from "./rules/findings.ts";
import { RUNNING_SIGNAL } from "./rules/running-signal.ts";
import { SILENT } from "./rules/time-changes.ts";
import { severityOf } from "./rules/transitions.ts";
import type { AlarmActions } from "./rules/view.ts";

/** The state of an alarm from `timeMs` on; `normal`: watched and not active. */
interface Stand {
  readonly alarm: string;
  readonly value: string;
  readonly severity: "normal" | "warning" | "alarm";
  readonly timeMs: number;
}
interface Limits {
  readonly high?: number;
  readonly highHigh?: number;
  readonly low?: number;
  readonly lowLow?: number;
}

/**
 * The alarms as the Sparkplug node of an uplink sees them. `isChosen`: the sensors that go to this uplink. `gatewayNow`:
 * the clock that dates a silence, ms.
 */
export function sparkplugAlarms(
  engines: Pick<AlarmEngines, "alarms" | "onEvents">,
  findings: Findings | null,
  isChosen: (sensor: string) => boolean,
  gatewayNow: () => number,
) {
  return {
    watched: (sensor: string) => [
      ...engines.alarms.watches(sensor),
      ...(engines.alarms.mayDoubt(sensor) ? [{ alarm: "zone", value: RUNNING_SIGNAL }] : []),
      ...(findings?.possible(sensor) ?? []).map((value) => ({ alarm: FINDING_ALARM, value })),
    ],
    active: (sensor: string): Stand[] =>
      engines.alarms.active(sensor).map(({ alarm, value, watch, raised }) => ({
        alarm,
        value,
        severity: severityOf(watch.active?.rank),
        timeMs: raised?.seenMs ?? 0,
      })),
    normalMs(sensor: string, key: string): number {
      if (key.startsWith(`${SILENT}/`)) return gatewayNow();
      if (!key.startsWith(`${FINDING_ALARM}/`)) return engines.alarms.followedMs(sensor, key) ?? 0;
      return findings?.judgedMs(sensor) ?? 0;
    },
    onChange: (listener: (sensor: string, stand: Stand) => void) =>
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
  engine: AlarmEngines["alarms"],
  { sensor, kind, alarm, state, timeMs }: AlarmEvent,
): number {
  if (state === "active" || alarm === SILENT) return timeMs;
  return Math.min(timeMs, engine.newestMs(sensor, kind) ?? timeMs);
}

/** The limits that judge a sensor's values now: zone C and a baseline are `high`, zone D is `highHigh`. */
export function sparkplugLimits(
  alarms: Pick<AlarmActions, "baselines" | "limits">,
  isStanding: (sensor: string) => boolean,
): (sensor: string) => (kind: Kind, value: string) => Limits {
  return (sensor) => {
    const fixed = alarms.limits(sensor);
    const standing = isStanding(sensor);
    const learned = alarms
      .baselines(sensor)
      .filter(
        ({ machineState, status }) =>
          status === "learned" && machineState !== (standing ? "running" : "standing"),
      );
    return (kind, value) => {
      const own = fixed.filter((limit) => limit.kind === kind && limit.value === value);
      const baselines = learned.filter((one) => one.value === value);
      const tightest = (
        name: keyof Limits,
        limits: readonly (number | null)[],
        pick: (...numbers: number[]) => number,
      ): Limits => {
        const numbers = limits.filter((limit) => limit !== null);
        return numbers.length === 0 ? {} : { [name]: pick(...numbers) };
      };
      return {
        ...tightest(
          "high",
          [...own, ...baselines].map(({ high }) => high),
          Math.min,
        ),
        ...tightest(
          "highHigh",
          own.map(({ highHigh }) => highHigh),
          Math.min,
        ),
        ...tightest(
          "low",
          [...own, ...baselines].map(({ low }) => low),
          Math.max,
        ),
        ...tightest(
          "lowLow",
          own.map(({ lowLow }) => lowLow),
          Math.max,
        ),
      };
    };
  };
}
