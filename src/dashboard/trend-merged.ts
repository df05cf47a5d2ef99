/** Trends of several sensors as one: their values are named with the sensor, and drawn on the scale of one unit. */
import type { ShownSensor, Trend } from "../core/query/shown.ts";
import { unitSign } from "./format.ts";
import { sensorName } from "./sensor-filter.ts";
import type { TrendGroup } from "./trend-groups.ts";

/** Merges the responses of several sensors: each value is then named with its sensor as well. */
export function mergedTrend(trends: readonly (readonly [string, Trend])[]): Trend | null {
  const [first] = trends;
  if (first === undefined) return null;
  const series: Record<string, Trend["series"][string]> = {};
  for (const [code, trend] of trends) {
    for (const [name, one] of Object.entries(trend.series)) series[`${code} ${name}`] = one;
  }
  return {
    ...first[1],
    series,
    bucketMs: Math.max(...trends.map(([, { bucketMs }]) => bucketMs)),
    readings: trends.reduce((sum, [, { readings }]) => sum + readings, 0),
  };
}

/** The unit is that of the answer: the one remembered beside it may be of before a change. */
export function inUnitOf(group: TrendGroup, { series }: Trend): TrendGroup {
  const [unit] = group.values.flatMap(({ name }) => series[name] ?? []).map((one) => one.unit);
  return unit === undefined ? group : { ...group, unit: unitSign(unit) };
}

/** The values of several sensors under the names of mergedTrend. */
export function mergedGroup(
  all: readonly { readonly sensor: ShownSensor | undefined; readonly group: TrendGroup }[],
  own: string,
): TrendGroup {
  const values = all.flatMap(({ sensor, group }) =>
    group.values.map(({ name, label }) => ({
      name: `${sensor?.code ?? own} ${name}`,
      label: `${sensor === undefined ? own : sensorName(sensor)} ${label}`,
    })),
  );
  const [first] = all;
  if (first === undefined) throw new Error("nothing to merge");
  return { ...first.group, values };
}
