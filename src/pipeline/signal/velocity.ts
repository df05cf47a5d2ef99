/** Velocity and displacement from the power spectrum (signal-definitions 5). */
import { MM_S2_PER_G, UM_S2_PER_G } from "../../core/unit.ts";
import type { AxisOptions, Bands } from "./bands.ts";
import type { Doubles } from "./doubles.ts";

export interface MotionOverall {
  /** 9800·sqrt(sum P[k]/w²), mm/s RMS. */
  readonly velocityRms: number;
  /** 9 800 000·sqrt(sum P[k]/w⁴), um RMS. */
  readonly displacementRms: number;
}

/** RMS of a tone of which only the peak to peak is known. */
export const RMS_PER_PEAK_TO_PEAK = 1 / (2 * Math.SQRT2);

/** Derived peak-to-peak of a tone, 2·sqrt(2)·RMS: the usual measure of displacement on machines. */
export function derivedPeakToPeak(rms: number): number {
  return 2 * Math.SQRT2 * rms;
}

/**
 * Overall values over the velocity band. `transform` is the interleaved DFT of x1 + j·x2, where x1 is the Hann-windowed
 * record in counts; the part of x1 is (Z[k] + conj Z[N-k])/2. P[k] = m·|Y[k]|²/(N·S2) is the mean square of a line
 * (Heinzel, Rüdiger, Schilling 2002, ch. 9); division by w² and w⁴ integrates it once and twice.
 *
 * @param size samples of the record
 * @param s2 sum of its squared weights
 */
export function motionOverall(
  transform: Doubles,
  size: number,
  s2: number,
  bands: Bands,
  { sampleRateHz, calibration }: Pick<AxisOptions, "sampleRateHz" | "calibration">,
): MotionOverall {
  const stepRad = (2 * Math.PI * sampleRateHz) / size;
  let velocity = 0;
  let displacement = 0;
  for (let k = bands.lineMin; k <= bands.lineMax; k++) {
    const mirror = size - k;
    const re = (transform[2 * k] ?? 0) + (transform[2 * mirror] ?? 0);
    const im = (transform[2 * k + 1] ?? 0) - (transform[2 * mirror + 1] ?? 0);
    // |Y|² = (re² + im²)/4; the line at half the rate exists once, all others twice.
    const power = (re * re + im * im) * (2 * k === size ? 0.25 : 0.5);
    const w = k * stepRad;
    const perW2 = power / (w * w);
    velocity += perW2;
    displacement += perW2 / (w * w);
  }
  const scale = 1 / (size * s2);
  return {
    velocityRms: MM_S2_PER_G * calibration * Math.sqrt(velocity * scale),
    displacementRms: UM_S2_PER_G * calibration * Math.sqrt(displacement * scale),
  };
}
