import type { Graded } from "../../core/quality.ts";
import type { RawRecord } from "../../core/record.ts";
import type { Sensor } from "../../core/sensor.ts";
import { isPublished } from "./channels.ts";
import { decimal } from "./decimal.ts";
import { ratioOf } from "./ratio.ts";
import { numberField, type ValueSheet } from "./value-sheet.ts";

/**
 * Ampere-hours of what the clamp sees, as received: the service sends them in Ah, so no clamp factor applies (services
 * section 3.5). The channel's ratio makes them those of the conductor.
 */
export function convertAccumulatedCurrent(
  record: RawRecord,
  sensor: Sensor,
  sheet: ValueSheet,
): void {
  for (let n = 1; n <= 4; n++) {
    const name = `accumulated_current${n}`;
    if (!isPublished(sensor, "current", n)) continue;
    const ratio = ratioOf(sensor.channels[`current${n}`] ?? {});
    sheet.number(name, "Ah", times(numberField(record, name), ratio));
  }
  const start = record.times.startPeriod;
  if (start !== undefined) sheet.attributes.startPeriod = new Date(start.ms).toISOString();
}

/** Without a ratio the number stays as it was sent. */
function times({ value, doubt }: Graded, ratio: number): Graded {
  return { value: value === null || ratio === 1 ? value : decimal(value * ratio), doubt };
}
