/** The remembered alarm state of one sensor, and its text on disk. Its size depends on the sensor, not on its history. */

import type { AlarmEvent } from "../../../core/alarm/event.ts";
import { intactJson } from "../../../core/parsed-json.ts";
import { parseScales, type Scales } from "../../../core/scaling.ts";
import type { Kind } from "../../../core/sensor.ts";
import { type BaselineState, UNLEARNED } from "./baseline.ts";
import { type Since, sinceFrom } from "./since.ts";
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
  /** Members of its newest event, which the retained topic keeps. Absent: not told since a version that has it. */
  readonly told?: Pick<
    AlarmEvent,
    "timeMs" | "measured" | "readingId" | "worst" | "text" | "reason"
  >;
}

export interface AlarmState
  extends Pick<
    AlarmEvent,
    "alarm" | "kind" | "value" | "unit" | "reason" | "acknowledged" | "shelved" | "note"
  > {
  readonly watch: WatchState;
  readonly raised: Raised | null;
  /** Of the condition, from before the delay; null while normal. */
  readonly since: Since | null;
  /** Of an alarm by a learned level: what `watch` follows it of (`learnedAt`). Absent: of everything. */
  readonly learnedAt?: string;
  /** What passes learned levels of something else, by that, before its delay is over. */
  readonly aside?: Readonly<Record<string, Pick<AlarmState, "watch" | "since">>>;
  /** Readings in a row that were of something else while the alarm stood. */
  readonly elsewhere?: number;
}

export type AlarmKey = Pick<AlarmState, "alarm" | "kind" | "value" | "unit">;

export function normalAlarm({ alarm, kind, value, unit }: AlarmKey): AlarmState {
  const rest = {
    raised: null,
    since: null,
    reason: null,
    acknowledged: null,
    shelved: null,
    note: null,
  };
  return { alarm, kind, value, unit, watch: NORMAL, ...rest };
}

/**
 * An alarm by a learned level, as readings of one kind go on with it: running and standing have a level each, and so has each
 * rate and length of the record. Readings of one neither interrupt the delay of another nor end its alarm. Null: it stands by
 * another level.
 */
export function asLearned(alarm: AlarmState, at: string): AlarmState | null {
  const { learnedAt, watch, since, aside = {}, ...rest } = alarm;
  if (learnedAt === undefined || learnedAt === at) {
    const { elsewhere: _none, ...here } = alarm;
    return { ...here, learnedAt: at };
  }
  if (watch.active !== null) return null;
  const { [at]: own = { watch: NORMAL, since: null }, ...others } = aside;
  const left = watch.passing === null ? others : { ...others, [learnedAt]: { watch, since } };
  const kept = Object.keys(left).length === 0 ? {} : { aside: left };
  return { ...rest, ...own, ...kept, learnedAt: at };
}

/** Common to all events of the alarm. */
export function eventMembers(
  state: AlarmState,
): Omit<AlarmState, "watch" | "raised" | "since" | "learnedAt" | "aside" | "elsewhere"> {
  const { alarm, kind, value, unit, reason, acknowledged, shelved, note } = state;
  return { alarm, kind, value, unit, reason, acknowledged, shelved, note };
}

/** True if there is nothing to remember of it. */
export function isNothing({ watch, raised, shelved, aside }: AlarmState): boolean {
  const isNormal = watch.passing === null && watch.active === null && aside === undefined;
  return isNormal && raised === null && shelved === null;
}

/** The newest reading that was followed in its order. */
export interface Newest {
  readonly timeMs: number;
  readonly id: string;
  /** Those of SHARED_VALUES that it has: alarms on them follow every kind that gives them. */
  readonly shared?: readonly string[];
}

/** Values of the maps are never altered in place: a copy of the maps is a copy of all. */
export interface SensorAlarms {
  readonly newest: Map<Kind, Newest>;
  /** By watch key. */
  readonly live: Map<string, AlarmState>;
  /** The same for late readings: a second run over the past, restarted whenever time goes back. */
  readonly past: Map<string, AlarmState>;
  /** By kind, and those of what waits for the machine's state separately. */
  readonly pastMs: Map<string, number>;
  /**
   * By watch key, time of the newest reading in its order that was normal; not kept on disk. By kind, that of the newest
   * stored one at the start, and by `waited` what lies before the first that waited then: what is normal then, with
   * nothing remembered of it, was so in that one.
   */
  readonly normalMs: Map<string, number>;
  /** By `watch key@running state`. */
  readonly baselines: Map<string, BaselineState>;
  /** Number of the next learning sample. */
  nextSample: number;
  /** JSON of the scales by which it was measured; null while nothing is known of them, as up to 0.2. */
  scales: string | null;
  /** The code as the site file last wrote it, in topics too: with leading zeros. Null while unknown. */
  written: string | null;
}

