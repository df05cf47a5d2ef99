import { isZone, worstZone, type Zone } from "../../pipeline/signal/severity.ts";

/** Machine zone of a vibration reading: the worst of its axes (signal-definitions section 8); null if none is known. */
export function readingZone(values: Readonly<Record<string, unknown>>): Zone | null {
  const zones: (Zone | null)[] = [];
  for (const name of Object.keys(values)) {
    const value = name.endsWith("_zone") ? values[name] : null;
    if (isZone(value)) zones.push(value);
  }
  return worstZone(zones);
}
