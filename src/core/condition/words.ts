/** The words of conditions; free of Node, because the dashboard uses them too. */

import { NUMBER, type Of, object, oneOf, orNull, TEXT } from "../schema.ts";

/** Worst first. */
export const CONDITIONS = ["alarm", "warning", "watch", "unknown", "standing", "ok"] as const;

/** Why a machine is `unknown`. */
export const UNKNOWN_REASONS = [
  "no_sensor",
  "not_read",
  "never_read",
  "no_recent_reading",
  "nothing_judged",
  "no_recent_judgement",
] as const;

/** What is said of one sensor beside the state of its machine. */
export const MARKS = ["never_read", "silent", "battery_low", "bad_quality", "shelved"] as const;

/** What changed on a machine, by its worst value. */
export const CHANGE = object({
  sensor: TEXT,
  value: { ...TEXT, description: "The one that says most about the machine." },
  unit: orNull(TEXT),
  now: { ...orNull(NUMBER), description: "Median of the last day." },
  before: orNull(NUMBER),
  against: {
    ...orNull(oneOf(["month", "pin", "baseline"])),
    description:
      "Seven days around the thirtieth before today, else the newest pinned measurement, else the baseline.",
  },
  text: TEXT,
});
export type Change = Of<typeof CHANGE>;
