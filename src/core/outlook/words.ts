/** The outlooks of a machine as people and the API read them. */

export const OUTLOOK_REASONS = [
  "no_limit",
  "too_few_days",
  "not_rising",
  "within_noise",
  "step",
  "too_far",
  "standing",
  "beyond_limit",
] as const;
export type OutlookReason = (typeof OUTLOOK_REASONS)[number];

export interface ValueOutlook {
  readonly sensor: string;
  readonly value: string;
  readonly unit: string | null;
  /** Median of the newest week; null without one. */
  readonly level: number | null;
  readonly limit: number | null;
  readonly slopePerDay: number | null;
  /** Day rows that it rests on. */
  readonly days: number;
  /** ISO times at 00:00 UTC. */
  readonly outlook: { readonly from: string; readonly to: string | null } | null;
  readonly reason: OutlookReason | null;
  readonly text: string;
}

export interface MachineOutlook {
  readonly machine: number;
  readonly values: readonly ValueOutlook[];
}
