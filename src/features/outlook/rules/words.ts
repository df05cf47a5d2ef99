/** The outlooks of a machine as people and the API read them. */
import {
  INTEGER,
  ISO,
  list,
  NUMBER,
  named,
  type Of,
  object,
  oneOf,
  orNull,
  TEXT,
} from "../../../core/schema.ts";

const OUTLOOK_REASONS = [
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

const VALUE_OUTLOOK = named(
  "ValueOutlook",
  object({
    sensor: TEXT,
    value: TEXT,
    unit: orNull(TEXT),
    level: { ...orNull(NUMBER), description: "Median of the newest week." },
    limit: { ...orNull(NUMBER), description: "The next one above the level." },
    slopePerDay: orNull(NUMBER),
    days: { ...INTEGER, description: "UTC days that it rests on." },
    outlook: orNull(object({ from: ISO, to: orNull(ISO) })),
    reason: orNull(oneOf(OUTLOOK_REASONS)),
    text: TEXT,
  }),
);
export type ValueOutlook = Of<typeof VALUE_OUTLOOK>;

export const MACHINE_OUTLOOK = object({ machine: INTEGER, values: list(VALUE_OUTLOOK) });
export type MachineOutlook = Of<typeof MACHINE_OUTLOOK>;
