import { METRIC, READ_UNITS, type ReadUnits } from "../core/read-units.ts";

const KEY = "gateside.units";

/** Absent outside of browsers. */
const storage = () =>
  (
    globalThis as {
      readonly localStorage?: {
        getItem(key: string): string | null;
        setItem(key: string, value: string): void;
      };
    }
  ).localStorage;

export function keepUnits(units: ReadUnits): void {
  try {
    storage()?.setItem(KEY, JSON.stringify(units));
  } catch {
    // Storage may be disabled: everything stays metric then.
  }
}

/** The units chosen in this browser; metric until somebody chooses. */
export function unitsKept(): ReadUnits {
  try {
    const kept = JSON.parse(storage()?.getItem(KEY) ?? "{}") as Partial<Record<string, unknown>>;
    const entries = Object.entries(READ_UNITS).map(([quantity, units]) => [
      quantity,
      (units as readonly unknown[]).find((unit) => unit === kept[quantity]) ?? units[0],
    ]);
    return Object.fromEntries(entries) as unknown as ReadUnits;
  } catch {
    return METRIC;
  }
}
