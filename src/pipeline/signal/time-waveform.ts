/**
 * Time waveforms in every unit (signal-definitions section 6, GE: section 7 step 5). For viewing; overall values never
 * come from them.
 */
import type { Doubt } from "../../core/quality.ts";
import { GE_UNIT, type SignalUnit } from "../../core/unit.ts";
import type { AxisOptions, Bands } from "./bands.ts";
import { checkRecord } from "./checks.ts";
import { envelopeSignal } from "./envelope.ts";
import { DftPlans } from "./fft.ts";
import { integrationsOf, unitScale } from "./unit-scale.ts";
import { taper } from "./window.ts";

export interface TimeWaveform {
  /** Empty if the quality is bad. Velocity, displacement and GE lack the tapered ends of the record. */
  readonly samples: Float64Array;
  /** Index in the record of the first value: 0 for acceleration, otherwise the number of tapered samples. */
  readonly firstSample: number;
  readonly unit: SignalUnit;
  readonly doubt: Doubt | null;
}

export function timeWaveform(
  samples: Int16Array,
  options: AxisOptions,
  unit: SignalUnit,
): TimeWaveform {
  const { doubts, facts, bands } = checkRecord(samples, options);
  const doubt = doubts[groupOf(unit)];
  if (facts === null || bands === null || doubt?.quality === "bad") {
    return { samples: new Float64Array(0), firstSample: 0, unit, doubt };
  }
  const { calibration, sampleRateHz, plans = new DftPlans() } = options;
  if (unit === GE_UNIT) {
    const envelope = envelopeSignal(plans, samples, facts.mean, bands, options);
    const kept = filtered(envelope, plans, 1, bands.envLines);
    return { samples: kept, firstSample: bands.envEdge, unit, doubt };
  }
  const accel = meanFree(samples, facts.mean, calibration * unitScale(unit));
  const order = integrationsOf(unit);
  if (order === 0) return { samples: accel, firstSample: 0, unit, doubt };
  const edge = Math.floor(TAPER_SHARE * accel.length);
  const motion = integrated(accel, edge, sampleRateHz, order, bands, plans);
  return { samples: motion.subarray(edge, motion.length - edge), firstSample: edge, unit, doubt };
}

/** Part of the record that the taper takes at each end (signal-definitions 6, step 1). */
const TAPER_SHARE = 0.1;

function groupOf(unit: SignalUnit): "accel" | "velocity" | "displacement" | "envelope" {
  if (unit <= 1) return "accel";
  if (unit <= 3) return "velocity";
  return unit === GE_UNIT ? "envelope" : "displacement";
}

/** scale·(r[n] - mean) */
export function meanFree(samples: Int16Array, mean: number, scale: number): Float64Array {
  const signal = new Float64Array(samples.length);
  for (let n = 0; n < signal.length; n++) signal[n] = scale * ((samples[n] ?? 0) - mean);
  return signal;
}

/**
 * Integrates once or twice by division by j·w in the frequency domain. The taper brings both ends of the record to
 * zero: the jump between them would be amplified by 1/w and 1/w².
 */
function integrated(
  accel: Float64Array,
  edge: number,
  sampleRateHz: number,
  order: 1 | 2,
  bands: Bands,
  plans: DftPlans,
): Float64Array {
  const size = accel.length;
  const weights = taper(size, edge);
  const stepRad = (2 * Math.PI * sampleRateHz) / size;
  const tapered = accel.map((value, n) => value * (weights[n] ?? 0));
  return reshaped(tapered, plans, (k, re, im) => {
    // The line at half the sample rate has no defined sign, so its integral is not defined.
    if (k < bands.lineMin || 2 * k >= size) return [0, 0];
    const w = k * stepRad;
    // 1/(jw) = -j/w; 1/(jw)² = -1/w².
    return order === 1 ? [im / w, -re / w] : [-re / (w * w), -im / (w * w)];
  });
}

/** Keeps lines first..last of a real signal. */
function filtered(
  signal: Float64Array,
  plans: DftPlans,
  first: number,
  last: number,
): Float64Array {
  return reshaped(signal, plans, (k, re, im) => (k < first || k > last ? [0, 0] : [re, im]));
}

/** DFT, the same change to every line 0..floor(N/2) and its mirror, real inverse DFT. */
function reshaped(
  signal: Float64Array,
  plans: DftPlans,
  change: (k: number, re: number, im: number) => readonly [number, number],
): Float64Array {
  const size = signal.length;
  const plan = plans.complex(size);
  const { input, output } = plan;
  for (let n = 0; n < size; n++) {
    input[2 * n] = signal[n] ?? 0;
    input[2 * n + 1] = 0;
  }
  plan.run();
  for (let k = 0; 2 * k <= size; k++) {
    const [re, im] = change(k, output[2 * k] ?? 0, output[2 * k + 1] ?? 0);
    // The forward transform of the conjugate lines is the conjugate of the inverse; a real result has none.
    input[2 * k] = re;
    input[2 * k + 1] = -im;
    if (k > 0 && 2 * k < size) {
      input[2 * (size - k)] = re;
      input[2 * (size - k) + 1] = im;
    }
  }
  plan.run();
  const result = new Float64Array(size);
  for (let n = 0; n < size; n++) result[n] = (output[2 * n] ?? 0) / size;
  return result;
}