/** The key of what waits for the machine's state. */
export const waited = (kind: Kind) => `${kind} waited`;

export function emptySensor(): SensorAlarms {
  return {
    newest: new Map(),
    live: new Map(),
    past: new Map(),
    pastMs: new Map(),
    normalMs: new Map(),
    baselines: new Map(),
    nextSample: 0,
    scales: null,
    written: null,
  };
}

export function copySensor(from: SensorAlarms): SensorAlarms {
  return {
    newest: new Map(from.newest),
    live: new Map(from.live),
    past: new Map(from.past),
    pastMs: new Map(from.pastMs),
    normalMs: new Map(from.normalMs),
    baselines: new Map(from.baselines),
    nextSample: from.nextSample,
    scales: from.scales,
    written: from.written,
  };
}

/** Whether nothing that is saved differs between a state and a changed copy of it. */
export function isSameSensor(before: SensorAlarms, now: SensorAlarms): boolean {
  return (
    before.nextSample === now.nextSample &&
    before.scales === now.scales &&
    before.written === now.written &&
    isSameMap(before.live, now.live) &&
    isSameMap(before.past, now.past) &&
    isSameMap(before.pastMs, now.pastMs) &&
    isSameMap(before.baselines, now.baselines)
  );
}

function isSameMap<V>(one: ReadonlyMap<string, V>, other: ReadonlyMap<string, V>): boolean {
  if (one.size !== other.size) return false;
  for (const [key, value] of one) if (other.get(key) !== value) return false;
  return true;
}

interface SavedSensor {
  readonly live: [string, AlarmState][];
  readonly past: [string, AlarmState][];
  readonly pastMs: [string, number][];
  readonly baselines: [string, BaselineState][];
  readonly scales?: Scales;
  readonly written?: string;
}

/** What must be on disk; null if that is nothing. Times of the newest readings alone are no reason to write. */
export function saveSensor(sensor: SensorAlarms): string | null {
  const baselines = [...sensor.baselines].flatMap(([key, state]): [string, BaselineState][] => {
    if (state.first !== null) return [[key, state]];
    // What is being learned is rebuilt from the samples.
    return state.from === 0 ? [] : [[key, { ...UNLEARNED, from: state.from }]];
  });
  const { live, past, pastMs, scales, written } = sensor;
  const hasScales = scales !== null && scales !== "{}";
  const isLearning = hasScales && sensor.nextSample > 0;
  const size = live.size + past.size + pastMs.size + baselines.length + Number(isLearning);
  if (size === 0) return null;
  const saved: SavedSensor = {
    live: [...live],
    past: [...past],
    pastMs: [...pastMs],
    baselines,
    ...(hasScales ? { scales: parseScales(scales) } : {}),
    ...(written === null ? {} : { written }),
  };
  return JSON.stringify(saved);
}

/**
 * The reverse. A text that cannot be read counts as none: a condition that persists is raised again by the next
 * reading.
 */
export function loadSensor(text: string): SensorAlarms {
  const sensor = emptySensor();
  const saved = intactJson<SavedSensor>(text);
  for (const [key, state] of saved.live) sensor.live.set(key, withSince(state));
  for (const [key, state] of saved.past) sensor.past.set(key, withSince(state));
  for (const [kind, ms] of saved.pastMs) sensor.pastMs.set(kind, ms);
  // JSON has no NaN: a level without numbers would be a limit of 0.
  for (const [key, state] of saved.baselines)
    if (state.first === null || Number.isFinite(state.first.median))
      sensor.baselines.set(key, state);
  if (saved.scales !== undefined) sensor.scales = JSON.stringify(saved.scales);
  sensor.written = saved.written ?? null;
  return sensor;
}

/** States of versions up to 0.2 do not say since when. */
function withSince(state: AlarmState & { readonly since?: Since | null }): AlarmState {
  const { raised, since, watch } = state;
  const ms = watch.passing?.sinceMs ?? raised?.timeMs;
  return { ...state, since: since ?? (ms === undefined ? null : sinceFrom(ms)) };
}
