/** Alarms as metrics of their devices, `alarm/{name}/{value}` with the severity as text, and the limits that judge values. */

import type { MetricShape } from "./metric-shape.ts";

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
