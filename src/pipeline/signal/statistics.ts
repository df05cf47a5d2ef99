/** Statistics of one axis in the time domain (signal-definitions 3). */

/** Facts of the raw counts. */
export interface CountFacts {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  /** Samples at or beyond the sensor's full scale. */
  readonly clipCount: number;
}

/** One pass over the integers: their sum is exact, so an offset cancels exactly later on. */
export function countFacts(samples: Int16Array, fullScaleCounts: number): CountFacts {
  let min = 32767;
  let max = -32768;
  let sum = 0;
  for (let n = 0; n < samples.length; n++) {
    const r = samples[n] ?? 0;
    sum += r;
    // Without branches: half the time.
    min = r < min ? r : min;
    max = r > max ? r : max;
  }
  const mean = samples.length === 0 ? 0 : sum / samples.length;
  const mayClip = max >= fullScaleCounts || min <= -fullScaleCounts;
  return { min, max, mean, clipCount: mayClip ? clipCountOf(samples, fullScaleCounts) : 0 };
}

function clipCountOf(samples: Int16Array, fullScaleCounts: number): number {
  let count = 0;
  for (const r of samples) if (r >= fullScaleCounts || r <= -fullScaleCounts) count += 1;
  return count;
}

export interface Statistics {
  /** sqrt(mean(a²)), G. */
  readonly rms: number;
  /** max|a|, G. */
  readonly peak: number;
  /** calibration·(max r - min r), G. */
  readonly peakToPeak: number;
  /** Peak over RMS, 1. */
  readonly crestFactor: number;
  /** mean(a⁴)/mean(a²)², 1; a sine has 1.5, Gaussian noise 3 (Pearson, biased). */
  readonly kurtosis: number;
}

/**
 * Statistics of a[n] = calibration·(r[n] - mean): the mean is removed, nothing else. Not for flat records, whose crest
 * factor and kurtosis do not exist.
 */
export function statistics(
  samples: Int16Array,
  facts: CountFacts,
  calibration: number,
): Statistics {
  const { mean, min, max } = facts;
  let sum2 = 0;
  let sum4 = 0;
  for (let n = 0; n < samples.length; n++) {
    const d = (samples[n] ?? 0) - mean;
    const square = d * d;
    sum2 += square;
    sum4 += square * square;
  }
  const meanSquare = sum2 / samples.length;
  const rmsCounts = Math.sqrt(meanSquare);
  const peakCounts = Math.max(max - mean, mean - min);
  return {
    rms: calibration * rmsCounts,
    peak: calibration * peakCounts,
    peakToPeak: calibration * (max - min),
    crestFactor: peakCounts / rmsCounts,
    kurtosis: sum4 / samples.length / (meanSquare * meanSquare),
  };
}
