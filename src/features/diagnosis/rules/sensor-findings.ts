/** What is remembered of the findings of one sensor: how often in a row each was seen, and which are active. */

import {
  type Cannot,
  type FindingKind,
  findingKey,
  type Judgement,
  type Said,
  type Verdict,
} from "../../../core/diagnosis/finding.ts";
import { intactJson } from "../../../core/parsed-json.ts";
import type { Sensor } from "../../../core/sensor.ts";
import { publishedChannels } from "../../../pipeline/convert/accel.ts";
import { extended, passed, type Since, sinceFrom } from "../../alarms/api.ts";
import { FORCES } from "./look.ts";
import { learn, type Reference } from "./reference.ts";
import type { Thresholds } from "./thresholds.ts";
import { isRemembered, type UnexplainedState } from "./unexplained-state.ts";

/**
 * Lines come and go from one reading to the next, those of a damaged cage most: a finding stands after so many of the
 * last readings too.
 */
const OFTEN: Partial<
  Record<FindingKind | "any", { readonly readings: number; readonly of: number }>
> & {
  readonly any: { readonly readings: number; readonly of: number };
} = {
  cage: { readings: 4, of: 6 },
  // The damaged spot rolls aside at times.
  rolling_element: { readings: 4, of: 8 },
  any: { readings: 5, of: 8 },
};
/** At a lower share of the speed than this, forces may be too weak to show a fault of the shaft. */
const SLOW_SHARE = 0.9;
/** Counting stops here. */
const COUNT_MAX = 9999;

export interface FindingState {
  readonly finding: FindingKind;
  readonly bearing: string | null;
  /** Consecutive readings that showed it and, if it is active, that did not. */
  readonly inRow: number;
  readonly missed: number;
  /** Which of the last readings showed it, the newest as the lowest bit; states of earlier versions have none. */
  readonly recent?: number;
  /** Of the first reading that showed it. */
  readonly since: Since;
  /** Late readings of one run in a row that did not show it. */
  readonly lateMissed?: number;
  /** Null until it is active. */
  readonly stands: { readonly id: string; readonly sinceMs: number } | null;
  readonly worstStage: 1 | 2 | 3;
  /** Highest speed at which the row showed it, r/min; states of earlier versions have none. */
  readonly fullRpm?: number;
  /** The newest reading that showed it. */
  readonly last: {
    readonly readingId: string;
    readonly timeMs: number;
    readonly speedRpm: number;
    readonly verdict: Verdict;
  };
}

export interface SensorFindings {
  /** Time of the newest evaluated reading. */
  readonly newestMs: number | null;
  readonly states: ReadonlyMap<string, FindingState>;
  /** Of what is not remembered: how many of the newest readings in a row did not show it, up to what ends a finding. */
  readonly clear?: ReadonlyMap<string, number>;
  /** The shaft's normal state, as far as it is learned. */
  readonly reference?: Reference | null;
  /** Lines that nothing explains. */
  readonly unexplained?: UnexplainedState;
  /** Where the sensor was when all this was learned (`sensorMount`); absent in stores up to 0.3. */
  readonly mount?: string;
  /** What the last readings could not tell, by reason and fault; not kept on disk. */
  readonly said?: ReadonlyMap<string, Said>;
  /** Of the newest reading; not kept on disk. */
  readonly seen: {
    readonly readingId: string;
    readonly timeMs: number;
    readonly speedRpm: number | null;
    readonly cannot: readonly Cannot[];
    readonly judged: readonly string[];
  } | null;
}

/** What findings and the normal state are of: a sensor that is moved begins anew. */
export function sensorMount(sensor: Sensor): string {
  const axes = publishedChannels(sensor, true).map(({ number, axis }) => [number, axis]);
  return JSON.stringify([sensor.location?.machine, sensor.location?.point, axes]);
}

export const NO_FINDINGS: SensorFindings = { newestMs: null, states: new Map(), seen: null };

export interface FindingChange {
  readonly change: "stands" | "worse" | "ended";
  readonly state: FindingState;
}

export interface JudgedReading {
  readonly id: string;
  readonly timeMs: number;
  readonly speedRpm: number | null;
}

