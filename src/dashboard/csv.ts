import { csvField } from "../core/csv.ts";
import type { ChartSpec } from "./chart-spec.ts";

/** RFC 4180. Times are UTC; a missing value is an empty field. */
export function csvOf({ x, xLabel, zone, series, yLabel }: ChartSpec): string {
  const columns = series.flatMap(({ label, values, low, high }) => [
    { name: label, values },
    ...(low === undefined ? [] : [{ name: `${label} lowest`, values: low }]),
    ...(high === undefined ? [] : [{ name: `${label} highest`, values: high }]),
  ]);
  const head = [
    zone === null ? xLabel : "Time (UTC)",
    ...columns.map(({ name }) => (yLabel === "" ? name : `${name}, ${yLabel}`)),
  ];
  const rows = x.map((at, i) => [
    zone === null ? at : new Date(Math.round(at * 1000)).toISOString(),
    ...columns.map(({ values }) => values[i]),
  ]);
  return [head, ...rows]
    .map((row) => `${row.map((field) => csvField(field)).join(",")}\r\n`)
    .join("");
}
