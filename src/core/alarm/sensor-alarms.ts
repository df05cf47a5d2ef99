/** The remembered alarm state of one sensor, and its text on disk. Its size depends on the sensor, not on its history. */
import type { Kind } from "../sensor.ts";
import { type BaselineState, UNLEARNED } from "./baseline.ts";
import type { Acknowledgement, Shelf } from "./event.ts";
import type { FollowedReading } from "./follow-up.ts";
import type { SignalPoints } from "./signal.ts";
import { NORMAL, type WatchState } from "./watch-state.ts";

/** What began with the transition from normal to active and lasts until cleared. */
export interface Raised {
  /** Id of the event that raised it: the alarm's id for people. */
  readonly id: string;
  /** Id of its newest event. */
  readonly eventId: string;
  readonly timeMs: number;
  /** The newest reading that counted, its time and value. */
  readonly readingId: string;
  readonly seenMs: number;
  readonly measured: number | null;
  readonly text: string;
}

export interface AlarmState {
  readonly alarm: string;
  readonly kind: Kind;
  readonly value: string;
  readonly unit: string | null;
  readonly watch: WatchState;
  readonly raised: Raised | null;
  /** `bad_quality`: why the value is bad. */
  readonly reason: string | null;
  readonly acknowledged: Acknowledgement | null;
  readonly shelved: Shelf | null;
  /** The newest note that was not part of an acknowledgement. */
  readonly note: Acknowledgement | null;
}

export type AlarmKey = Pick<AlarmState, "alarm" | "kind" | "value" | "unit">;

export function normalAlarm({ alarm, kind, value, unit }: AlarmKey): AlarmState {
  const rest = { raised: null, reason: null, acknowledged: null, shelved: null, note: null };
  return { alarm, kind, value, unit, watch: NORMAL, ...rest };
}

/** Common to all events of the alarm. */
export function eventMembers(state: AlarmState): Omit<AlarmState, "watch" | "raised"> {
  const { alarm, kind, value, unit, reason, acknowledged, shelved, note } = state;
  return { alarm, kind, value, unit, reason, acknowledged, shelved, note };
}

/** True if there is nothing to remember of it. */
export function isNothing({ watch, raised, shelved }: AlarmState): boolean {
  return watch.passing === null && watch.active === null && raised === null && shelved === null;
}

/** The newest reading that was followed in its order. */
interface Newest {
  readonly timeMs: number;
  readonly id: string;
}

/** A reading that arrived before the signal that shows whether its machine was running. */
export interface WaitingReading {
  readonly reading: FollowedReading;
  /** It was late when it arrived, or a newer one has been evaluated meanwhile. */
  readonly isLate: boolean;
}

/** Values of the maps are never altered in place: a copy of the maps is a copy of all. */
export interface SensorAlarms {
  readonly newest: Map<Kind, Newest>;
  /** By watch key. */
  readonly live: Map<string, AlarmState>;
  /** The same for late readings: a second run over the past, restarted whenever time goes back. */
  readonly past: Map<string, AlarmState>;
  readonly pastMs: Map<Kind, number>;
  /** By `watch key@running state`. */
  readonly baselines: Map<string, BaselineState>;
  /** By `kind/value`, if machines use them. */
  readonly signals: Map<string, SignalPoints>;
  /** Readings that wait for the state of their machine, in order of time. */
  readonly waiting: Map<Kind, readonly WaitingReading[]>;
  /** Number of the next learning sample. */
  nextSample: number;
  /** Something that is saved may have changed since this copy was made. */
  isChanged: boolean;
}

export function emptySensor(): SensorAlarms {
  return {
    newest: new Map(),
    live: new Map(),
    past: new Map(),
    pastMs: new Map(),
    baselines: new Map(),
    signals: new Map(),
    waiting: new Map(),
    nextSample: 0,
    isChanged: false,
  };
}

export function copySensor(from: SensorAlarms): SensorAlarms {
  return {
    newest: new Map(from.newest),
    live: new Map(from.live),
    past: new Map(from.past),
    pastMs: new Map(from.pastMs),
    baselines: new Map(from.baselines),
    signals: new Map(from.signals),
    waiting: new Map(from.waiting),
    nextSample: from.nextSample,
    isChanged: false,
  };
}

/** Waiting readings of a sensor and kind that survive a restart: each waiting reading is written with them. */
const SAVED_WAITING = 32;

interface SavedSensor {
  /** Absent in texts of version 0.1. */
  readonly waiting?: [Kind, readonly WaitingReading[]][];
  readonly live: [string, AlarmState][];
  readonly past: [string, AlarmState][];
  readonly pastMs: [Kind, number][];
  readonly baselines: [string, BaselineState][];
}

/** What must be on disk; null if that is nothing. Times of the newest readings alone are no reason to write. */
export function saveSensor(sensor: SensorAlarms): string | null {
  const baselines = [...sensor.baselines].flatMap(([key, state]): [string, BaselineState][] => {
    if (state.first !== null) return [[key, state]];
    // What is being learned is rebuilt from the samples.
    return state.from === 0 ? [] : [[key, { ...UNLEARNED, from: state.from }]];
  });
  const { live, past, pastMs, waiting } = sensor;
  const size = live.size + past.size + pastMs.size + waiting.size + baselines.length;
  if (size === 0) return null;
  const saved: SavedSensor = {
    live: [...live],
    past: [...past],
    pastMs: [...pastMs],
    baselines,
    ...(waiting.size === 0
      ? {}
      : { waiting: [...waiting].map(([kind, all]) => [kind, all.slice(-SAVED_WAITING)]) }),
  };
  return JSON.stringify(saved);
}

/**
 * The reverse. A text that cannot be read counts as none: a condition that persists is raised again by the next
 * reading.
 */
export function loadSensor(text: string): SensorAlarms {
  const sensor = emptySensor();
  const saved = JSON.parse(text) as SavedSensor;
  for (const [key, state] of saved.live) sensor.live.set(key, state);
  for (const [key, state] of saved.past) sensor.past.set(key, state);
  for (const [kind, ms] of saved.pastMs) sensor.pastMs.set(kind, ms);
  for (const [kind, waiting] of saved.waiting ?? []) sensor.waiting.set(kind, waiting);
  for (const [key, state] of saved.baselines) sensor.baselines.set(key, state);
  return sensor;
}