/** Processes one evaluated reading; faults that could not be checked stay unchanged. */
export function advance(
  before: SensorFindings,
  reading: JudgedReading,
  judgement: Judgement,
  thresholds: Thresholds,
  idOf: (key: string) => string,
): { readonly next: SensorFindings; readonly changes: readonly FindingChange[] } {
  const states = new Map(before.states);
  const clear = new Map(before.clear);
  const changes: FindingChange[] = [];
  const shown = new Map(judgement.verdicts.map((found) => [keyOf(found), found]));
  for (const key of judgement.judged) {
    const old = states.get(key);
    const verdict = shown.get(key);
    const isOpen = old !== undefined && old.stands === null;
    if (verdict?.isBelowFull === true && isOpen) continue;
    if (verdict !== undefined) {
      const wasEnded = clear.get(key) === thresholds.clearReadings;
      const { newestMs } = before;
      // One that has waited for its speed over a restart may itself be the newest.
      const isBefore = newestMs !== null && newestMs < reading.timeMs;
      const since = old?.since ?? sinceFrom(reading.timeMs, wasEnded && isBefore ? newestMs : null);
      const next = raise(old, reading, verdict, since, thresholds, () => idOf(key));
      clear.delete(key);
      if (next.stands !== null && (old?.stands ?? null) === null) {
        changes.push({ change: "stands", state: next });
      } else if (next.stands !== null && next.worstStage === 3 && old?.worstStage !== 3) {
        changes.push({ change: "worse", state: next });
      }
      states.set(key, next);
      continue;
    }
    if (old === undefined) {
      clear.set(key, Math.min(thresholds.clearReadings, (clear.get(key) ?? 0) + 1));
      continue;
    }
    const missed = old.missed + 1;
    const isSlow = (reading.speedRpm ?? 0) < SLOW_SHARE * (old.fullRpm ?? 0);
    if (isOpen && isSlow && FORCES.has(key)) continue;
    const recent = recentOf(old, old.finding, false);
    if (isOpen ? recent > 0 : missed < thresholds.clearReadings) {
      states.set(key, { ...old, inRow: 0, missed: isOpen ? 0 : missed, recent });
      continue;
    }
    if (old.stands !== null) changes.push({ change: "ended", state: { ...old, inRow: 0, missed } });
    states.delete(key);
    clear.set(key, thresholds.clearReadings);
  }
  const { id: readingId, timeMs, speedRpm } = reading;
  const { cannot, judged } = judgement;
  const seen = { readingId, timeMs, speedRpm, cannot, judged };
  const isShaftFaulty = [...states.values()].some(({ last }) => last.verdict.normal !== undefined);
  const moment = { timeMs, isFaulty: isShaftFaulty };
  const reference = learn(before.reference, judgement.levels, speedRpm ?? 0, moment);
  const { unexplained } = before;
  const kept = unexplained === undefined ? {} : { unexplained };
  return { next: { newestMs: timeMs, states, clear, reference, seen, ...kept }, changes };
}

const keyOf = ({ finding, bearing }: Verdict) => findingKey(finding, bearing);

function raise(
  old: FindingState | undefined,
  { id, timeMs, speedRpm }: JudgedReading,
  verdict: Verdict,
  since: Since,
  { raiseReadings }: Thresholds,
  newId: () => string,
): FindingState {
  const inRow = Math.min(COUNT_MAX, (old?.inRow ?? 0) + 1);
  const { finding, bearing, stage } = verdict;
  const recent = recentOf(old, finding, true);
  const often = oftenOf(finding).readings;
  const isOften = raiseReadings >= often && timesIn(recent) >= often;
  const isEnough = inRow >= raiseReadings || isOften;
  const stands = old?.stands ?? (isEnough ? { id: newId(), sinceMs: timeMs } : null);
  const worstStage = old !== undefined && old.worstStage > stage ? old.worstStage : stage;
  const last = { readingId: id, timeMs, speedRpm: speedRpm ?? 0, verdict };
  const fullRpm = Math.max(old?.fullRpm ?? 0, speedRpm ?? 0);
  return {
    finding,
    bearing,
    inRow,
    missed: 0,
    since,
    stands,
    worstStage,
    fullRpm,
    last,
    recent,
  };
}

