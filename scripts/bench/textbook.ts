/** Velocity, displacement and envelope computed line by line with textbook sums: the bench's reference. */
import { bandsOf } from "../../src/pipeline/signal/bands.ts";

export interface TextbookValues {
  readonly velocityRms: number;
  readonly displacementRms: number;
  readonly envelopeRms: number;
}

interface Lines {
  readonly re: Float64Array;
  readonly im: Float64Array;
}

export function textbookValues(
  samples: Int16Array,
  sampleRateHz: number,
  calibration: number,
): TextbookValues {
  const size = samples.length;
  const bands = bandsOf(size, { sampleRateHz, calibration });
  const mean = samples.reduce((sum, r) => sum + r, 0) / size;
  const accel = Float64Array.from(samples, (r) => calibration * (r - mean));

  const window = accel.map((_, n) => 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / size));
  const s2 = window.reduce((sum, w) => sum + w * w, 0);
  const y = dft(
    accel.map((a, n) => a * (window[n] ?? 0)),
    bands.lineMin,
    bands.lineMax,
  );
  let velocity = 0;
  let displacement = 0;
  for (let k = bands.lineMin; k <= bands.lineMax; k++) {
    const w = (2 * Math.PI * k * sampleRateHz) / size;
    const power = (2 * ((y.re[k] ?? 0) ** 2 + (y.im[k] ?? 0) ** 2)) / (size * s2);
    velocity += power / w ** 2;
    displacement += power / w ** 4;
  }

  const envelope = envelopeOf(accel, bands);
  const q = dft(envelope, 1, bands.envLines);
  let energy = 0;
  for (let k = 1; k <= bands.envLines; k++) energy += (q.re[k] ?? 0) ** 2 + (q.im[k] ?? 0) ** 2;
  return {
    velocityRms: 9800 * Math.sqrt(velocity),
    displacementRms: 9_800_000 * Math.sqrt(displacement),
    envelopeRms: Math.sqrt(2 * energy) / bands.envSize,
  };
}

function envelopeOf(accel: Float64Array, bands: ReturnType<typeof bandsOf>): Float64Array {
  const { envEdge: edge, envLineMin, envLineMax } = bands;
  const size = accel.length;
  const tapered = accel.map((a, n) => {
    const place = Math.min(n, size - 1 - n);
    return place < edge ? a * 0.5 * (1 - Math.cos((Math.PI * (place + 0.5)) / edge)) : a;
  });
  const x = dft(tapered, envLineMin, envLineMax);
  const [cosines, sines] = circle(size);
  const envelope = new Float64Array(bands.envSize).map((_, m) => {
    let re = 0;
    let im = 0;
    for (let k = envLineMin; k <= envLineMax; k++) {
      const at = (k * (m + edge)) % size;
      const [c, s] = [cosines[at] ?? 0, sines[at] ?? 0];
      re += (x.re[k] ?? 0) * c - (x.im[k] ?? 0) * s;
      im += (x.re[k] ?? 0) * s + (x.im[k] ?? 0) * c;
    }
    return (2 * Math.hypot(re, im)) / size;
  });
  const mean = envelope.reduce((sum, e) => sum + e, 0) / envelope.length;
  return envelope.map((e) => e - mean);
}

/** Lines first..last of a real signal. */
function dft(signal: Float64Array, first: number, last: number): Lines {
  const size = signal.length;
  const [cosines, sines] = circle(size);
  const lines = { re: new Float64Array(last + 1), im: new Float64Array(last + 1) };
  for (let k = first; k <= last; k++) {
    let re = 0;
    let im = 0;
    for (let n = 0; n < size; n++) {
      const at = (k * n) % size;
      re += (signal[n] ?? 0) * (cosines[at] ?? 0);
      im -= (signal[n] ?? 0) * (sines[at] ?? 0);
    }
    lines.re[k] = re;
    lines.im[k] = im;
  }
  return lines;
}

function circle(size: number): readonly [Float64Array, Float64Array] {
  const angles = Float64Array.from({ length: size }, (_, n) => (2 * Math.PI * n) / size);
  return [angles.map(Math.cos), angles.map(Math.sin)];
}
