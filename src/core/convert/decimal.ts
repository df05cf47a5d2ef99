/**
 * The number without the noise of binary fractions past its fifteenth significant digit, where a double's own end:
 * 24.9 · 2.5 is 62.25 and not 62.24999999999999. It moves a value by less than 1e-14 of itself.
 */
export function decimal(value: number): number {
  const rounded = Number(value.toPrecision(15));
  // The very largest doubles would become infinite.
  return Number.isFinite(rounded) ? rounded : value;
}
