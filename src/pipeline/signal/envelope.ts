/**
 * Acceleration envelope, GE (signal-definitions section 7): demodulation of the band in which rolling bearings ring.
 * The analytic signal of the band is built in the frequency domain; its magnitude without the mean is the envelope.
 * Sources: SKF enveloper bands; MATLAB envspectrum; Randall, Vibration-based Condition Monitoring, ch. 5.
 */
import type { AxisOptions, Bands } from "./bands.ts";
import type { Doubles } from "./doubles.ts";
import { bandPower } from "./envelope-power.ts";
import type { DftPlan, DftPlans } from "./fft.ts";
import { envelopeTones } from "./record-tones.ts";
import type { ToneList } from "./tones.ts";
import { taper } from "./window.ts";

/**
 * Turns the plan's output into the envelope. The output is the DFT of x1 + j·x2, where x2 is the tapered record in counts;
 * its part is (Z[k] - conj Z[N-k])/2j. Writes the mean-free envelope in counts to the first envSize places of `target`, which
 * may be the plan's own input.
 */
export function demodulate(plan: DftPlan, bands: Bands, target: Doubles): void {
  const { input, output, size } = plan;
  // |z| is the same for the conjugate of z: a forward transform of the conjugate lines serves as the inverse.
  for (let k = bands.envLineMin; k <= bands.envLineMax; k++) {
    const mirror = size - k;
    input[2 * k] = (output[2 * k + 1] ?? 0) + (output[2 * mirror + 1] ?? 0);
    input[2 * k + 1] = (output[2 * k] ?? 0) - (output[2 * mirror] ?? 0);
  }
  plan.run(bands.envLineMin, bands.envLineMax + 1);
  const { envEdge, envSize } = bands;
  const scale = 1 / size;
  let sum = 0;
  for (let m = 0; m < envSize; m++) {
    const at = 2 * (m + envEdge);
    const re = output[at] ?? 0;
    const im = output[at + 1] ?? 0;
    const magnitude = Math.sqrt(re * re + im * im) * scale;
    target[m] = magnitude;
    sum += magnitude;
  }
  const mean = sum / envSize;
  for (let m = 0; m < envSize; m++) target[m] = (target[m] ?? 0) - mean;
}

export interface EnvelopeOverall {
  /** GE */
  readonly rms: number;
  /** If requested. */
  readonly tones: ToneList | null;
}

/** env_rms = sqrt(2·sum |Q[k]|², k = 1..envLines)/M, GE. See `demodulate` for what the plan must hold. */
export function envelopeOverall(
  plans: DftPlans,
  plan: DftPlan,
  bands: Bands,
  { calibration, sampleRateHz, tones = false }: AxisOptions,
): EnvelopeOverall {
  const power = bandPower(plans, bands.envSize, bands.envLines);
  demodulate(plan, bands, power.plan.input);
  const rms = (calibration * Math.sqrt(2 * power.sum())) / bands.envSize;
  return {
    rms,
    tones:
      tones === true ? envelopeTones(plans, power.plan, bands, sampleRateHz, calibration) : null,
  };
}

/** The mean-free envelope q[m], GE; m = 0 belongs to sample n = envEdge of the record. */
export function envelopeSignal(
  plans: DftPlans,
  samples: Int16Array,
  mean: number,
  bands: Bands,
  options: AxisOptions,
): Float64Array {
  const size = samples.length;
  const plan = plans.complex(size);
  const weights = taper(size, bands.envEdge);
  for (let n = 0; n < size; n++) {
    plan.input[2 * n] = 0;
    plan.input[2 * n + 1] = ((samples[n] ?? 0) - mean) * (weights[n] ?? 0);
  }
  plan.run();
  const envelope = new Float64Array(bands.envSize);
  demodulate(plan, bands, envelope);
  return envelope.map((value) => value * options.calibration);
}
