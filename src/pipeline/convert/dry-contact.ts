import { bad, type Graded, good } from "../../core/quality.ts";
import type { RawRecord } from "../../core/record.ts";
import type { Sensor } from "../../core/sensor.ts";
import { isPublished } from "./channels.ts";
import { isCarried, type ValueSheet } from "./value-sheet.ts";

/** 0 or 1, also as a boolean, and the opposite if the channel is inverted. */
function contactValue(wire: unknown, invert: boolean): Graded<boolean> {
  if (wire === undefined || wire === null) return bad("missing");
  if (wire === true || wire === 1) return good(!invert);
  if (wire === false || wire === 0) return good(invert);
  return bad("not_a_number");
}

export function convertDryContact(record: RawRecord, sensor: Sensor, sheet: ValueSheet): void {
  for (let n = 1; n <= 4; n++) {
    const name = `input${n}`;
    if (!isPublished(sensor, "input", n)) continue;
    const config = Object.hasOwn(sensor.channels, name) ? sensor.channels[name] : undefined;
    // A field that could not be read is present, but is not a contact state.
    const wire = record.fields[name] ?? (isCarried(record, name) ? Number.NaN : null);
    sheet.boolean(name, contactValue(wire, config?.invert === true));
  }
}
