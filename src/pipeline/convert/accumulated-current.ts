import type { RawRecord } from "../../core/record.ts";
import type { Sensor } from "../../core/sensor.ts";
import { isPublished } from "./channels.ts";
import { numberField, type ValueSheet } from "./value-sheet.ts";

/** Ampere-hours as received: the service sends them in Ah, so no clamp factor applies (services section 3.5). */
export function convertAccumulatedCurrent(
  record: RawRecord,
  sensor: Sensor,
  sheet: ValueSheet,
): void {
  for (let n = 1; n <= 4; n++) {
    const name = `accumulated_current${n}`;
    if (isPublished(sensor, "current", n)) {
      sheet.number(name, "Ah", numberField(record, name));
    }
  }
  const start = record.times.startPeriod;
  if (start !== undefined) sheet.attributes.startPeriod = new Date(start.ms).toISOString();
}
