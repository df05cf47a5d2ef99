/** Stored readings of damaged records (plant section 24). */
import { isOfDamage } from "../quality.ts";
import type { Reading } from "../reading.ts";
import { type StoredReading, storedQuality, storedValues } from "../stored-reading.ts";

type Texts = Pick<StoredReading, "values" | "quality">;

const OF_AXIS = /^channel\d_/;

/** The values that are not of a damaged axis. */
export function undamagedValues(reading: Texts): Reading["values"] {
  const values = storedValues(reading);
  if (!/samples_lost|jump/.test(reading.quality)) return values;
  const quality = storedQuality(reading);
  return Object.fromEntries(Object.entries(values).filter(([name]) => !isOfDamage(quality[name])));
}

/** Whether all axes that have values are damaged: it is no judged reading then. */
export function isDamagedRecord(reading: Texts): boolean {
  if (!/samples_lost|jump/.test(reading.quality)) return false;
  const rest = Object.entries(undamagedValues(reading));
  return rest.every(([name, value]) => value === null || !OF_AXIS.test(name));
}
