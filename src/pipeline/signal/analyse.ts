/** All overall values of one axis of one record, with their quality. */
import type { Doubt, Graded } from "../../core/quality.ts";
import { inOneGo } from "../../core/steps.ts";
import type { AxisOptions } from "./bands.ts";
import { checkRecord, type Group, type RecordChecks, type SignalFlag, withJump } from "./checks.ts";
import { dominantLines } from "./dominant.ts";
import { type Doubles, doubles } from "./doubles.ts";
import { envelopeOverall } from "./envelope.ts";
import { DftPlans } from "./fft.ts";
import { hasJump } from "./jump.ts";
import { packedPower } from "./line-power.ts";
import { type LongValues, longValues } from "./long-analysis.ts";
import { SHORT_SIZE_MAX } from "./long-transform.ts";
import { accelTones } from "./record-tones.ts";
import { type Statistics, statistics } from "./statistics.ts";
import type { AxisTones } from "./tones.ts";
import { derivedPeakToPeak, motionOverall } from "./velocity.ts";
import { whiteTones } from "./white-tones.ts";
import { hann, packBoth, taper } from "./window.ts";

export interface AxisAnalysis {
  /** G */
  readonly accelRms: Graded;
  readonly accelPeak: Graded;
  readonly accelPeakToPeak: Graded;
  /** 1 */
  readonly crestFactor: Graded;
  readonly kurtosis: Graded;
  /** mm/s RMS */
  readonly velocityRms: Graded;
  /** um */
  readonly displacementRms: Graded;
  readonly displacementPeakToPeak: Graded;
  /** GE */
  readonly envelopeRms: Graded;
  /** Flags of signal-definitions 2, in their order. */
  readonly flags: readonly SignalFlag[];
  /** Null is good. */
  readonly doubts: Readonly<Record<Group, Doubt | null>>;
  /** Samples at full scale; null if the record could not be examined. */
  readonly clipCount: number | null;
  /** If requested, and the record has a spectrum. */
  readonly tones: AxisTones | null;
}

type Spectral = LongValues;

/** In one go. */
export function analyseAxis(samples: Int16Array, options: AxisOptions): AxisAnalysis {
  return inOneGo(analysisSteps(samples, options));
}

/** In steps of a few milliseconds; a record of usual length takes one. */
export function* analysisSteps(
  samples: Int16Array,
  options: AxisOptions,
): Generator<void, AxisAnalysis> {
  const checks = checkRecord(samples, options);
  const { facts, bands } = checks;
  const stats: Partial<Statistics> =
    facts === null || bands === null ? {} : statistics(samples, facts, options.calibration);
  const spectral = yield* spectralValues(samples, options, checks);
  const { flags, doubts } = spectral.hasJump ? withJump(checks) : checks;
  const accel = (value: number | undefined) => grade(value ?? null, doubts.accel);
  return {
    accelRms: accel(stats.rms),
    accelPeak: accel(stats.peak),
    accelPeakToPeak: accel(stats.peakToPeak),
    crestFactor: accel(stats.crestFactor),
    kurtosis: accel(stats.kurtosis),
    velocityRms: grade(spectral.velocityRms, doubts.velocity),
    displacementRms: grade(spectral.displacementRms, doubts.displacement),
    displacementPeakToPeak: grade(
      spectral.displacementRms === null ? null : derivedPeakToPeak(spectral.displacementRms),
      doubts.displacement,
    ),
    envelopeRms: grade(spectral.envelopeRms, doubts.envelope),
    flags,
    doubts,
    clipCount: facts?.clipCount ?? null,
    tones: spectral.tones,
  };
}

/**
 * Velocity, displacement and envelope. They need the transforms of two real signals, the record under the Hann window and
 * under the envelope's taper: one complex transform of both as real and imaginary part gives them for the price of one.
 */
function* spectralValues(
  samples: Int16Array,
  options: AxisOptions,
  { facts, bands, doubts, step }: RecordChecks,
): Generator<void, Spectral> {
  const none = {
    velocityRms: null,
    displacementRms: null,
    envelopeRms: null,
    hasJump: false,
    tones: null,
  };
  const hasMotion = doubts.velocity?.quality !== "bad";
  const hasEnvelope = doubts.envelope?.quality !== "bad";
  if (facts === null || bands === null || (!hasMotion && !hasEnvelope)) return none;
  const size = samples.length;
  if (size > SHORT_SIZE_MAX) {
    const wanted = { motion: hasMotion, envelope: hasEnvelope };
    return yield* longValues({ samples, mean: facts.mean, step }, options, bands, wanted);
  }
  const { calibration, sampleRateHz, plans = new DftPlans() } = options;
  const window = plans.table(`hann/${size}`, size, () => hann(size));
  const edges = plans.table(`taper/${size}`, size, () => taper(size, bands.envEdge));
  const plan = plans.complex(size);
  packBoth(samples, facts.mean, window.weights, edges, plan.input);
  plan.run();
  const motion = hasMotion ? motionOverall(plan.output, size, window.s2, bands, options) : null;
  const counts = { samples, mean: facts.mean, step };
  const jumped =
    motion !== null && hasJump(counts, motion.velocityRms, plan.output, window.s2, bands, options);
  const { tones = false } = options;
  const accel =
    tones !== false && hasMotion
      ? accelTones(plan.output, size, window.s1, sampleRateHz, calibration, roomFor(plans, size))
      : null;
  const white =
    accel !== null && tones === true ? whiteTones(plans, plan.output, size, sampleRateHz) : null;
  const power = packedPower(plan.output, size, window.s2, calibration);
  const dominant = accel === null ? [] : dominantLines(power, size, sampleRateHz, bands);
  const envelope = hasEnvelope ? envelopeOverall(plans, plan, bands, options) : null;
  return {
    velocityRms: motion?.velocityRms ?? null,
    displacementRms: motion?.displacementRms ?? null,
    envelopeRms: envelope?.rms ?? null,
    hasJump: jumped,
    tones:
      accel === null
        ? null
        : {
            accel,
            dominant,
            envelope: envelope?.tones ?? null,
            ...(white ?? { white: null, spread: null }),
          },
  };
}

function roomFor(plans: DftPlans, size: number): Doubles {
  return plans.table(`tone-lines/${size}`, size, () => doubles(size));
}

/** A bad group has no value, whatever was calculated. */
function grade(value: number | null, doubt: Doubt | null): Graded {
  return doubt?.quality === "bad" ? { value: null, doubt } : { value, doubt };
}
