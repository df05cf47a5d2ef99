import { csvField } from "../core/text/csv.ts";
import { wallClockMs } from "../core/time/time-zone.ts";
import type { ChartSpec } from "./chart-spec.ts";

/** The gateway's time, as spreadsheets read it, and UTC, which no change of clocks repeats. */
export const csvTimeHeads = (zone: string): readonly string[] =>
  zone === "UTC" ? ["Time (UTC)"] : [`Time (${zone})`, "Time (UTC)"];

export function csvTimes(ms: number, zone: string): readonly string[] {
  const utc = new Date(ms).toISOString();
  if (zone === "UTC") return [utc];
  const wall = new Date(wallClockMs(ms, zone)).toISOString();
  return [wall.slice(0, -1).replace("T", " "), utc];
}

/** RFC 4180. A missing value is an empty field. */
export function csvOf({ x, xLabel, zone, series, yLabel, fileLabel = yLabel }: ChartSpec): string {
  const columns = series.flatMap(({ label, values, low, high }) => [
    { name: label, values },
    ...(low === undefined ? [] : [{ name: `${label} lowest`, values: low }]),
    ...(high === undefined ? [] : [{ name: `${label} highest`, values: high }]),
  ]);
  const head = [
    ...(zone === null ? [xLabel] : csvTimeHeads(zone)),
    ...columns.map(({ name }) => (fileLabel === "" ? name : `${name}, ${fileLabel}`)),
  ];
  const rows = x.map((at, i) => [
    ...(zone === null ? [at] : csvTimes(Math.round(at * 1000), zone)),
    ...columns.map(({ values }) => values[i]),
  ]);
  return [head, ...rows]
    .map((row) => `${row.map((field) => csvField(field)).join(",")}\r\n`)
    .join("");
}
