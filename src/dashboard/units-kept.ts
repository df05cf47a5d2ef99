import { parsedObject } from "../core/parsed-json.ts";
import { chosenUnits, METRIC, type ReadUnits } from "../core/read-units.ts";

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
    const kept = parsedObject(storage()?.getItem(KEY) ?? "{}");
    return chosenUnits((quantity) => kept?.[quantity]);
  } catch {
    return METRIC;
  }
}
