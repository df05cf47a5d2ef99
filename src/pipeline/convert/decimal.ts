/** Significant digits that a double carries through a calculation. */
const DIGITS = 15;
/** The most that toFixed accepts. */
const DECIMALS_MAX = 100;

/**
 * The number without binary rounding noise beyond its fifteenth significant digit, where a double's own precision
 * ends: 24.9 · 2.5 is 62.25 and not 62.24999999999999. It changes a value by less than 1e-14 of itself.
 *
 * `scale`: largest number that the value was calculated from, if that is larger: a difference of two large numbers is
 * no more precise than they are. The value then changes by less than 1e-14 of `scale`.
 */
export function decimal(value: number, scale = 0): number {
  const decimals = DIGITS - 1 - Math.floor(Math.log10(scale));
  const isDifference = scale > Math.abs(value) && decimals >= 0 && decimals <= DECIMALS_MAX;
  // Adding zero turns -0 into 0.
  const rounded = isDifference
    ? Number(value.toFixed(decimals)) + 0
    : Number(value.toPrecision(DIGITS));
  // The very largest doubles would become infinite.
  return Number.isFinite(rounded) ? rounded : value;
}
