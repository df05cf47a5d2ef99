import uPlot from "uplot";
import type { ChartSeries, ChartSpec } from "./chart-spec.ts";
import { colour } from "./theme.ts";

const STEP = uPlot.paths.stepped?.({ align: 1 }) ?? null;

export function tickText(value: number | null): string {
  if (value === null) return "";
  const size = Math.abs(value);
  if (size !== 0 && size < 0.001) return value.toExponential(0);
  return String(Number(value.toPrecision(6)));
}

/** A limit that is close to the values is shown, so that the distance is visible. */
const NEAR = 1.6;

export function yRange(
  min: number | null,
  max: number | null,
  spec: ChartSpec,
): uPlot.Range.MinMax {
  let low = min ?? 0;
  let high = max ?? 1;
  const reach = NEAR * Math.max(Math.abs(low), Math.abs(high));
  for (const { y } of spec.levels ?? []) {
    if (y > high && y <= reach) high = y;
    if (y < low && y >= low - 0.6 * Math.abs(low)) low = y;
  }
  if (spec.fromZero === true) return [0, high <= 0 ? 1 : high * 1.08];
  const space = (high - low || Math.abs(high) || 1) * 0.08;
  return [low - space, high + space];
}

export function dataOf({ x, series }: ChartSpec): uPlot.AlignedData {
  const columns: (readonly (number | null | undefined)[])[] = [x];
  for (const { values, low, high } of series) {
    columns.push(values);
    if (low !== undefined && high !== undefined) columns.push(high, low);
  }
  return columns as uPlot.AlignedData;
}

/** Single points between gaps, where the others are too close to be drawn; null: all that are shown anyway. */
function isolated(plot: uPlot, series: number, isShown: boolean): number[] | null {
  if (isShown) return null;
  const values = plot.data[series] ?? [];
  const drawn: number[] = [];
  let lineLength = 0;
  let last = -1;
  const end = (): void => {
    if (lineLength === 1) drawn.push(last);
    lineLength = 0;
  };
  for (const [at, value] of values.entries()) {
    if (value === null) end();
    else if (value !== undefined) {
      lineLength += 1;
      last = at;
    }
  }
  end();
  return drawn;
}

export function seriesOptions({
  label,
  colour: name,
  look,
  dash,
  low,
}: ChartSeries): uPlot.Series[] {
  const stroke = colour(name);
  const isPoints = look === "points";
  const own: uPlot.Series = {
    label,
    stroke,
    width: 1.6,
    ...(dash && { dash: [...dash] }),
    ...(look === "steps" && STEP !== null && { paths: STEP }),
    ...((isPoints || look === "none") && { paths: () => null }),
    points:
      look === "none"
        ? { show: false }
        : isPoints
          ? { show: true, size: 8, width: 2, fill: colour("card") }
          : { size: 5, filter: isolated },
  };
  if (low === undefined) return [own];
  const edge: uPlot.Series = { stroke: "transparent", width: 0, points: { show: false } };
  return [own, { ...edge, label: `${label} max` }, { ...edge, label: `${label} min` }];
}

export function bandsOf({ series }: ChartSpec): uPlot.Band[] {
  const bands: uPlot.Band[] = [];
  let column = 1;
  for (const { low, look, colour: name } of series) {
    if (low !== undefined && look !== "none") {
      bands.push({ series: [column + 1, column + 2], fill: `${colour(name)}33` });
    }
    column += low === undefined ? 1 : 3;
  }
  return bands;
}
