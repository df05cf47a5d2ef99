/** Specifications of the plots of a measurement. */
import {
  type FrequencyScale,
  frequencyScale,
  type ReadUnits,
  signalUnitAsRead,
} from "../core/read-units.ts";
import type { ChartMark, ChartSpec } from "./chart-spec.ts";
import { number } from "./format.ts";
import type { SpectrumSeries, WaveformSeries } from "./series.ts";
import { type CursorKind, spectrumCursor } from "./spectrum-cursor.ts";
import type { MarkerLine } from "./spectrum-markers.ts";

/** Speeds that differ by more are compared over orders. */
const SPEED_TOLERANCE = 0.02;

export function waveformSpec(wave: WaveformSeries): ChartSpec {
  const { values, step, firstIndex, axis } = wave;
  const label = signalUnitAsRead(wave.label);
  // Milliseconds: the whole record is about a second long.
  const x = Array.from(values, (_, i) => (i + firstIndex) * step * 1000);
  const size = sizeWords(wave);
  return {
    x,
    xLabel: "Time (ms)",
    yLabel: label,
    fileLabel: wave.label,
    zone: null,
    series: [{ label: axis, colour: "series-1", values: Array.from(values) }],
    file: `waveform ${axis} ${new Date(wave.timeMs).toISOString().slice(0, 19)}`,
    summary: `Waveform of axis ${axis}, ${values.length} samples, ${size}.`,
    readout: (index) =>
      `${number(x[index] ?? 0)} ms   ${number(values[index] ?? 0)} ${label}   (${size})`,
  };
}

/** The published overall value: an integrated waveform lacks its ends, so its RMS would differ. */
function sizeWords({ values, overall, label: unit }: WaveformSeries): string {
  const label = signalUnitAsRead(unit);
  const peak = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const shown = `peak shown ${number(peak)} ${label}`;
  if (overall === null) return shown;
  const detection = overall.detection === "pp" ? "peak-to-peak" : "RMS";
  return `overall ${number(overall.value)} ${label} ${detection}, ${shown}`;
}

export interface SpectrumView {
  readonly frequencyIn: ReadUnits["frequency"];
  readonly speedHz: number | null;
  readonly isLog: boolean;
  readonly markers: readonly MarkerLine[];
  readonly cursor: CursorKind;
  /** Pinned from the start, Hz: the line of a finding. */
  readonly heldHz?: number | null;
  /** Time and speed of the measurement, where another one is drawn over it. */
  readonly name?: string;
  /** Another measurement, drawn over it. */
  readonly other: {
    readonly label: string;
    readonly spectrum: SpectrumSeries;
    /** Measured; null while unknown. */
    readonly speedHz: number | null;
  } | null;
  /** Upper end of the view in multiples of the speed; null shows all lines. */
  readonly orders: number | null;
}

