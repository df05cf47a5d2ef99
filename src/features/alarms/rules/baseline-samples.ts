/** The samples that baselines learn from, until they have learned: kept per sensor and baseline, and limited in number. */
import { type BaselineState, UNLEARNED } from "./baseline.ts";
import type { SensorAlarms } from "./sensor-alarms.ts";

/** Samples kept of one sensor; a baseline that cannot learn from so many starts again. */
const SAMPLES_MAX = 20_000;

export class BaselineSamples {
  /** By sensor, baseline, and the number of the sample with which it began: a transaction that begins anew leaves the others alone. */
  readonly #samples = new Map<string, Map<string, Map<number, number[]>>>();

  /** The samples of a baseline that began with number `from`, to be added to. */
  of(code: string, baseline: string, from: number): number[] {
    const ofSensor = this.#samples.get(code) ?? new Map<string, Map<number, number[]>>();
    this.#samples.set(code, ofSensor);
    const begun = ofSensor.get(baseline) ?? new Map<number, number[]>();
    ofSensor.set(baseline, begun);
    const samples = begun.get(from) ?? [];
    begun.set(from, samples);
    // What began before the last one is over.
    for (const earlier of [...begun.keys()].slice(0, -2)) begun.delete(earlier);
    return samples;
  }

  /** Once what was learned is durable, the sensor's baselines that are no longer learned, or are gone, need none. */
  prune(code: string, baselines: ReadonlyMap<string, BaselineState>): void {
    const ofSensor = this.#samples.get(code);
    if (ofSensor === undefined) return;
    for (const key of ofSensor.keys()) {
      const state = baselines.get(key);
      if (state === undefined || state.first !== null) ofSensor.delete(key);
    }
    if (ofSensor.size === 0) this.#samples.delete(code);
  }

  clear(): void {
    this.#samples.clear();
  }
}

/** Restarts baselines with too many samples. True when no baseline of the sensor needs its stored samples any more. */
export function boundSamples(state: SensorAlarms): boolean {
  if (state.nextSample === 0) return false;
  const learning = [...state.baselines].filter(([, { first }]) => first === null);
  for (const [key, { from }] of learning) {
    if (state.nextSample - from <= SAMPLES_MAX) continue;
    state.baselines.set(key, { ...UNLEARNED, from: state.nextSample });
  }
  if (learning.some(([, { count }]) => count > 0)) return false;
  state.nextSample = 0;
  for (const [key, before] of learning) state.baselines.set(key, { ...before, from: 0 });
  return true;
}
