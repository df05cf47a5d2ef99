/** Window functions and their sums (signal-definitions 4 and 7). */

import { type Doubles, doubles } from "./doubles.ts";

export interface Window {
  readonly weights: Doubles;
  /** Sum of the weights: divides amplitudes. */
  readonly s1: number;
  /** Sum of the squared weights: divides power. */
  readonly s2: number;
}

/** Periodic Hann: w[n] = 0.5 - 0.5·cos(2πn/N). Source: Harris 1978; Heinzel, Rüdiger, Schilling 2002. */
export function hann(size: number): Window {
  const weights = doubles(size);
  let s1 = 0;
  let s2 = 0;
  for (let n = 0; n < size; n++) {
    const w = 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / size);
    weights[n] = w;
    s1 += w;
    s2 += w * w;
  }
  return { weights, s1, s2 };
}

/** How much stronger a tone is than the line, `offset` lines beside it, that shows it under the Hann window: |offset| below 1. */
export function hannGain(offset: number): number {
  const d = Math.abs(offset);
  return d < 1e-9 ? 1 : (Math.PI * d * (1 - d * d)) / Math.sin(Math.PI * d);
}

/** Cosine taper over `edge` samples at each end, 1 between: t[n] = 0.5·(1 - cos(π·(n+0.5)/edge)). */
export function taper(size: number, edge: number): Doubles {
  const weights = doubles(size);
  weights.fill(1);
  for (let n = 0; n < edge; n++) {
    const w = 0.5 * (1 - Math.cos((Math.PI * (n + 0.5)) / edge));
    weights[n] = w;
    weights[size - 1 - n] = w;
  }
  return weights;
}

/** A record under two windows, as real and imaginary part of what one complex transform turns into both spectra. */
export function packBoth(
  samples: Int16Array,
  mean: number,
  window: Doubles,
  edges: Doubles,
  target: Doubles,
): void {
  for (let n = 0; n < samples.length; n++) {
    const d = (samples[n] ?? 0) - mean;
    target[2 * n] = d * (window[n] ?? 0);
    target[2 * n + 1] = d * (edges[n] ?? 0);
  }
}
