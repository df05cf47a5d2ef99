/** Clamp currents of both module versions (signal-definitions 9). */
import { bad, type Graded, good, uncertain } from "../../core/quality.ts";
import type { RawRecord } from "../../core/record.ts";
import type { Sensor } from "../../core/sensor.ts";
import { currentChannels, isPublished } from "./channels.ts";
import { decimal } from "./decimal.ts";
import { ratioOf } from "./ratio.ts";
import { numberField, type ValueSheet } from "./value-sheet.ts";

/** A = reading · rating/100, for clamps with a known rating. */
const CLAMP_FACTORS: ReadonlyMap<number, number> = new Map([
  [50, 0.5],
  [100, 1],
  [250, 2.5],
  [500, 5],
]);

/** Amperes of one reading; a missing clamp, or one of unknown rating, is no calibration. The rating is that of what the clamp sees. */
export function clampValue(reading: Graded, clamp: number | undefined, ratio = 1): Graded {
  const factor = clamp === undefined ? undefined : CLAMP_FACTORS.get(clamp);
  if (clamp === undefined || factor === undefined) return bad("no_calibration");
  if (reading.value === null) return reading;
  if (reading.value < 0) return bad("under_range");
  const amperes = decimal(reading.value * factor * ratio);
  const isOver = decimal(reading.value * factor) > clamp;
  return isOver ? uncertain(amperes, "over_range") : good(amperes);
}

export interface CurrentParts {
  readonly min: Graded;
  readonly max: Graded;
  readonly avg: Graded;
}

/** Minimum, maximum and average, each independently; if all are present they must be in order. */
export function clampParts(
  readings: CurrentParts,
  clamp: number | undefined,
  ratio = 1,
): CurrentParts {
  const parts = {
    min: clampValue(readings.min, clamp, ratio),
    max: clampValue(readings.max, clamp, ratio),
    avg: clampValue(readings.avg, clamp, ratio),
  };
  const [min, max, avg] = [parts.min.value, parts.max.value, parts.avg.value];
  if (min === null || max === null || avg === null || (min <= avg && avg <= max)) return parts;
  return {
    min: uncertain(min, "inconsistent"),
    max: uncertain(max, "inconsistent"),
    avg: uncertain(avg, "inconsistent"),
  };
}

export function convertCurrent(record: RawRecord, sensor: Sensor, sheet: ValueSheet): void {
  for (const { name, config } of currentChannels(sensor, 3)) {
    sheet.number(name, "A", clampValue(numberField(record, name), config.clamp, ratioOf(config)));
  }
}

export function convertCurrentV2(record: RawRecord, sensor: Sensor, sheet: ValueSheet): void {
  for (const { name, config } of currentChannels(sensor, 4)) {
    const parts = clampParts(
      {
        min: numberField(record, `min_${name}`),
        max: numberField(record, `max_${name}`),
        avg: numberField(record, `avg_${name}`),
      },
      config.clamp,
      ratioOf(config),
    );
    sheet.number(`${name}_min`, "A", parts.min);
    sheet.number(`${name}_max`, "A", parts.max);
    sheet.number(`${name}_avg`, "A", parts.avg);
  }
}

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
