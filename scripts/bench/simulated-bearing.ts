/** A machine with an outer-race bearing fault, for the bench and the pictures of the documentation. */

export const BEARING = {
  sampleRateHz: 12_800,
  size: 4096,
  /** G per count. */
  calibration: 16 / 32768,
  speedHz: 24.6,
  /** Passing frequency of the damage. */
  faultHz: 93,
  resonanceHz: 2600,
} as const;

/** One axis: unbalance, its harmonics, noise, and a decaying resonance at every pass. The same seed gives the same counts. */
export function bearingSamples(
  seed: number,
  faultG = 1.6,
  speedHz: number = BEARING.speedHz,
): Int16Array {
  const { sampleRateHz, size, calibration, faultHz, resonanceHz } = BEARING;
  const random = generator(seed);
  return Int16Array.from({ length: size }, (_, n) => {
    const t = n / sampleRateHz;
    const turn = 2 * Math.PI * speedHz * t;
    const sincePassS = (t % (1 / faultHz)) + 1e-9;
    const ring = Math.exp(-900 * sincePassS) * Math.sin(2 * Math.PI * resonanceHz * sincePassS);
    const noise = (random() + random() + random() - 1.5) * 0.08;
    const accel = 0.12 * Math.sin(turn) + 0.05 * Math.sin(2 * turn + 1) + faultG * ring + noise;
    return Math.round(accel / calibration);
  });
}

/** Numerical Recipes' linear congruential generator, 0 to 1: simple, and the same on every machine. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
