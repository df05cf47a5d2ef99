/** What a waterfall shows, in words and figures: of one spectrum, and of its highest lines. */
import type { ShownMeasurement } from "../core/query/shown.ts";
import { type FrequencyScale, frequencyScale, type ReadUnits } from "../core/read-units.ts";
import { h, replace } from "./dom.ts";
import { number } from "./format.ts";
import type { FallSpectrum } from "./series.ts";
import { lineName, type MarkerLine, turningRpm, turningWords } from "./spectrum-markers.ts";
import { fallPeaks } from "./waterfall-paint.ts";

const PEAKS = 10;

export interface WaterfallView {
  readonly unit: number;
  readonly channel: number;
  /** Highest displayed multiple of the speed; null shows all. */
  readonly orders: number | null;
  readonly frequencyIn: ReadUnits["frequency"];
  /** Of spectra without a measured one; null while unknown. */
  readonly speedHz: number | null;
  /** Shown beside it: its row is the selected one. */
  readonly selected: ShownMeasurement | null;
  /** Of the machine's parts, Hz at a speed, for the names of peaks. */
  readonly lines?: (speedHz: number | null) => readonly MarkerLine[];
}

/** How the rows are read. */
export interface FallReading {
  /** Unit of the amplitudes. */
  readonly label: string;
  /** Of spectra without a measured one; null while unknown. */
  readonly speedHz: number | null;
  scaleOf(row: FallSpectrum): FrequencyScale;
  /** Of the machine's parts, Hz. */
  lines(speedHz: number | null): readonly MarkerLine[];
  timeOf(row: FallSpectrum): string;
}

/** Over orders, the speed of its own time puts a part at the same place in each spectrum. */
export function fallScale(
  row: FallSpectrum,
  rows: readonly FallSpectrum[],
  { frequencyIn, speedHz }: WaterfallView,
): FrequencyScale {
  const rpm = turningRpm(row);
  // One spectrum without any speed keeps all in Hz.
  const isUnknown = speedHz === null && rows.some((one) => one.speedRpm === null);
  return frequencyScale(
    frequencyIn === "orders" && isUnknown ? "Hz" : frequencyIn,
    rpm === null ? speedHz : rpm / 60,
  );
}

/** Where the axis ends, in its unit. */
export function axisEnd({ orders, speedHz }: WaterfallView, unit: FrequencyScale["unit"]): number {
  if (orders === null) return Number.POSITIVE_INFINITY;
  if (unit === "orders") return orders;
  if (speedHz === null) return Number.POSITIVE_INFINITY;
  return orders * speedHz * frequencyScale(unit, null).perHz;
}

/** Time, speed and highest line of one spectrum. */
export function rowWords(row: FallSpectrum, { label, scaleOf, timeOf }: FallReading): string {
  // A long record has more lines than a call takes arguments.
  const most = row.values.reduce((high, value) => Math.max(high, value), Number.NEGATIVE_INFINITY);
  const line = row.values.indexOf(most);
  const top =
    line < 0
      ? ""
      : `: highest ${number(row.values[line] ?? 0)} ${label} at ${scaleOf(row).words(line * row.step)}`;
  const words = turningWords(row);
  const speed = words === "" ? "" : `, ${words}`;
  return `${timeOf(row)}${speed}${row.running === false ? ", the machine stood" : ""}${top}.`;
}

/** The highest lines of all spectra as a table. */
export function showFallPeaks(
  table: HTMLElement,
  spectra: readonly FallSpectrum[],
  reading: FallReading,
): void {
  const rows = fallPeaks(spectra, PEAKS).map(({ row, line, amplitude }) => {
    const of = spectra[row];
    if (of === undefined) return null;
    const rpm = turningRpm(of);
    const speedHz = rpm === null ? reading.speedHz : rpm / 60;
    const hz = line * of.step;
    return h(
      "tr",
      null,
      h("td", null, reading.scaleOf(of).words(hz)),
      h("td", null, lineName(hz, of.step, reading.lines(speedHz)) ?? "–"),
      h("td", null, `${number(amplitude)} ${reading.label}`),
      h("td", null, reading.timeOf(of)),
    );
  });
  const heads = ["Frequency", "Line", "Amplitude", "Date"];
  replace(
    table,
    h("caption", null, "Its highest lines"),
    h("thead", null, h("tr", null, ...heads.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", null, ...rows),
  );
}
