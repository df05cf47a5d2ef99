/** The readings of a place: those of the sensor that is there now, and of the ones that it replaced, each in its time. */

import { formerCodes } from "../replacement.ts";
import { KINDS, normalCode, type Sensor } from "../sensor.ts";
import { HOUR_MS } from "../time-units.ts";
import type { MeasurementRange } from "./measurements.ts";
import type { HistoryReader, HourValues } from "./ports.ts";

/** When the readings of a sensor count for the place, ms; `toMs` excluded. */
export type PlaceSpan = MeasurementRange;

const EVER_MS = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] as const;

/**
 * In order of time. From its successor's first reading on, a sensor counts no more. @param code of the sensor asked for,
 * whose former sensors follow from the site file
 */
export function placeSpans(
  sensors: readonly Sensor[],
  code: string,
  firstMs: (sensor: string) => number | null,
): readonly PlaceSpan[] {
  const sensor = sensors.find((one) => normalCode(one.code) === normalCode(code));
  const formers = sensor === undefined ? [] : formerCodes(sensors, sensor);
  const begun = formers.flatMap((former) => {
    const atMs = firstMs(former);
    return atMs === null ? [] : [{ sensor: former, atMs }];
  });
  begun.sort((a, b) => b.atMs - a.atMs);
  const spans: PlaceSpan[] = [{ sensor: code, fromMs: EVER_MS[0], toMs: EVER_MS[1] }];
  let endMs = begun.length === 0 ? 0 : (firstMs(code) ?? EVER_MS[1]);
  for (const { sensor: former, atMs } of begun) {
    if (atMs >= endMs) continue;
    spans.unshift({ sensor: former, fromMs: atMs, toMs: endMs });
    endMs = atMs;
  }
  return spans;
}

/** Time of a sensor's first reading of any kind, ms; once that is gone, of the hour or day in which it was. */
export function firstReadingMs(
  parts: {
    readonly history: Pick<HistoryReader, "extent" | "page">;
    readonly hours: Pick<HourValues, "firstMs">;
  },
  sensor: string,
): number | null {
  const storedMs = firstStoredMs(parts.history, sensor);
  const counted = KINDS.map((kind) => parts.hours.firstMs(sensor, kind)).filter(
    (ms) => ms !== null,
  );
  const countedMs = counted.length === 0 ? null : Math.min(...counted);
  if (storedMs === null || countedMs === null) return storedMs ?? countedMs;
  return countedMs > storedMs - HOUR_MS ? storedMs : countedMs;
}

function firstStoredMs(
  history: Pick<HistoryReader, "extent" | "page">,
  sensor: string,
): number | null {
  const extent = history.extent();
  if (extent === null) return null;
  const range = { ...extent, sensor, order: "ascending", after: null, limit: 1 } as const;
  const times = KINDS.flatMap((kind) => history.page({ ...range, kind }).map((one) => one.timeMs));
  return times.length === 0 ? null : Math.min(...times);
}
