/** Specification of a trend plot: lines with their range, or the states of contacts. */
import { type ContactSpan, contactShare, contactSpans } from "../core/drawing/contact-spans.ts";
import type { Trend } from "../core/query/shown.ts";
import { unitInFiles } from "../core/read-units.ts";
import type { ChartSeries, ChartSpec } from "./chart-spec.ts";
import { number, unitSign, type ZoneTimes } from "./format.ts";
import { alignTrend, type TrendColumn } from "./trend-data.ts";
import type { TrendGroup } from "./trend-groups.ts";

/** Colours repeat after four lines, dashes after five: no two of twenty are alike. */
const DASHES: readonly (readonly number[])[] = [[], [7, 3], [2, 3], [9, 3, 2, 3], [12, 4]];

/** @param cadenceMs 0 if it is unknown */
export function trendSpec(
  group: TrendGroup,
  trend: Trend,
  times: ZoneTimes,
  cadenceMs: number,
): ChartSpec {
  const names = group.values.map(({ name }) => name);
  const { x, columns } = alignTrend(trend, names, cadenceMs);
  const series = seriesOf(group, columns);
  const lanes = group.isContact
    ? group.values.map(({ name, label }) => ({
        label,
        spans: contactSpans(trend.series[name], trend.bucketMs, trend.toMs).map(inSeconds),
      }))
    : undefined;
  return {
    x,
    xLabel: `Time, ${times.name(trend.toMs)}`,
    yLabel: labelled(group.label, group.unit),
    fileLabel: labelled(group.label, isVibration(group) ? unitInFiles(group.unit) : group.unit),
    zone: times.zone,
    series,
    range: [trend.fromMs / 1000, trend.toMs / 1000],
    ...(lanes !== undefined && { lanes }),
    summary: trendSummary(group, trend, times),
    readout: (index) =>
      `${times.full((x[index] ?? 0) * 1000)}   ${series
        .map((one) => readoutOf(one, group, index))
        .filter((text) => text !== "")
        .join("   ")}`,
  };
}

const inSeconds = ({ from, to, state }: ContactSpan) => ({
  from: from / 1000,
  to: to / 1000,
  state,
});
const labelled = (label: string, unit: string) => (unit === "" ? label : `${label} (${unit})`);
const isVibration = ({ kind }: TrendGroup) => kind === "accel" || kind === "bands";

function seriesOf(group: TrendGroup, columns: readonly TrendColumn[]): ChartSeries[] {
  const series: ChartSeries[] = [];
  for (const [i, { label }] of group.values.entries()) {
    const column = columns[i];
    if (column === undefined) continue;
    const dash = DASHES[i % DASHES.length];
    series.push({
      label,
      colour: `series-${(i % 4) + 1}`,
      values: column.mean,
      low: column.min,
      high: column.max,
      ...(group.isContact && { look: "none" as const }),
      ...(dash && dash.length > 0 && { dash }),
    });
  }
  const doubtful = columns[0]?.doubtful;
  if (!group.isContact && doubtful?.some((value) => typeof value === "number")) {
    series.push({ label: "uncertain", colour: "warn", values: doubtful, look: "points" });
  }
  return series;
}

function readoutOf(
  { label, values, low: lows, high: highs }: ChartSeries,
  { unit, isContact }: TrendGroup,
  index: number,
): string {
  const [mean, low, high] = [values[index], lows?.[index], highs?.[index]];
  if (mean === null || mean === undefined || label === "uncertain") return "";
  if (isContact) return `${label}: ${low === high ? (mean > 0.5 ? "yes" : "no") : "changed"}`;
  const isSpread = typeof low === "number" && typeof high === "number" && low !== high;
  const spread = isSpread ? ` (${number(low)} … ${number(high)})` : "";
  return `${label} ${number(mean)}\u00a0${unit}${spread}`;
}

/** Values in another unit cannot be drawn on the same scale. */
function formerWords(
  { unit, timesMs, min, max }: Trend["series"][string]["formerly"][number],
  toMs: number,
  times: ZoneTimes,
): string {
  const sign = unit === null ? "" : `\u00a0${unitSign(unit)}`;
  const until = times.full(timesMs.at(-1) ?? toMs);
  return `until ${until} in another unit and not drawn, ${number(Math.min(...min))} to ${number(Math.max(...max))}${sign}`;
}

function trendSummary(group: TrendGroup, trend: Trend, times: ZoneTimes): string {
  const parts = group.values.map(({ name, label }) => {
    const series = trend.series[name];
    if (series === undefined) return "";
    if (group.isContact) return contactWords(label, series, trend);
    const [low, high] = [Math.min(...series.min), Math.max(...series.max)];
    const formerly = series.formerly.map((one) => formerWords(one, trend.toMs, times));
    return [`${label}: ${number(low)} to ${number(high)} ${group.unit}`, ...formerly].join("; ");
  });
  const shown = parts.filter((part) => part !== "").join(", ");
  const formers = (trend.formerSensors ?? [])
    .map(({ sensor, untilMs }) => ` Until ${times.full(untilMs)} readings of sensor ${sensor}.`)
    .join("");
  const from = trend.readings === 1 ? "1 reading" : `${trend.readings} readings`;
  const by = { readings: "", hours: ", by UTC hours", days: ", by UTC days" }[trend.resolution];
  return `${group.label} from ${from}${by}. ${shown === "" ? "" : `${shown}.`}${formers}`;
}

/** A bucket with both states counts by its mean. */
function contactWords(label: string, series: Trend["series"][string], trend: Trend): string {
  const { known, on } = contactShare(series, trend.bucketMs, trend.toMs);
  const share = known === 0 ? 0 : on / known;
  return `${label}: yes for ${Math.round(100 * share)} % of the time`;
}
