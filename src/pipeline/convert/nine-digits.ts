import type { Graded } from "../../core/quality.ts";

/** More than any sensor tells; the other digits of a double are noise that is stored and sent. */
const DIGITS = 9;

/** A derived value with the digits that are kept of it (plant section 25). */
export function nineDigits({ value, doubt }: Graded): Graded {
  return { value: value === null ? null : Number(value.toPrecision(DIGITS)), doubt };
}
