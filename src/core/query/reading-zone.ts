import { isZone, worstZone, type Zone } from "../../pipeline/signal/severity.ts";

/** Machine zone of a vibration reading: the worst of its axes (signal-definitions section 8); null if none is known. */
export function readingZone(values: Readonly<Record<string, unknown>>): Zone | null {
  const zones = Object.entries(values).filter(([name]) => name.endsWith("_zone"));
  return worstZone(zones.map(([, value]) => (isZone(value) ? value : null)));
}
