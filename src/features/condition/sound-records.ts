/** The records that say something of a sensor: those that are not damaged, nor of a clock that ran ahead. */

import { readingZone } from "../../core/query/reading-zone.ts";
import { isDamagedRecord, undamagedValues } from "../../core/record/damaged-record.ts";
import { normalCode, type Sensor } from "../../core/sensor.ts";
import { isDatedAhead, type StoredReading } from "../../core/stored-reading.ts";
import type { Zone } from "../../pipeline/signal/severity.ts";
import type { ConditionParts } from "./condition-parts.ts";
import { isOfRunning } from "./machine-change.ts";

/** Records that are looked through for the last one of the running machine. */
const RECORDS_WALKED = 50;

/** Zone of the last record of the running machine until a time, ms. @param newest the newest record, if it is known */
export function zoneAt(
  { history }: Pick<ConditionParts, "history">,
  { code, kinds }: Sensor,
  endMs: number,
  newest: StoredReading | null = null,
): Zone | null {
  if (!kinds.includes("accel")) return null;
  if (newest !== null && newest.timeMs <= endMs && isShown(newest))
    return readingZone(undamagedValues(newest));
  const range = { sensor: code, kind: "accel", fromMs: 0, toMs: endMs + 1 } as const;
  // Nearly always the first one is of the running machine.
  for (const limit of [1, RECORDS_WALKED]) {
    const page = { ...range, order: "descending", after: null, limit } as const;
    const last = history.page(page).find(isShown);
    if (last !== undefined) return readingZone(undamagedValues(last));
  }
  return null;
}

/** By normalised code. */
export const zonesOf = (
  parts: Pick<ConditionParts, "history">,
  sensors: readonly Sensor[],
  endMs: number,
): ReadonlyMap<string, Zone | null> =>
  new Map(sensors.map((sensor) => [normalCode(sensor.code), zoneAt(parts, sensor, endMs)]));

/** A record of the running machine that says something about its time. */
const isShown = (reading: StoredReading) => isOfRunning(reading) && isSound(reading);

const isSound = (reading: StoredReading) => !isDamagedRecord(reading) && !isDatedAhead(reading);

/** The newest reading that is not of a damaged record, nor of a clock that ran ahead. */
export function soundOf(
  { history }: Pick<ConditionParts, "history">,
  latest: StoredReading | null,
): StoredReading | null {
  if (latest === null || !isDamagedRecord(latest)) return latest;
  const { sensor, kind } = latest;
  const range = { sensor, kind, fromMs: 0, toMs: latest.timeMs } as const;
  const page = { ...range, order: "descending", after: null, limit: RECORDS_WALKED } as const;
  return history.page(page).find(isSound) ?? null;
}
