import { bad, type Graded } from "../../core/quality.ts";
import type { RawRecord } from "../../core/record.ts";
import type { Sensor } from "../../core/sensor.ts";
import { decimal } from "./decimal.ts";
import { numberField, type ValueSheet } from "./value-sheet.ts";

/** Shaft speed, r/min, of what the transmitter counts as turns; a speed has no sign. */
function rpmValue(reading: Graded, pulsesPerRevolution = 1): Graded {
  if (reading.value === null || pulsesPerRevolution === 1) return unsigned(reading);
  return unsigned({ ...reading, value: decimal(reading.value / pulsesPerRevolution) });
}

function unsigned(reading: Graded): Graded {
  return reading.value !== null && reading.value < 0 ? bad("under_range") : reading;
}

export function convertRpm(record: RawRecord, sensor: Sensor, sheet: ValueSheet): void {
  sheet.number("rpm", "rpm", rpmValue(numberField(record, "RPM"), sensor.pulsesPerRevolution));
}
