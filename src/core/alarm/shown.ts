/** Alarms as shown to people and programs; free of Node, because the dashboard uses it too. */
import type { Kind } from "../sensor.ts";

export type BaselineStatus = "learning" | "learned" | "zone_c" | "zone_d";

export interface BaselineView {
  readonly sensor: string;
  readonly alarm: string;
  readonly value: string;
  readonly unit: string | null;
  /** any: no signal shows whether the machine runs. */
  readonly machineState: "running" | "standing" | "any";
  readonly status: BaselineStatus;
  readonly learned: number;
  readonly wanted: number;
  readonly median: number | null;
  readonly mad: number | null;
  /** The slow baseline beside the first. */
  readonly slow: { readonly median: number; readonly mad: number } | null;
  readonly high: number | null;
  readonly low: number | null;
}

/** Number of alarms, for a badge. Shelved ones are counted only there, acknowledged ones in no severity. */
export interface AlarmCounts {
  readonly alarm: number;
  readonly warning: number;
  readonly acknowledged: number;
  readonly shelved: number;
}

/** The fixed limits of one value of a sensor; those of a baseline are with the baselines. */
export interface LimitView {
  readonly alarm: string;
  readonly kind: Kind;
  readonly value: string;
  readonly unit: string | null;
  readonly highHigh: number | null;
  readonly high: number | null;
  readonly low: number | null;
  readonly lowLow: number | null;
}

export const ALARM_WORDS = ["acknowledge", "shelve", "unshelve", "note"] as const;
export type AlarmWord = (typeof ALARM_WORDS)[number];

/** One entry of the audit. */
export interface AlarmAction {
  readonly timeMs: number;
  readonly who: string;
  /** Where it came from: http, mqtt, cli. */
  readonly source: string;
  /** acknowledge, shelve, unshelve, note, relearn. */
  readonly what: string;
  /** The alarm, as `sensor/alarm/value`. */
  readonly subject: string;
  /** Comment or details of the action, JSON. */
  readonly detail: string;
  /** `done`, or why not. */
  readonly outcome: string;
}
