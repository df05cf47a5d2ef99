/** What is remembered of the unexplained lines of one sensor, and when they are an alarm (plant section 24). */
import type { Unexplained, UnexplainedLine } from "../../../core/diagnosis/finding.ts";

/** So many of the last judged readings raise the alarm, and so many in a row without the line end it. */
const RAISE_READINGS = 5;
const OF_READINGS = 8;
const CLEAR_READINGS = 5;
/** Of the limit: what keeps the alarm. */
export const KEEP_SHARE = 0.8;
/** A line that keeps its ratio to the speed so exactly, at speeds so far apart, may be that of a sensor whose clock is off. */
const RATIO_SHARE = 0.002;
const SPEEDS_SHARE = 0.05;
const RATIO_READINGS = 5;
/** What a clock may be off by (`sampleRateFactor`). */
export const FACTOR_MIN = 0.8;
export const FACTOR_MAX = 1.25;

interface SeenLine extends UnexplainedLine {
  readonly readingId: string;
  readonly timeMs: number;
}

/** A line whose double stands too, at a constant ratio to the speed. */
interface ConstantRatio {
  readonly ratio: number;
  readonly readings: number;
  readonly leastRpm: number;
  readonly mostRpm: number;
}

export interface StandingLineAlarm {
  /** Of the event that told it. */
  readonly id: string;
  readonly raisedMs: number;
  readonly sinceMs: number;
  /** The newest that shows it. */
  readonly line: SeenLine;
  readonly worst: { readonly level: number; readonly timeMs: number };
  /** Judged readings in a row without it. */
  readonly missed: number;
}

export interface UnexplainedState {
  /** Lines of the last judged readings, the newest first; none: everything was explained. */
  readonly recent: readonly (readonly SeenLine[])[];
  readonly constant: ConstantRatio | null;
  readonly stands: StandingLineAlarm | null;
}

export const NONE_UNEXPLAINED: UnexplainedState = { recent: [], constant: null, stands: null };

/** Whether there is anything to keep. */
export function isRemembered({ recent, constant, stands }: UnexplainedState): boolean {
  return stands !== null || constant !== null || recent.some((lines) => lines.length > 0);
}

export interface UnexplainedChange {
  readonly change: "stands" | "ended";
  readonly alarm: StandingLineAlarm;
}

/** Processes a reading in its order. @param mayRaise whether the sensor has a class or limits */
export function followUnexplained(
  before: UnexplainedState,
  { id, timeMs }: { readonly id: string; readonly timeMs: number },
  found: Unexplained,
  mayRaise: boolean,
  newId: () => string,
): { readonly next: UnexplainedState; readonly changes: readonly UnexplainedChange[] } {
  const lines = found.lines.map((line): SeenLine => ({ ...line, readingId: id, timeMs }));
  const constant = withRatio(before.constant, lines);
  const isClock = factorOf(constant) !== null;
  // Where the speed is in doubt, only a ratio that many readings show says more.
  if (found.isDoubtful && !isClock) return { next: { ...before, constant }, changes: [] };
  const recent = [lines, ...before.recent].slice(0, OF_READINGS);
  const raised = mayRaise ? oftenSeen(recent) : null;
  const { stands } = before;
  if (stands === null) {
    if (raised === null) return { next: { recent, constant, stands: null }, changes: [] };
    const { line, sinceMs } = raised;
    const worst = { level: line.level, timeMs };
    const alarm = { id: newId(), raisedMs: timeMs, sinceMs, line, worst, missed: 0 };
    return { next: { recent, constant, stands: alarm }, changes: [{ change: "stands", alarm }] };
  }
  const own = highest(lines.filter((line) => isSame(line, stands.line))) ?? raised?.line ?? null;
  if (own !== null) {
    const isWorst = own.level > stands.worst.level;
    const worst = isWorst ? { level: own.level, timeMs } : stands.worst;
    const alarm = { ...stands, line: own, worst, missed: 0 };
    return { next: { recent, constant, stands: alarm }, changes: [] };
  }
  const missed = stands.missed + 1;
  const alarm = { ...stands, missed };
  if (missed < CLEAR_READINGS) return { next: { recent, constant, stands: alarm }, changes: [] };
  return { next: { recent, constant, stands: null }, changes: [{ change: "ended", alarm }] };
}

/** Whether a reading's line is told: from the limit on, and what keeps a standing alarm. */
export function isTold({ stands }: UnexplainedState, line: UnexplainedLine): boolean {
  return line.level >= line.limit || (stands !== null && isSame(line, stands.line));
}

/** The factor by which the sensor's clock would be true; null where it is no question of the clock. */
export function factorOf(constant: ConstantRatio | null): number | null {
  if (constant === null || constant.readings < RATIO_READINGS) return null;
  const { ratio, leastRpm, mostRpm } = constant;
  return mostRpm >= (1 + SPEEDS_SHARE) * leastRpm ? 1 / ratio : null;
}

/** How often a line was seen, in words. */
export function seenTimes({ recent }: UnexplainedState, line: UnexplainedLine): string {
  const isShown = recent.map((lines) => lines.some((one) => isSame(one, line)));
  const first = isShown.indexOf(false);
  const inRow = first < 0 ? isShown.length : first;
  if (inRow >= RAISE_READINGS) return `${inRow} readings in a row`;
  return `${isShown.filter(Boolean).length} of the last ${OF_READINGS} readings`;
}

/** The strongest line of the newest reading that enough of the last ones showed, and since when. */
function oftenSeen(recent: UnexplainedState["recent"]): { line: SeenLine; sinceMs: number } | null {
  const full = recent.map((lines) => lines.filter(({ level, limit }) => level >= limit));
  const often = (full[0] ?? []).filter((line) => seenIn(full, line).length >= RAISE_READINGS);
  const line = highest(often);
  const first = line === null ? undefined : seenIn(full, line).at(-1);
  return line === null || first === undefined ? null : { line, sinceMs: first.timeMs };
}

/** The same line of each reading that shows it. */
function seenIn(recent: UnexplainedState["recent"], line: SeenLine): SeenLine[] {
  return recent.flatMap((lines) => lines.find((one) => isSame(one, line)) ?? []);
}

/** In Hz, or in order. */
function isSame(a: UnexplainedLine, b: UnexplainedLine): boolean {
  const reachHz = Math.max(a.reachHz, b.reachHz);
  const apart = Math.abs(a.order - b.order) * (Math.max(a.rpm, b.rpm) / 60);
  return Math.abs(a.hz - b.hz) <= reachHz || apart <= reachHz;
}

function highest(lines: readonly SeenLine[]): SeenLine | null {
  return lines.toSorted((a, b) => b.level - a.level)[0] ?? null;
}

function withRatio(before: ConstantRatio | null, lines: readonly SeenLine[]): ConstantRatio | null {
  const mayBe = ({ order, level, limit, hasSecond }: SeenLine) =>
    hasSecond &&
    level >= limit &&
    Math.abs(order - 1) > RATIO_SHARE &&
    1 / order >= FACTOR_MIN &&
    1 / order <= FACTOR_MAX;
  const line = highest(lines.filter(mayBe));
  if (line === null) return before;
  const { order, rpm } = line;
  if (before === null || Math.abs(order / before.ratio - 1) > RATIO_SHARE)
    return { ratio: order, readings: 1, leastRpm: rpm, mostRpm: rpm };
  return {
    ratio: before.ratio,
    readings: Math.min(RATIO_READINGS, before.readings + 1),
    leastRpm: Math.min(before.leastRpm, rpm),
    mostRpm: Math.max(before.mostRpm, rpm),
  };
}
