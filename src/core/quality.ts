import { named, type Of, object, oneOf } from "./schema.ts";

export type Quality = "good" | "uncertain" | "bad";

/** Why a value is not good (contract section 5). */
const REASONS = [
  "wire_break",
  "under_range",
  "over_range",
  "samples_lost",
  "jump",
  "clipped",
  "wrapped",
  "flatline",
  "too_short",
  "sample_rate_low",
  "missing",
  "not_a_number",
  "no_calibration",
  "inconsistent",
] as const;
export type Reason = (typeof REASONS)[number];

/** Quality of one value that is not good; good values carry none. */
export const DOUBT = named(
  "Doubt",
  object({ quality: oneOf(["uncertain", "bad"]), reason: oneOf(REASONS) }),
);
export type Doubt = Of<typeof DOUBT>;

/** Whether the record itself is damaged: its values say nothing of the machine (plant section 24). */
export function isOfDamage(doubt: Doubt | null | undefined): boolean {
  return doubt?.reason === "samples_lost" || doubt?.reason === "jump";
}

/** A converted value with its quality: `doubt` null is good; bad always has value null. */
export interface Graded<T = number> {
  readonly value: T | null;
  readonly doubt: Doubt | null;
}

export const good = <T>(value: T): Graded<T> => ({ value, doubt: null });
export const uncertain = <T>(value: T, reason: Reason): Graded<T> => ({
  value,
  doubt: { quality: "uncertain", reason },
});
export const bad = (reason: Reason): Graded<never> => ({
  value: null,
  doubt: { quality: "bad", reason },
});
