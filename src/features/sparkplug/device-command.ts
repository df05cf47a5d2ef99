import type { MetricShape } from "./metric-shape.ts";
import type { CommandMetric } from "./payload.ts";

/** Sensor settings that a DCMD may contain (contract section 8), as metrics that are written and never read back. */
const SETTINGS = [
  ["IntervalSendData", "Int32"],
  ["Range", "Int32"],
  ["IntervalRMS", "Int32"],
  ["alarm1", "Double"],
  ["alarm2", "Double"],
  ["alarm3", "Double"],
] as const;

/** The outcome of the last command, as text. */
export const SETTINGS_OUTCOME = "settings/outcome";

/** Births contain these only if commands are enabled. */
export function settingShapes(): MetricShape[] {
  const writable = SETTINGS.map(([field, type]) => ({ name: `settings/${field}`, type }));
  return [...writable, { name: SETTINGS_OUTCOME, type: "String" as const }].map((shape) => ({
    ...shape,
    unit: null,
    source: null,
  }));
}

/** Settings named in a DCMD; null if it names none. The command room decides whether they are valid. */
export function settingsOf(metrics: readonly CommandMetric[]): Record<string, number> | null {
  const settings: Record<string, number> = {};
  for (const [field] of SETTINGS) {
    const value = metrics.find((m) => m.name === `settings/${field}`)?.value;
    if (typeof value === "number") settings[field] = value;
    // A 64-bit number beyond 2^53 is not a setting; it becomes a number that the check rejects.
    else if (typeof value === "bigint") settings[field] = Number(value);
  }
  return Object.keys(settings).length === 0 ? null : settings;
}
