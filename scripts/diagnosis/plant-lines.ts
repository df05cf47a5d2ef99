/** Lines and tones as the sensor of the second simulation sees them. */
import type { Random } from "./random-numbers.ts";

export const G_MM_S2 = 9806.65;
/** The sensor passes nothing above this part of its sample rate, or it would appear at another frequency. */
export const SENSOR_FILTER = 2.56;

export type Line = readonly [
  order: number,
  mmS: readonly [number, number, number],
  phase: readonly [number, number, number],
];

/** Stribeck's load over the angle, in turns; `width` is half of the loaded zone. */
export function loadZone(turn: number, width: number): number {
  const x = Math.cos(2 * Math.PI * turn);
  const edge = Math.cos(2 * Math.PI * Math.min(0.49, width));
  return x <= edge ? 0.03 : ((x - edge) / (1 - edge)) ** 1.5;
}

/** A velocity at an order of the shaft, as acceleration: mm/s RMS to G. */
export function addOrder(
  out: readonly Float64Array[],
  turns: Float64Array,
  rate: number,
  speedHz: number,
  [order, mmS, phase]: Line,
): void {
  if (order * speedHz > rate / SENSOR_FILTER) return;
  const toG = (Math.SQRT2 * 2 * Math.PI * order * speedHz) / G_MM_S2;
  const [h, v, a] = [mmS[0] * toG, mmS[1] * toG, mmS[2] * toG];
  const cosines = phase.map((turn) => Math.cos(2 * Math.PI * turn));
  const sines = phase.map((turn) => Math.sin(2 * Math.PI * turn));
  const [oh, ov, oa] = out;
  if (oh === undefined || ov === undefined || oa === undefined) return;
  for (let n = 0; n < turns.length; n++) {
    const angle = 2 * Math.PI * order * (turns[n] ?? 0);
    const c = Math.cos(angle);
    const s = Math.sin(angle);
    oh[n] = (oh[n] ?? 0) + h * (c * (cosines[0] ?? 0) - s * (sines[0] ?? 0));
    ov[n] = (ov[n] ?? 0) + v * (c * (cosines[1] ?? 0) - s * (sines[1] ?? 0));
    oa[n] = (oa[n] ?? 0) + a * (c * (cosines[2] ?? 0) - s * (sines[2] ?? 0));
  }
}

export function addTone(
  out: readonly Float64Array[],
  rate: number,
  hz: number,
  mmS: number,
  random: Random,
): void {
  if (hz > rate / SENSOR_FILTER) return;
  const size = (mmS * Math.SQRT2 * 2 * Math.PI * hz) / G_MM_S2;
  for (const signal of out) {
    const at = random();
    const own = size * (0.5 + 0.5 * random());
    for (let n = 0; n < signal.length; n++) {
      signal[n] = (signal[n] ?? 0) + own * Math.sin(2 * Math.PI * ((hz * n) / rate + at));
    }
  }
}
