/**
 * The one rule for a list that meets a stream: of each kind the newer reading stands, whichever came first. A list that was asked for before a
 * reading came never takes that reading away.
 */
import { readingZone } from "../core/query/reading-zone.ts";
import type { ShownReading, ShownSensor } from "../core/query/shown.ts";

/** The sensor with a reading; the same object if it knows a newer one. */
export function withReading(sensor: ShownSensor, reading: ShownReading): ShownSensor {
  const known = sensor.latest[reading.kind];
  if (hasFlag(reading, "time_in_future")) return sensor;
  if (known !== undefined && !isNewer(reading, known)) return sensor;
  const { battery } = reading.values;
  return {
    ...sensor,
    latest: { ...sensor.latest, [reading.kind]: reading },
    zone: reading.kind === "accel" ? readingZone(reading.values) : sensor.zone,
    batteryV: typeof battery === "number" ? battery : sensor.batteryV,
    lastReadingMs: Math.max(sensor.lastReadingMs ?? 0, reading.timeMs),
  };
}

/** A sensor of a list, with what was known of it before the list came. */
export function mergedSensor(
  listed: ShownSensor,
  known: Iterable<ShownReading | undefined>,
): ShownSensor {
  let merged = listed;
  for (const reading of known) {
    // A kind may have left the site file.
    const isListed = reading !== undefined && listed.kinds.includes(reading.kind);
    if (isListed) merged = withReading(merged, reading);
  }
  return merged;
}

function isNewer(one: ShownReading, other: ShownReading): boolean {
  return one.timeMs > other.timeMs || (one.timeMs === other.timeMs && one.seq > other.seq);
}

/** Flags are an attribute of the reading. */
export function flagsOf(reading: ShownReading): readonly string[] {
  const { flags } = reading.attributes;
  return Array.isArray(flags) ? flags.filter((flag) => typeof flag === "string") : [];
}
function hasFlag(reading: ShownReading, flag: string): boolean {
  return flagsOf(reading).includes(flag);
}
