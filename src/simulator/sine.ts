/** One turn, rad. */
export const TURN = 2 * Math.PI;

/** Adds a sine by rotating a vector, which costs no call per sample. */
export function addSine(
  signal: Float64Array,
  hz: number,
  amplitude: number,
  phase: number,
  rateHz: number,
): void {
  const turnCos = Math.cos((TURN * hz) / rateHz);
  const turnSin = Math.sin((TURN * hz) / rateHz);
  let x = amplitude * Math.cos(phase);
  let y = amplitude * Math.sin(phase);
  for (let k = 0; k < signal.length; k++) {
    signal[k] = (signal[k] ?? 0) + y;
    const next = x * turnCos - y * turnSin;
    y = x * turnSin + y * turnCos;
    x = next;
  }
}