export const oftenOf = (finding: FindingKind) => OFTEN[finding] ?? OFTEN.any;

function recentOf(old: FindingState | undefined, finding: FindingKind, isShown: boolean): number {
  return (((old?.recent ?? 0) << 1) | (isShown ? 1 : 0)) & ((1 << oftenOf(finding).of) - 1);
}

/** How often a fault was seen, where that is more than in a row; null elsewhere. */
export function oftenText(finding: FindingKind, inRow: number, recent: number): string | null {
  const times = timesIn(recent);
  return times > inRow ? `${times} of the last ${oftenOf(finding).of} readings` : null;
}

/** How many of the last readings. @param bits one of each */
export function timesIn(bits: number): number {
  let ones = 0;
  for (let rest = bits; rest > 0; rest >>= 1) ones += rest & 1;
  return ones;
}

/** A late reading says since when the machine has shown what is remembered of it; it raises and ends nothing. */
export function extend(
  before: SensorFindings,
  timeMs: number,
  { judged, verdicts }: Judgement,
  { clearReadings }: Thresholds,
): SensorFindings {
  const states = new Map(before.states);
  const shown = new Set(verdicts.map(keyOf));
  for (const key of judged) {
    const state = states.get(key);
    if (state === undefined) continue;
    const isShown = shown.has(key);
    const isSameRun = state.since.lastMs !== null && timeMs > state.since.lastMs;
    const lateMissed = isShown ? 0 : (isSameRun ? (state.lateMissed ?? 0) : 0) + 1;
    // What stands is not ended by a few readings without it.
    const isAnswer = isShown || lateMissed >= clearReadings;
    const since = isAnswer ? extended(state.since, timeMs, isShown) : passed(state.since, timeMs);
    states.set(key, { ...state, since, lateMissed });
  }
  return { ...before, states };
}

/** Saved as the newest time while no finding is remembered. */
export const UNKNOWN_MS = 0;

type SavedFinding = FindingState & { readonly sinceMs?: number };

/** States of versions up to 0.2 have only the time of the row. */
function withSince([key, state]: [string, SavedFinding]): [string, FindingState] {
  const { sinceMs: rowMs, ...rest } = state;
  return [key, { ...rest, since: state.since ?? sinceFrom(rowMs ?? state.last.timeMs) }];
}

interface SavedFindings {
  readonly newestMs: number;
  readonly clear?: [string, number][];
  readonly reference?: Reference | null;
  readonly mount?: string;
  readonly unexplained?: UnexplainedState;
  readonly states: [string, FindingState][];
}

/** What must be on disk; null if that is nothing. */
export function saveFindings(of: SensorFindings): string | null {
  const { newestMs, states, clear, reference, mount, unexplained } = of;
  const hasLines = unexplained !== undefined && isRemembered(unexplained);
  if (newestMs === null || (states.size === 0 && !reference && !hasLines)) return null;
  // While no finding is remembered, the normal state alone is, which does not change with every reading.
  const time = states.size === 0 && !hasLines ? UNKNOWN_MS : newestMs;
  const saved: SavedFindings = {
    newestMs: time,
    states: [...states],
    ...(clear && { clear: [...clear] }),
    ...(reference && { reference }),
    ...(mount !== undefined && { mount }),
    ...(hasLines && { unexplained }),
  };
  return JSON.stringify(saved, (_key, value: unknown) =>
    typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value,
  );
}

/** The reverse; throws if the text is damaged. */
export function loadFindings(text: string): SensorFindings {
  const saved = intactJson<SavedFindings>(text);
  const { newestMs, states, clear, reference = null, mount, unexplained } = saved;
  const known = reference?.speeds === undefined ? null : reference;
  return {
    newestMs,
    states: new Map(states.map(withSince)),
    clear: new Map(clear),
    reference: known,
    ...(mount !== undefined && { mount }),
    ...(unexplained !== undefined && { unexplained }),
    seen: null,
  };
}
