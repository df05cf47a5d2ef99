/**
 * Vibration values of one axis straight from their definitions: plain sums over every sample and line, no fast transform.
 * Shares no code with the agent, so that both are wrong alike only where the definitions are misread twice.
 */
export interface AxisShape {
  readonly sampleRateHz: number;
  /** G per count. */
  readonly calibration: number;
}

export interface AxisValues {
  readonly accel_rms: number;
  readonly accel_peak: number;
  readonly accel_pp: number;
  readonly crest_factor: number;
  readonly kurtosis: number;
  /** mm/s */
  readonly vel_rms: number;
  /** um */
  readonly disp_pp: number;
  /** GE */
  readonly env_rms: number;
  readonly clipCount: number;
}

const G_MM_S2 = 9800;
const TURN = 2 * Math.PI;
const F_LOW_HZ = 10;
const F_HIGH_HZ = 1000;
const ENV_LOW_HZ = 500;
const ENV_HIGH_HZ = 10_000;
const USABLE = 2.56;

/** The sum over n of x[n]·exp(-i·2π·k·n/N), term by term. */
function line(x: Float64Array, k: number, cosines: Float64Array, sines: Float64Array) {
  const size = x.length;
  let re = 0;
  let im = 0;
  let turn = 0;
  for (const value of x) {
    re += value * (cosines[turn] as number);
    im -= value * (sines[turn] as number);
    turn += k;
    if (turn >= size) turn -= size;
  }
  return { re, im };
}

function circle(size: number) {
  return {
    cosines: Float64Array.from({ length: size }, (_, n) => Math.cos((TURN * n) / size)),
    sines: Float64Array.from({ length: size }, (_, n) => Math.sin((TURN * n) / size)),
  };
}

const sum = (values: Iterable<number>) => {
  let total = 0;
  for (const value of values) total += value;
  return total;
};

/** For records of at least 256 samples that are not flat. */
export function axisValues(counts: Int16Array, shape: AxisShape): AxisValues {
  const { calibration: c, sampleRateHz: fs } = shape;
  const size = counts.length;
  const mean = sum(counts) / size;
  const a = Float64Array.from(counts, (count) => c * (count - mean));
  const rms = Math.sqrt(sum(a.map((v) => v * v)) / size);
  const peak = Math.max(...a.map(Math.abs));
  return {
    accel_rms: rms,
    accel_peak: peak,
    accel_pp: c * (Math.max(...counts) - Math.min(...counts)),
    crest_factor: peak / rms,
    kurtosis: sum(a.map((v) => v ** 4)) / size / (sum(a.map((v) => v * v)) / size) ** 2,
    ...motion(a, fs),
    env_rms: envelope(a, fs),
    clipCount: counts.filter((count) => count >= 32767 || count <= -32767).length,
  };
}

function motion(a: Float64Array, fs: number): { vel_rms: number; disp_pp: number } {
  const size = a.length;
  const window = Float64Array.from(a, (_, n) => 0.5 - 0.5 * Math.cos((TURN * n) / size));
  const s2 = sum(window.map((w) => w * w));
  const y = a.map((v, n) => v * (window[n] as number));
  const { cosines, sines } = circle(size);
  const first = Math.max(2, Math.ceil((F_LOW_HZ * size) / fs - 1e-9));
  const last = Math.min(
    Math.floor((Math.min(F_HIGH_HZ, fs / 2) * size) / fs + 1e-9),
    Math.floor(size / 2),
  );
  let velocity = 0;
  let displacement = 0;
  for (let k = first; k <= last; k++) {
    const { re, im } = line(y, k, cosines, sines);
    const power = ((k * 2 === size ? 1 : 2) * (re * re + im * im)) / (size * s2);
    const w = (TURN * k * fs) / size;
    velocity += power / w ** 2;
    displacement += power / w ** 4;
  }
  return {
    vel_rms: G_MM_S2 * Math.sqrt(velocity),
    disp_pp: 2 * Math.SQRT2 * 1000 * G_MM_S2 * Math.sqrt(displacement),
  };
}

function envelope(a: Float64Array, fs: number): number {
  const size = a.length;
  const edge = Math.floor(0.05 * size);
  const tapered = a.map((v, n) => {
    const fromEnd = Math.min(n, size - 1 - n);
    const t = fromEnd < edge ? 0.5 * (1 - Math.cos((Math.PI * (fromEnd + 0.5)) / edge)) : 1;
    return v * t;
  });
  const high = Math.min(ENV_HIGH_HZ, fs / USABLE);
  const first = Math.ceil((ENV_LOW_HZ * size) / fs - 1e-9);
  const last = Math.floor((high * size) / fs + 1e-9);
  const { cosines, sines } = circle(size);
  const re = new Float64Array(size);
  const im = new Float64Array(size);
  for (let k = first; k <= last; k++) {
    const x = line(tapered, k, cosines, sines);
    // Divided here, once: the loop below is most of what a test that expects waveforms computes.
    const real = (2 * x.re) / size;
    const imaginary = (2 * x.im) / size;
    let turn = 0;
    for (let n = 0; n < size; n++) {
      const cos = cosines[turn] as number;
      const sin = sines[turn] as number;
      re[n] = (re[n] as number) + (real * cos - imaginary * sin);
      im[n] = (im[n] as number) + (real * sin + imaginary * cos);
      turn += k;
      if (turn >= size) turn -= size;
    }
  }
  const kept = size - 2 * edge;
  const e = Float64Array.from({ length: kept }, (_, n) =>
    Math.hypot(re[n + edge] as number, im[n + edge] as number),
  );
  const mean = sum(e) / kept;
  const q = e.map((v) => v - mean);
  const turn = circle(kept);
  const lines = Math.floor((Math.min(1000, high - ENV_LOW_HZ) * kept) / fs + 1e-9);
  let power = 0;
  for (let k = 1; k <= lines; k++) {
    const x = line(q, k, turn.cosines, turn.sines);
    power += x.re ** 2 + x.im ** 2;
  }
  return Math.sqrt(2 * power) / kept;
}
