import type { PolledKind } from "../core/sensor.ts";
import type { FaultyItem, RecordStep } from "./record-faults.ts";

/**
 * complete: served in a response that ended well with Key 0 · partial: only in responses that were cut or aborted. A
 * client must have every complete one and may have a partial one.
 */
export type ServedState = "complete" | "partial";

export interface ServedPoint {
  /** The serial number it was requested under. */
  readonly sensor: string;
  readonly kind: PolledKind;
  readonly n: number;
  readonly steps: readonly RecordStep[];
  readonly state: ServedState;
}

/** Altered records remembered; `isOverflown` tells a campaign that it has altered more. */
const ALTERED_MAX = 1_000_000;

/** Record numbers as few long spans, because a day is served again and again. */
class Spans {
  readonly #spans: [from: number, to: number][] = [];

  add(from: number, to: number): void {
    const last = this.#spans.at(-1);
    if (last && from >= last[0] && to <= last[1]) return;
    if (last && from >= last[0] && from <= last[1] + 1) {
      last[1] = to;
      return;
    }
    this.#spans.push([from, to]);
    this.#spans.sort((a, b) => a[0] - b[0]);
    for (let i = this.#spans.length - 1; i > 0; i--) {
      const [left, right] = [this.#spans[i - 1], this.#spans[i]];
      if (!left || !right || right[0] > left[1] + 1) continue;
      left[1] = Math.max(left[1], right[1]);
      this.#spans.splice(i, 1);
    }
  }
  has(n: number): boolean {
    return this.#spans.some(([from, to]) => n >= from && n <= to);
  }
  *numbers(): Generator<number> {
    for (const [from, to] of this.#spans) for (let n = from; n <= to; n++) yield n;
  }
}

interface ServedStream {
  readonly sensor: string;
  readonly kind: PolledKind;
  readonly complete: Spans;
  readonly partial: Spans;
}

/** Every record the simulator ever served. */
export class ServedLog {
  readonly #streams = new Map<string, ServedStream>();
  readonly #altered = new Map<string, ServedPoint>();
  isOverflown = false;

  mark(sensor: string, kind: PolledKind, items: Iterable<FaultyItem>, state: ServedState): void {
    let stream = this.#streams.get(`${sensor} ${kind}`);
    if (!stream) {
      stream = { sensor, kind, complete: new Spans(), partial: new Spans() };
      this.#streams.set(`${sensor} ${kind}`, stream);
    }
    let run: { from: number; to: number } | null = null;
    for (const { ref, steps } of items) {
      if (steps.length > 0) this.#markAltered({ sensor, kind, n: ref.n, steps, state });
      else if (run && ref.n === run.to + 1) run.to = ref.n;
      else {
        if (run) stream[state].add(run.from, run.to);
        run = { from: ref.n, to: ref.n };
      }
    }
    if (run) stream[state].add(run.from, run.to);
  }

  #markAltered(shown: ServedPoint): void {
    const key = `${shown.sensor} ${shown.kind} ${shown.n} ${JSON.stringify(shown.steps)}`;
    const known = this.#altered.get(key);
    if (known?.state === "complete") return;
    if (!known && this.#altered.size >= ALTERED_MAX) this.isOverflown = true;
    else this.#altered.set(key, shown);
  }

  *list(): Generator<ServedPoint> {
    const steps: readonly RecordStep[] = [];
    for (const { sensor, kind, complete, partial } of this.#streams.values()) {
      for (const n of complete.numbers()) yield { sensor, kind, n, steps, state: "complete" };
      for (const n of partial.numbers()) {
        if (!complete.has(n)) yield { sensor, kind, n, steps, state: "partial" };
      }
    }
    yield* this.#altered.values();
  }
}
