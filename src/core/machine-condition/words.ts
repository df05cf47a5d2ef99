/** The words of conditions; free of Node, because the dashboard uses them too. */

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
