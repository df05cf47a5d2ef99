/**
 * P[k] of signal-definitions 4, line by line, for those who need a few lines of a spectrum: no further pass over all of
 * them. Both spectra of a record come from one complex transform, as in `analyseAxis`.
 */
import type { AxisOptions, Bands } from "./bands.ts";
import { type Doubles, doubles } from "./doubles.ts";
import { demodulate } from "./envelope.ts";
import type { DftPlans } from "./fft.ts";
import { demodulateLong, transformRecord, transformWindowed } from "./long-record.ts";
import { SHORT_SIZE_MAX } from "./long-transform.ts";
import { hann, packBoth, taper } from "./window.ts";

/** A record of usual length is done in one go. */
const NO_STEPS: readonly never[] = [];

/** Mean square of a line, 0 <= line <= size/2. Valid until its plan runs again. */
export type LinePower = (line: number) => number;

/** A record under its two windows. */
export interface RecordLines {
  /** G²; not to be asked any more once `envelope` was called. */
  readonly accel: LinePower;
  /** GE²; line 1 is at the sample rate divided by the envelope's size. */
  envelope(): Generator<void, LinePower>;
  /** The memory is free for others. */
  end(): void;
}

type LineOptions = Pick<AxisOptions, "calibration"> & { readonly plans: DftPlans };

/** In steps of a few milliseconds; a record of usual length takes one. */
export function* recordLines(
  samples: Int16Array,
  mean: number,
  bands: Bands,
  options: LineOptions,
): Generator<void, RecordLines> {
  const size = samples.length;
  if (size > SHORT_SIZE_MAX) return yield* longLines(samples, mean, bands, options);
  const { calibration, plans } = options;
  const window = plans.table(`hann/${size}`, size, () => hann(size));
  const edges = plans.table(`taper/${size}`, size, () => taper(size, bands.envEdge));
  const plan = plans.complex(size);
  packBoth(samples, mean, window.weights, edges, plan.input);
  plan.run();
  return {
    accel: packedPower(plan.output, size, window.s2, calibration),
    *envelope() {
      yield* NO_STEPS;
      const { envSize } = bands;
      const signal = plans.table(`envelope/${envSize}`, envSize, () => doubles(envSize));
      demodulate(plan, bands, signal);
      return linePower(plans, signal, envSize, calibration);
    },
    end: () => {},
  };
}

function* longLines(
  samples: Int16Array,
  mean: number,
  bands: Bands,
  { calibration, plans }: LineOptions,
): Generator<void, RecordLines> {
  const { envSize, envEdge } = bands;
  const work = plans.takeLong(samples.length);
  const s2 = yield* transformRecord(work, samples, mean, envEdge);
  return {
    accel: packedPower(work.data, samples.length, s2, calibration),
    *envelope() {
      yield* demodulateLong(work, samples.length, bands);
      const envelopeS2 = yield* transformWindowed(work, envSize);
      return complexPower(work.data, envSize, envelopeS2, calibration);
    },
    end: () => plans.giveLong(work),
  };
}

/** Of the real part x1 of what was transformed: Y = (Z[k] + conj Z[N-k])/2. */
export function packedPower(
  output: Doubles,
  size: number,
  s2: number,
  calibration: number,
): LinePower {
  const scale = (0.25 * calibration * calibration) / (size * s2);
  return (k) => {
    const mirror = k === 0 ? 0 : size - k;
    const re = (output[2 * k] ?? 0) + (output[2 * mirror] ?? 0);
    const im = (output[2 * k + 1] ?? 0) - (output[2 * mirror + 1] ?? 0);
    return scale * multiplicity(k, size) * (re * re + im * im);
  };
}

function complexPower(output: Doubles, size: number, s2: number, calibration: number): LinePower {
  const scale = (calibration * calibration) / (size * s2);
  return (k) => {
    const re = output[2 * k] ?? 0;
    const im = output[2 * k + 1] ?? 0;
    return scale * multiplicity(k, size) * (re * re + im * im);
  };
}

/** Of a real signal under the Hann window; an even number of points is transformed as half as many complex ones. */
export function linePower(
  plans: DftPlans,
  signal: Doubles,
  size: number,
  calibration: number,
): LinePower {
  const { weights, s2 } = plans.table(`hann/${size}`, size, () => hann(size));
  const isEven = size % 2 === 0;
  const half = isEven ? size / 2 : size;
  const { input, output, run } = plans.complex(half);
  for (let n = 0; n < size; n++) {
    const value = (signal[n] ?? 0) * (weights[n] ?? 0);
    if (isEven) input[n] = value;
    else {
      input[2 * n] = value;
      input[2 * n + 1] = 0;
    }
  }
  run();
  if (!isEven) return complexPower(output, size, s2, calibration);
  const scale = (calibration * calibration) / (size * s2);
  return (k) => {
    const own = 2 * (k % half);
    const mirror = 2 * ((half - (k % half)) % half);
    const a = output[own] ?? 0;
    const b = output[own + 1] ?? 0;
    const c = output[mirror] ?? 0;
    const d = output[mirror + 1] ?? 0;
    const cos = Math.cos((2 * Math.PI * k) / size);
    const sin = Math.sin((2 * Math.PI * k) / size);
    // Twice E + W·O, of the even and the odd points.
    const re = a + c + cos * (b + d) - sin * (a - c);
    const im = b - d - cos * (a - c) - sin * (b + d);
    return 0.25 * scale * multiplicity(k, size) * (re * re + im * im);
  };
}

/** Lines 0 and N/2 exist once, all others represent themselves and their mirror. */
export function multiplicity(k: number, size: number): 1 | 2 {
  return k === 0 || 2 * k === size ? 1 : 2;
}
