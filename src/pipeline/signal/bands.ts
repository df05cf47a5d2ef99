/** Input of a calculation on one axis, and the resulting frequency limits (signal-definitions sections 1 and 7). */
import type { DftPlans } from "./fft.ts";
import type { WantedTones } from "./tones.ts";

export interface AxisOptions {
  readonly sampleRateHz: number;
  /** G per count. */
  readonly calibration: number;
  /** Counts at which the sensor clips, when below the 16-bit limit. */
  readonly fullScaleCounts?: number | undefined;
  /** Nominal shaft speed, r/min; below 600 the velocity band begins at 2 Hz. */
  readonly speedRpm?: number | undefined;
  /** Where the velocity band ends; at 1000 Hz if absent. */
  readonly fHiHz?: number | undefined;
  /** Where the envelope band begins; at 500 Hz if absent. */
  readonly envLoHz?: number | undefined;
  /** For diagnosis; none if absent. */
  readonly tones?: WantedTones | undefined;
  /** Transform tables to reuse between calls; created for this call if absent. */
  readonly plans?: DftPlans | undefined;
}

/** Slow machines vibrate at their speed, below 10 Hz (ISO 10816-3, 20816-3). */
export const SLOW_SPEED_RPM = 600;
const F_LO_HZ = 10;
const F_LO_SLOW_HZ = 2;
const F_HI_HZ = 1000;
const ENV_LO_HZ = 500;
const ENV_HI_HZ = 10_000;
const ENV_LOW_PASS_HZ = 1000;
/** Tolerance in line numbers, so that a limit on a line counts as the line. */
const LINE_GUARD = 1e-9;
/** Anti-alias filters are flat to fs/2.56. */
export const USABLE_RATE = 2.56;

export interface Bands {
  readonly fLoHz: number;
  readonly fHiHz: number;
  readonly envLoHz: number;
  /** Where the part of it ends that the sample rate leaves usable. */
  readonly envTopHz: number;
  /** First and last line of the velocity band; empty when first > last. */
  readonly lineMin: number;
  readonly lineMax: number;
  /** Lines of the band that is demodulated; empty when first > last. */
  readonly envLineMin: number;
  readonly envLineMax: number;
  /** Low-pass of the envelope, Hz. */
  readonly envLowPassHz: number;
  /** Samples dropped at each end by the envelope's taper, and those that remain. */
  readonly envEdge: number;
  readonly envSize: number;
  /** Lines 1..envLines of the envelope's own spectrum are kept. */
  readonly envLines: number;
}

/** Frequency limits and lines of a record of `size` samples. The rate must be positive and finite. */
export function bandsOf(size: number, options: AxisOptions): Bands {
  const { sampleRateHz } = options;
  const isSlow = options.speedRpm !== undefined && options.speedRpm < SLOW_SPEED_RPM;
  const fLoHz = isSlow ? F_LO_SLOW_HZ : F_LO_HZ;
  const fHiHz = options.fHiHz ?? F_HI_HZ;
  const envLoHz = options.envLoHz ?? ENV_LO_HZ;
  const envTopHz = Math.min(ENV_HI_HZ, sampleRateHz / USABLE_RATE);
  const perHz = size / sampleRateHz;
  const envEdge = Math.floor(0.05 * size);
  const envSize = size - 2 * envEdge;
  const envLowPassHz = Math.min(ENV_LOW_PASS_HZ, envTopHz - envLoHz);
  return {
    fLoHz,
    fHiHz,
    envLoHz,
    envTopHz,
    // The main lobe of the Hann window spreads a residual offset over lines 0 and 1.
    lineMin: Math.max(2, Math.ceil(fLoHz * perHz - LINE_GUARD)),
    lineMax: Math.min(
      Math.floor(Math.min(fHiHz, sampleRateHz / 2) * perHz + LINE_GUARD),
      Math.floor(size / 2),
    ),
    envLineMin: Math.max(1, Math.ceil(envLoHz * perHz - LINE_GUARD)),
    envLineMax: Math.floor(envTopHz * perHz + LINE_GUARD),
    envLowPassHz,
    envEdge,
    envSize,
    envLines: Math.floor((envLowPassHz * envSize) / sampleRateHz + LINE_GUARD),
  };
}