export function spectrumSpec(spectrum: SpectrumSeries, view: SpectrumView): ChartSpec {
  const { values, step, axis, peaks } = spectrum;
  const label = signalUnitAsRead(spectrum.label);
  const ratio = speedRatio(view);
  const {
    axis: xLabel,
    perHz,
    words,
    unit,
  }: FrequencyScale = frequencyScale(ratio === null ? view.frequencyIn : "orders", view.speedHz);
  const other = view.other && onLinesOf(spectrum, view.other.spectrum, ratio ?? 1, view.isLog);
  const x = Array.from(values, (_, i) => i * step * perHz);
  const endHz = step * values.length;
  // A logarithm has no zero; the suppressed lines below the band are left out.
  const y = Array.from(values, (value) => (view.isLog && value <= 0 ? null : value));
  const first = peaks[0];
  const top =
    first === undefined
      ? ""
      : `, highest ${number(first.amplitude)} ${label} at ${words(first.frequencyHz)}`;
  return {
    x,
    xLabel,
    xPerUnit: perHz,
    yLabel: `${label} peak`,
    fileLabel: `${spectrum.label} peak`,
    zone: null,
    series: [
      { label: view.other === null ? axis : (view.name ?? axis), colour: "series-1", values: y },
      ...(view.other === null || other === null
        ? []
        : [{ label: view.other.label, colour: "series-2", dash: [4, 2], values: other }]),
    ],
    marks: marksOf(view, endHz, perHz),
    cursor: spectrumCursor(view.cursor, (at) => words(at / perHz)),
    ...(view.heldHz !== undefined && {
      held: view.heldHz === null ? null : lineAt(view.heldHz, step) * step * perHz,
    }),
    file: `spectrum ${axis} ${new Date(spectrum.timeMs).toISOString().slice(0, 19)}`,
    ...(view.orders !== null &&
      view.speedHz !== null && {
        view: [0, Math.min(endHz, view.orders * view.speedHz) * perHz] as const,
      }),
    fromZero: true,
    isLog: view.isLog,
    summary: `Spectrum of axis ${axis}${top}.`,
    readout: (index) => {
      const hz = index * step;
      const isOrder = unit === "orders" || view.speedHz === null;
      const order = isOrder ? "" : `   ${(hz / (view.speedHz ?? 1)).toFixed(2)}x`;
      const beside =
        view.other === null
          ? ""
          : `   ${view.other.label}: ${number(valueAt(view.other.spectrum, hz * (ratio ?? 1)))}`;
      return `${words(hz)}${order}   ${number(values[index] ?? 0)} ${label}${beside}`;
    },
  };
}

/** The other's speed over this one's, where both are known and they differ; null: over frequency. */
function speedRatio({ other, speedHz, frequencyIn }: SpectrumView): number | null {
  const same = frequencyIn === "orders" && speedHz !== null ? 1 : null;
  if (other === null || other.speedHz === null || speedHz === null) return same;
  const ratio = other.speedHz / speedHz;
  return ratio > 0 && Math.abs(ratio - 1) > SPEED_TOLERANCE ? ratio : same;
}

function marksOf({ markers }: SpectrumView, endHz: number, scale: number): ChartMark[] {
  return markers
    .filter(({ hz }) => hz > 0 && hz < endHz)
    .sort((one, two) => one.hz - two.hz)
    .map(({ hz, label }) => ({ x: hz * scale, label, colour: "series-2" }));
}

const lineAt = (hz: number, step: number) => (step > 0 ? Math.round(hz / step) : 0);

function valueAt({ values, step }: SpectrumSeries, hz: number): number {
  return values[lineAt(hz, step)] ?? 0;
}

/**
 * The other's largest line near each line of the first: if it is finer, no peak falls between two.
 * @param ratio of the speeds
 */
function onLinesOf(
  { values, step }: SpectrumSeries,
  other: SpectrumSeries,
  ratio: number,
  isLog: boolean,
): (number | null)[] {
  return Array.from(values, (_, i) => {
    const from = lineAt((i - 0.5) * step * ratio, other.step);
    const to = Math.max(from + 1, lineAt((i + 0.5) * step * ratio, other.step));
    let most = -1;
    for (let k = Math.max(0, from); k < to; k++) most = Math.max(most, other.values[k] ?? -1);
    return most < 0 || (isLog && most === 0) ? null : most;
  });
}

type ShownPeak = SpectrumSeries["peaks"][number];
export type PeakOrder = "frequency" | "amplitude";

/** Sorted by the displayed value, which is not always the order in which the lines were found. */
export function sortedPeaks(
  peaks: readonly ShownPeak[],
  by: PeakOrder,
  isUp: boolean,
): ShownPeak[] {
  const of = (peak: ShownPeak) => (by === "frequency" ? peak.frequencyHz : peak.amplitude);
  return [...peaks].sort((a, b) => (isUp ? of(a) - of(b) : of(b) - of(a)));
}
