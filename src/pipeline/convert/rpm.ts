import { bad, type Graded } from "../../core/quality.ts";
import type { RawRecord } from "../../core/record.ts";
import { numberField, type ValueSheet } from "./value-sheet.ts";

/** Shaft speed, r/min; a speed has no sign. */
function rpmValue(reading: Graded): Graded {
  return reading.value !== null && reading.value < 0 ? bad("under_range") : reading;
}

export function convertRpm(record: RawRecord, sheet: ValueSheet): void {
  sheet.number("rpm", "rpm", rpmValue(numberField(record, "RPM")));
}
