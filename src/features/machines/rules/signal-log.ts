/**
 * What is known of the signals. Memory holds the newest readings of each without a gap, from the first question for them on;
 * older ones are in the store, which sees a reading only once it is committed.
 */
import type { Tx } from "../../../core/tx.ts";
import type { Signal } from "./machine-signals.ts";
import { addPoint, INTERVAL_POINTS, type SignalPoint, type SignalPoints } from "./signal.ts";

/** Readings of a signal in memory, a day of one a minute. */
const POINTS_MAX = 1440;

/** The newest stored readings of a signal at or before a time, ms, in order of time; at most `count`. */
export type Earlier = (
  signal: Pick<Signal, "sensor" | "kind" | "value">,
  timeMs: number,
  count: number,
) => SignalPoints;

/** The first stored reading of a signal after a time and at or before another, ms, that has a value; null if there is none. */
export type Later = (
  signal: Pick<Signal, "sensor" | "kind" | "value">,
  afterMs: number,
  toMs: number,
) => SignalPoint | null;

export interface NewestPoints {
  readonly points: SignalPoints;
  /** Every stored reading after this time, ms, is among the points. */
  readonly fromMs: number;
}

/** The newest stored readings of a signal, enough to learn its interval. */
export type Newest = (signal: Pick<Signal, "sensor" | "kind" | "value">) => NewestPoints;

interface Known extends NewestPoints {
  /** Older ones of the running transaction. */
  readonly late: SignalPoints;
}

export const NO_POINTS: NewestPoints = { points: [], fromMs: Number.NEGATIVE_INFINITY };

export class SignalLog {
  readonly #earlier: Earlier;
  readonly #later: Later;
  readonly #newest: Newest;
  readonly #known = new Map<string, Known>();

  constructor(earlier: Earlier, later: Later, newest: Newest = () => NO_POINTS) {
    this.#earlier = earlier;
    this.#later = later;
    this.#newest = newest;
  }

  /**
   * Sets what the store holds; what the running transaction adds to it stays.
   * @param fromMs the points are all that are stored after this time
   */
  prime(signal: Signal, points: SignalPoints, fromMs: number): void {
    const newestMs = points.at(-1)?.timeMs ?? fromMs;
    const known = this.#of(signal);
    const newer = known.points.filter(({ timeMs }) => timeMs > newestMs);
    this.#known.set(signal.key, { points: [...points, ...newer], fromMs, late: known.late });
  }

  /** Reads the newest of a signal, unless they are known. */
  load(signal: Signal): void {
    this.#of(signal);
  }

  /** The next question for a signal is answered by what is stored then. */
  forget({ key }: Pick<Signal, "key">): void {
    this.#known.delete(key);
  }

  /** What is no signal any more is no longer followed. */
  keepOnly(signals: readonly Signal[]): void {
    const keys = new Set(signals.map(({ key }) => key));
    for (const key of this.#known.keys()) if (!keys.has(key)) this.#known.delete(key);
  }

  note(tx: Tx, signal: Signal, point: SignalPoint): void {
    const { key } = signal;
    const { points, fromMs, late } = this.#of(signal);
    tx.onRollback(() => this.#remove(key, point));
    if (point.timeMs <= fromMs) {
      this.#known.set(key, { points, fromMs, late: addPoint(late, point) });
      // From then on the store has it.
      tx.onCommit(() => this.#removeLate(key, point));
      return;
    }
    const all = addPoint(points, point);
    const kept = all.slice(-POINTS_MAX);
    const oldest = kept.length < all.length ? (kept[0]?.timeMs ?? fromMs) : fromMs;
    this.#known.set(key, { points: kept, fromMs: oldest, late });
  }

  #remove(key: string, point: SignalPoint): void {
    const known = this.#known.get(key);
    if (known === undefined) return;
    this.#known.set(key, { ...known, points: known.points.filter((one) => one !== point) });
    this.#removeLate(key, point);
  }

  #removeLate(key: string, point: SignalPoint): void {
    const known = this.#known.get(key);
    if (known === undefined || known.late.length === 0) return;
    this.#known.set(key, { ...known, late: known.late.filter((one) => one !== point) });
  }

  /** The newest readings at or before a time: enough to know the interval. */
  before(signal: Signal, timeMs: number): SignalPoints {
    const { points, fromMs, late } = this.#of(signal);
    const count = points.findLastIndex((point) => point.timeMs <= timeMs) + 1;
    const newest = points.slice(Math.max(0, count - INTERVAL_POINTS), count);
    if (fromMs === Number.NEGATIVE_INFINITY) return newest;
    if (newest.length === INTERVAL_POINTS && (newest[0]?.timeMs ?? fromMs) > fromMs) return newest;
    const inMemory = newest.filter((point) => point.timeMs > fromMs);
    const older = this.#earlier(signal, Math.min(timeMs, fromMs), INTERVAL_POINTS);
    const fresh = late.filter((point) => point.timeMs <= timeMs).slice(-INTERVAL_POINTS);
    const stored = [...older, ...fresh].toSorted((a, b) => a.timeMs - b.timeMs);
    return [...stored, ...inMemory].slice(-INTERVAL_POINTS);
  }

  /** Readings from one time to another, ms. */
  between(signal: Signal, fromMs: number, toMs: number): SignalPoints {
    const { points, fromMs: heldMs, late } = this.#of(signal);
    const older = heldMs < fromMs ? [] : this.#earlier(signal, Math.min(toMs, heldMs), POINTS_MAX);
    return [...older, ...late, ...points].filter(
      ({ timeMs }) => timeMs >= fromMs && timeMs <= toMs,
    );
  }

  /** Time of the first reading in memory at or after a time, ms; null if there is none. */
  firstFrom(signal: Signal, timeMs: number): number | null {
    return this.#of(signal).points.find((point) => point.timeMs >= timeMs)?.timeMs ?? null;
  }

  /** The first reading after a time that has a value; null if there is none. */
  firstAfter(signal: Signal, timeMs: number): SignalPoint | null {
    const { points, fromMs, late } = this.#of(signal);
    const isNext = (point: SignalPoint) => point.timeMs > timeMs && point.value !== null;
    const inMemory = points.find(isNext) ?? null;
    // Memory holds everything after `fromMs`; of an older record the next one is in the store.
    if (timeMs >= fromMs) return inMemory;
    const fresh = late.find(isNext) ?? null;
    const stored = this.#later(signal, timeMs, fromMs);
    const older = [stored, fresh].filter((point) => point !== null);
    return older.toSorted((a, b) => a.timeMs - b.timeMs)[0] ?? inMemory;
  }

  #of(signal: Signal): Known {
    const known = this.#known.get(signal.key);
    if (known !== undefined) return known;
    const loaded = { ...this.#newest(signal), late: [] };
    this.#known.set(signal.key, loaded);
    return loaded;
  }
}
