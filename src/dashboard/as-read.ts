/** Responses of the agent in the units that were chosen in this browser. */

import type { BaselineView, LimitView, NewestShown } from "../core/alarm/shown.ts";
import type { Trend } from "../core/query/shown.ts";
import {
  alarmTextAsRead,
  type Conversion,
  conversionOf,
  converted,
  isVibrationValue,
  type ReadUnits,
  scaleOf,
  textAsRead,
} from "../core/read-units.ts";
import type { Value } from "../core/reading.ts";

/** The members that have a unit. */
interface MeasuredReading {
  readonly kind: string;
  readonly values: Readonly<Record<string, Value>>;
  readonly units: Readonly<Record<string, string>>;
}
interface MeasuredSensor {
  readonly latest: Readonly<Record<string, MeasuredReading>>;
  readonly limits: readonly number[] | null;
}
interface Alarm {
  readonly alarm: string;
  readonly kind: string;
  readonly value: string;
  readonly unit: string | null;
  readonly limit?: number | null;
  readonly measured?: number | null;
  readonly worst?: { readonly measured: number | null };
  readonly text?: string;
  readonly newest?: NewestShown;
}
interface MeasuredFinding {
  readonly unit: string;
  readonly level: number;
  readonly limit: number;
  readonly text: string;
  readonly evidence: readonly { readonly unit: string; readonly amplitude: number }[];
}

export function readingAsRead<T extends MeasuredReading>(reading: T, wanted: ReadUnits): T {
  const values: Record<string, Value> = { ...reading.values };
  const units: Record<string, string> = { ...reading.units };
  for (const [name, unit] of Object.entries(reading.units)) {
    const conversion = conversionOf({ kind: reading.kind, value: name }, unit, wanted);
    if (conversion === null) continue;
    const value = values[name];
    if (typeof value === "number") values[name] = converted(value, conversion);
    units[name] = conversion.unit;
  }
  return { ...reading, values, units };
}

export function sensorAsRead<T extends MeasuredSensor>(sensor: T, wanted: ReadUnits): T {
  const latest = Object.fromEntries(
    Object.entries(sensor.latest).map(([kind, one]) => [kind, readingAsRead(one, wanted)]),
  );
  return { ...sensor, latest, limits: limitsAsRead(sensor.limits, wanted) };
}

/** Zone limits, mm/s. */
export function limitsAsRead<T extends readonly number[] | null>(limits: T, wanted: ReadUnits): T {
  const conversion = scaleOf("mm/s", wanted);
  return (limits?.map((limit) => converted(limit, conversion)) ?? null) as T;
}

type TrendValues = Trend["series"][string];
type TrendUnit = TrendValues["formerly"][number];

export function trendAsRead(trend: Trend, wanted: ReadUnits): Trend {
  const { kind } = trend;
  const series = Object.entries(trend.series).map(([value, one]): [string, TrendValues] => {
    const of = { kind, value };
    const formerly = one.formerly.map((line) => lineAsRead(line, of, wanted));
    return [value, { ...lineAsRead(one, of, wanted), formerly }];
  });
  return { ...trend, series: Object.fromEntries(series) };
}

function lineAsRead(
  line: TrendUnit,
  of: { readonly kind: string; readonly value: string },
  wanted: ReadUnits,
): TrendUnit {
  const conversion = conversionOf(of, line.unit, wanted);
  const all = (values: readonly number[]) => values.map((value) => converted(value, conversion));
  return {
    ...line,
    unit: conversion?.unit ?? line.unit,
    min: all(line.min),
    max: all(line.max),
    mean: all(line.mean),
  };
}

const orNull = (value: number | null, conversion: Conversion | null) =>
  value === null ? null : converted(value, conversion);

export function limitAsRead(limit: LimitView, wanted: ReadUnits): LimitView {
  const conversion = conversionOf(limit, limit.unit, wanted);
  if (conversion === null) return limit;
  const { highHigh, high, low, lowLow } = limit;
  return {
    ...limit,
    unit: conversion.unit,
    highHigh: orNull(highHigh, conversion),
    high: orNull(high, conversion),
    low: orNull(low, conversion),
    lowLow: orNull(lowLow, conversion),
  };
}

/** A baseline does not say its kind; its value's name does, because those of loops have no suffix. */
export function baselineAsRead(baseline: BaselineView, wanted: ReadUnits): BaselineView {
  const { value, unit, high, low, median } = baseline;
  const kind = isVibrationValue(value) ? "accel" : "";
  const conversion = conversionOf({ kind, value }, unit, wanted);
  if (conversion === null) return baseline;
  return {
    ...baseline,
    unit: conversion.unit,
    high: orNull(high, conversion),
    low: orNull(low, conversion),
    median: orNull(median, conversion),
  };
}

export function alarmAsRead<T extends Alarm>(alarm: T, wanted: ReadUnits): T {
  const conversion = conversionOf(alarm, alarm.unit, wanted);
  const { limit, measured, worst, newest } = alarm;
  const said = (text: string) => alarmTextAsRead(text, alarm, wanted);
  return {
    ...alarm,
    unit: conversion?.unit ?? alarm.unit,
    ...(limit !== undefined && { limit: orNull(limit, conversion) }),
    ...(measured !== undefined && { measured: orNull(measured, conversion) }),
    ...(worst && { worst: { ...worst, measured: orNull(worst.measured, conversion) } }),
    ...(alarm.text !== undefined && { text: said(alarm.text) }),
    ...(newest && {
      newest: {
        ...newest,
        measured: orNull(newest.measured, conversion),
        limit: orNull(newest.limit, conversion),
        text: said(newest.text),
      },
    }),
  };
}

export function findingAsRead<T extends MeasuredFinding>(finding: T, wanted: ReadUnits): T {
  const conversion = scaleOf(finding.unit, wanted);
  return {
    ...finding,
    unit: conversion?.unit ?? finding.unit,
    level: converted(finding.level, conversion),
    limit: converted(finding.limit, conversion),
    text: textAsRead(finding.text, wanted),
    evidence: finding.evidence.map((line) => {
      const own = scaleOf(line.unit, wanted);
      // The table says the detection of all its lines.
      const unit = own?.unit.replace(/ RMS$/, "") ?? line.unit;
      return { ...line, unit, amplitude: converted(line.amplitude, own) };
    }),
  };
}
