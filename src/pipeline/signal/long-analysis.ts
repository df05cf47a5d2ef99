/** Velocity, displacement and envelope of a record too long for the plans of fft.ts: the same formulas, in steps. */
import type { AxisOptions, Bands } from "./bands.ts";
import { dominantLines } from "./dominant.ts";
import type { EnvelopeOverall } from "./envelope.ts";
import { DftPlans } from "./fft.ts";
import { type Counts, hasJump } from "./jump.ts";
import { packedPower } from "./line-power.ts";
import { demodulateLong, transformRecord } from "./long-record.ts";
import type { LongTransform } from "./long-transform.ts";
import { accelTones, longEnvelopeTones } from "./record-tones.ts";
import type { AxisTones } from "./tones.ts";
import { motionOverall } from "./velocity.ts";

export interface LongValues {
  /** mm/s RMS; null where not asked for. */
  readonly velocityRms: number | null;
  /** um RMS. */
  readonly displacementRms: number | null;
  /** GE. */
  readonly envelopeRms: number | null;
  /** Whether a step in the record makes its velocity. */
  readonly hasJump: boolean;
  /** If requested. */
  readonly tones: AxisTones | null;
}

/** See analyse.ts, velocity.ts and envelope.ts for what is calculated; this file only defines how. */
export function* longValues(
  counts: Counts,
  options: AxisOptions,
  bands: Bands,
  wanted: { readonly motion: boolean; readonly envelope: boolean },
): Generator<void, LongValues> {
  const { samples, mean } = counts;
  const size = samples.length;
  const { plans = new DftPlans() } = options;
  const work = plans.takeLong(size);
  const { data } = work;
  const s2 = yield* transformRecord(work, samples, mean, bands.envEdge);
  const motion = wanted.motion ? motionOverall(data, size, s2, bands, options) : null;
  const jumped = motion !== null && hasJump(counts, motion.velocityRms, data, s2, bands, options);
  const { calibration, sampleRateHz } = options;
  const accel =
    (options.tones ?? false) !== false && wanted.motion
      ? accelTones(data, size, size / 2, sampleRateHz, calibration, new Float64Array(size / 2 + 1))
      : null;
  const power = packedPower(data, size, s2, calibration);
  const dominant = accel === null ? [] : dominantLines(power, size, sampleRateHz, bands);
  const envelope = wanted.envelope ? yield* envelopeOf(work, size, bands, options) : null;
  plans.giveLong(work);
  return {
    velocityRms: motion?.velocityRms ?? null,
    displacementRms: motion?.displacementRms ?? null,
    envelopeRms: envelope?.rms ?? null,
    hasJump: jumped,
    tones: accel === null ? null : { accel, dominant, envelope: envelope?.tones ?? null },
  };
}

function* envelopeOf(
  work: LongTransform,
  size: number,
  bands: Bands,
  options: AxisOptions,
): Generator<void, EnvelopeOverall> {
  const { data } = work;
  const { envSize, envLines } = bands;
  yield* demodulateLong(work, size, bands);
  yield* work.run(envSize);
  let power = 0;
  for (let k = 1; k <= envLines; k++)
    power += (data[2 * k] ?? 0) ** 2 + (data[2 * k + 1] ?? 0) ** 2;
  const { calibration, sampleRateHz } = options;
  return {
    rms: (calibration * Math.sqrt(2 * power)) / envSize,
    tones:
      options.tones === true ? longEnvelopeTones(data, bands, sampleRateHz, calibration) : null,
  };
}
