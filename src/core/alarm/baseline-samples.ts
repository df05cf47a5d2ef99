/** The samples that baselines learn from, until they have learned: kept per sensor and baseline, and limited in number. */
import { UNLEARNED } from "./baseline.ts";
import type { SensorAlarms } from "./sensor-alarms.ts";

/** Samples kept of one sensor; a baseline that cannot learn from so many starts again. */
const SAMPLES_MAX = 20_000;

export class BaselineSamples {
  readonly #samples = new Map<string, Map<string, number[]>>();

  /** The samples of a baseline, to be added to. */
  of(code: string, baseline: string): number[] {
    const ofSensor = this.#samples.get(code) ?? new Map<string, number[]>();
    this.#samples.set(code, ofSensor);
    const samples = ofSensor.get(baseline) ?? [];
    ofSensor.set(baseline, samples);
    return samples;
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
