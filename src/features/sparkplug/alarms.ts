/** Alarms as metrics of their devices, `alarm/{name}/{value}` with the severity as text, and the limits that judge values. */

import type { AlarmEvent } from "../../core/alarm/event.ts";
import { FINDING_ALARM } from "../../core/alarm/finding-alarms.ts";
import { RUNNING_SIGNAL } from "../../core/alarm/running-signal.ts";
import { SILENT } from "../../core/alarm/time-changes.ts";
import { severityOf } from "../../core/alarm/transitions.ts";
import type { AlarmActions } from "../../core/alarm/view.ts";
import type { Kind } from "../../core/sensor.ts";
import type { AlarmEvents } from "../host.ts";
import type { MetricShape } from "./metric-shape.ts";
import type { MetricLimits } from "./sent-properties.ts";

/** `normal`: watched and not active. */
type AlarmSeverity = "normal" | "warning" | "alarm";

export interface AlarmName {
  readonly alarm: string;
  readonly value: string;
}

/** The state of an alarm from `timeMs` on. */
export interface AlarmStand extends AlarmName {
  readonly severity: AlarmSeverity;
  readonly timeMs: number;
}

/** The alarms as the node needs them. */
export interface AlarmSource {
  /** What the site file watches of a sensor: in the device's birth, active or not. */
  watched(sensor: string): readonly AlarmName[];
  /** What is active of a sensor now. */
  active(sensor: string): readonly AlarmStand[];
  /**
   * What `normal` rests on: the newest reading that the alarm has followed, ms; 0 before the first. No later transition
   * is older. `key`: `alarm/value`.
   */
  normalMs(sensor: string, key: string): number;
  /** Called after each transition of a live alarm; the returned function ends it. */
  onChange(listener: (sensor: string, stand: AlarmStand) => void): () => void;
}

export const ALARM_PREFIX = "alarm/";
export const alarmMetricName = ({ alarm, value }: AlarmName) => `${ALARM_PREFIX}${alarm}/${value}`;

export function alarmShape(name: AlarmName): MetricShape {
  return { name: alarmMetricName(name), type: "String", unit: null, source: null };
}

interface MetricChange {
  readonly sensor: string;
  readonly stand: AlarmStand;
}

/** Transitions kept individually while something else is sent; beyond it the newest of each alarm is enough. */
const WAITING_MAX = 1_000;

/** Transitions that the host has not received yet, in order. */
export class PendingAlarmChanges {
  #waiting: MetricChange[] = [];

  add(sensor: string, stand: AlarmStand): void {
    this.#waiting.push({ sensor, stand });
    if (this.#waiting.length <= WAITING_MAX) return;
    const newest = new Map(
      this.#waiting.map((change) => [`${change.sensor} ${alarmMetricName(change.stand)}`, change]),
    );
    this.#waiting = [...newest.values()];
  }
  /** The oldest; it stays until `done`. */
  get next(): MetricChange | null {
    return this.#waiting[0] ?? null;
  }
  done(change: MetricChange): void {
    if (this.#waiting[0] === change) this.#waiting.shift();
  }
  /** Births contain the current state of everything. */
  clear(): void {
    this.#waiting = [];
  }
}

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

/** The limits that judge a sensor's values now: zone C and a baseline are `high`, zone D is `highHigh`. */
export function sparkplugLimits(
  alarms: Pick<AlarmActions, "baselines" | "limits">,
  isStanding: (sensor: string) => boolean,
): (sensor: string) => (kind: Kind, value: string) => MetricLimits {
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
        name: keyof MetricLimits,
        limits: readonly (number | null)[],
        pick: (...numbers: number[]) => number,
      ): MetricLimits => {
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
