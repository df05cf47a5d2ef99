/**
 * What is known of the signals. Memory holds the newest readings of each without a gap; older ones are in the store,
 * which sees a reading only once it is committed.
 */
import type { Tx } from "../tx.ts";
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

interface Known {
  readonly points: SignalPoints;
  /** Every reading after this time is among the points. */
  readonly fromMs: number;
  /** Older ones of the running transaction. */
  readonly late: SignalPoints;
}

const NOTHING: Known = { points: [], fromMs: Number.NEGATIVE_INFINITY, late: [] };

export class SignalLog {
  readonly #earlier: Earlier;
  readonly #later: Later;
  readonly #known = new Map<string, Known>();

  constructor(earlier: Earlier, later: Later) {
    this.#earlier = earlier;
    this.#later = later;
  }

  /**
   * Sets what the store holds; what the running transaction adds to it stays.
   * @param fromMs the points are all that are stored after this time
   */
  prime({ key }: Signal, points: SignalPoints, fromMs: number): void {
    const newestMs = points.at(-1)?.timeMs ?? fromMs;
    const newer = this.#of(key).points.filter(({ timeMs }) => timeMs > newestMs);
    this.#known.set(key, { points: [...points, ...newer], fromMs, late: this.#of(key).late });
  }

  note(tx: Tx, { key }: Signal, point: SignalPoint): void {
    const { points, fromMs, late } = this.#of(key);
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
    const known = this.#of(key);
    this.#known.set(key, { ...known, points: known.points.filter((one) => one !== point) });
    this.#removeLate(key, point);
  }

  #removeLate(key: string, point: SignalPoint): void {
    const known = this.#of(key);
    if (known.late.length === 0) return;
    this.#known.set(key, { ...known, late: known.late.filter((one) => one !== point) });
  }

  /** The newest readings at or before a time: enough to know the interval. */
  before(signal: Signal, timeMs: number): SignalPoints {
    const { points, fromMs, late } = this.#of(signal.key);
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
    const { points, fromMs: heldMs, late } = this.#of(signal.key);
    const older = heldMs < fromMs ? [] : this.#earlier(signal, Math.min(toMs, heldMs), POINTS_MAX);
    return [...older, ...late, ...points].filter(
      ({ timeMs }) => timeMs >= fromMs && timeMs <= toMs,
    );
  }

  /** Time of the first reading in memory at or after a time, ms; null if there is none. */
  firstFrom({ key }: Signal, timeMs: number): number | null {
    return this.#of(key).points.find((point) => point.timeMs >= timeMs)?.timeMs ?? null;
  }

  /** The first reading after a time that has a value; null if there is none. */
  firstAfter(signal: Signal, timeMs: number): SignalPoint | null {
    const { points, fromMs, late } = this.#of(signal.key);
    const isNext = (point: SignalPoint) => point.timeMs > timeMs && point.value !== null;
    const inMemory = points.find(isNext) ?? null;
    // Memory holds everything after `fromMs`; of an older record the next one is in the store.
    if (timeMs >= fromMs) return inMemory;
    const fresh = late.find(isNext) ?? null;
    const stored = this.#later(signal, timeMs, fromMs);
    const older = [stored, fresh].filter((point) => point !== null);
    return older.toSorted((a, b) => a.timeMs - b.timeMs)[0] ?? inMemory;
  }

  #of(key: string): Known {
    return this.#known.get(key) ?? NOTHING;
  }
}
