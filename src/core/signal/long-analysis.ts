/** Velocity, displacement and envelope of a record too long for the plans of fft.ts: the same formulas, in steps. */
import { MM_S2_PER_G, UM_S2_PER_G } from "../unit.ts";
import type { AxisOptions, Bands } from "./bands.ts";
import type { EnvelopeOverall } from "./envelope.ts";
import { LongTransform } from "./long-transform.ts";
import { accelTones, longEnvelopeTones } from "./record-tones.ts";
import type { AxisTones } from "./tones.ts";

/** Numbers processed between two yields. */
const STEP = 65_536;

export interface LongValues {
  /** mm/s RMS; null where not asked for. */
  readonly velocityRms: number | null;
  /** um RMS. */
  readonly displacementRms: number | null;
  /** GE. */
  readonly envelopeRms: number | null;
  /** If requested. */
  readonly tones: AxisTones | null;
}

/** See analyse.ts, velocity.ts and envelope.ts for what is calculated; this file only defines how. */
export function* longValues(
  samples: Int16Array,
  mean: number,
  options: AxisOptions,
  bands: Bands,
  wanted: { readonly motion: boolean; readonly envelope: boolean },
): Generator<void, LongValues> {
  const size = samples.length;
  const work = options.plans?.longTransform(size) ?? new LongTransform(size);
  const { data } = work;
  let s2 = 0;
  for (let n = 0; n < size; n++) {
    const d = (samples[n] ?? 0) - mean;
    const hann = 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / size);
    s2 += hann * hann;
    data[2 * n] = d * hann;
    data[2 * n + 1] = d * taperAt(n, size, bands.envEdge);
    if (n % STEP === 0) yield;
  }
  yield* work.run(size);
  const motion = wanted.motion ? motionOf(data, size, s2, bands, options) : null;
  const { calibration, sampleRateHz } = options;
  const accel =
    options.tones === true && wanted.motion
      ? accelTones(data, size, size / 2, sampleRateHz, calibration, new Float64Array(size / 2 + 1))
      : null;
  const envelope = wanted.envelope ? yield* envelopeOf(work, size, bands, options) : null;
  return {
    velocityRms: motion?.velocityRms ?? null,
    displacementRms: motion?.displacementRms ?? null,
    envelopeRms: envelope?.rms ?? null,
    tones: accel === null ? null : { accel, envelope: envelope?.tones ?? null },
  };
}

function taperAt(n: number, size: number, edge: number): number {
  const fromEnd = Math.min(n, size - 1 - n);
  return fromEnd >= edge ? 1 : 0.5 * (1 - Math.cos((Math.PI * (fromEnd + 0.5)) / edge));
}

/** Of the part of the transform that belongs to the Hann-windowed record. */
function motionOf(
  z: Float64Array,
  size: number,
  s2: number,
  bands: Bands,
  { sampleRateHz, calibration }: AxisOptions,
) {
  const stepRad = (2 * Math.PI * sampleRateHz) / size;
  let velocity = 0;
  let displacement = 0;
  for (let k = bands.lineMin; k <= bands.lineMax; k++) {
    const mirror = 2 * (size - k);
    const re = (z[2 * k] ?? 0) + (z[mirror] ?? 0);
    const im = (z[2 * k + 1] ?? 0) - (z[mirror + 1] ?? 0);
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

function* envelopeOf(
  work: LongTransform,
  size: number,
  bands: Bands,
  options: AxisOptions,
): Generator<void, EnvelopeOverall> {
  const { data } = work;
  const { envLineMin, envLineMax, envEdge, envSize, envLines } = bands;
  for (let k = envLineMin; k <= envLineMax; k++) {
    const mirror = 2 * (size - k);
    const re = (data[2 * k + 1] ?? 0) + (data[mirror + 1] ?? 0);
    const im = (data[2 * k] ?? 0) - (data[mirror] ?? 0);
    data[2 * k] = re;
    data[2 * k + 1] = im;
  }
  data.fill(0, 0, 2 * envLineMin);
  data.fill(0, 2 * (envLineMax + 1), 2 * size);
  yield* work.run(size);
  let sum = 0;
  for (let m = 0; m < envSize; m++) {
    const at = 2 * (m + envEdge);
    const re = data[at] ?? 0;
    const im = data[at + 1] ?? 0;
    const magnitude = Math.sqrt(re * re + im * im) / size;
    data[2 * m] = magnitude;
    data[2 * m + 1] = 0;
    sum += magnitude;
    if (m % STEP === 0) yield;
  }
  const mean = sum / envSize;
  for (let m = 0; m < envSize; m++) data[2 * m] = (data[2 * m] ?? 0) - mean;
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
