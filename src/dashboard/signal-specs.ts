/** Specifications of the plots of a measurement. */
import type { ApiSpectrum, ApiWaveform } from "./api.ts";
import type { ChartMark, ChartSpec } from "./chart-spec.ts";
import { number } from "./format.ts";
import { type CursorKind, spectrumCursor } from "./spectrum-cursor.ts";
import type { MarkerLine } from "./spectrum-markers.ts";

const CPM_PER_HZ = 60;

export function waveformSpec(wave: ApiWaveform): ChartSpec {
  const { values, step, firstIndex, label, axis } = wave;
  // Milliseconds: the whole record is about a second long.
  const x = Array.from(values, (_, i) => (i + firstIndex) * step * 1000);
  const size = sizeWords(wave);
  return {
    x,
    xLabel: "Time (ms)",
    yLabel: label,
    zone: null,
    series: [{ label: axis, colour: "series-1", values: Array.from(values) }],
    file: `waveform ${axis} ${new Date(wave.timeMs).toISOString().slice(0, 19)}`,
    summary: `Waveform of axis ${axis}, ${values.length} samples, ${size}.`,
    readout: (index) =>
      `${number(x[index] ?? 0)} ms   ${number(values[index] ?? 0)} ${label}   (${size})`,
  };
}

/** The published overall value: an integrated waveform lacks its ends, so its RMS would differ. */
function sizeWords({ values, overall, label }: ApiWaveform): string {
  const peak = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const shown = `peak shown ${number(peak)} ${label}`;
  if (overall === null) return shown;
  const detection = overall.detection === "pp" ? "peak-to-peak" : "RMS";
  return `overall ${number(overall.value)} ${label} ${detection}, ${shown}`;
}

export interface SpectrumView {
  readonly isCpm: boolean;
  readonly speedHz: number | null;
  readonly isLog: boolean;
  readonly markers: readonly MarkerLine[];
  readonly cursor: CursorKind;
  /** Pinned from the start, Hz: the line of a finding. */
  readonly heldHz?: number | null;
  /** Another measurement, drawn over it. */
  readonly other: { readonly label: string; readonly spectrum: ApiSpectrum } | null;
  /** Upper end of the view in multiples of the speed; null shows all lines. */
  readonly orders: number | null;
}

export function spectrumSpec(spectrum: ApiSpectrum, view: SpectrumView): ChartSpec {
  const { values, step, label, axis, peaks } = spectrum;
  const scale = view.isCpm ? CPM_PER_HZ : 1;
  const unit = view.isCpm ? "CPM" : "Hz";
  const x = Array.from(values, (_, i) => i * step * scale);
  const endHz = step * values.length;
  // A logarithm has no zero; the suppressed lines below the band are left out.
  const y = Array.from(values, (value) => (view.isLog && value <= 0 ? null : value));
  const first = peaks[0];
  const top =
    first === undefined
      ? ""
      : `, highest ${number(first.amplitude)} ${label} at ${frequency(first.frequencyHz, view.isCpm)} ${unit}`;
  return {
    x,
    xLabel: `Frequency (${unit})`,
    yLabel: `${label} peak`,
    zone: null,
    series: [
      { label: view.other === null ? axis : "this measurement", colour: "series-1", values: y },
      ...(view.other === null
        ? []
        : [
            {
              label: view.other.label,
              colour: "series-2",
              dash: [4, 2],
              values: onLinesOf(spectrum, view.other.spectrum, view.isLog),
            },
          ]),
    ],
    marks: marksOf(view, endHz),
    cursor: spectrumCursor(view.cursor, (at) => `${frequency(at / scale, view.isCpm)} ${unit}`),
    ...(view.heldHz !== undefined && {
      held: view.heldHz === null ? null : lineAt(view.heldHz, step) * step * scale,
    }),
    file: `spectrum ${axis} ${new Date(spectrum.timeMs).toISOString().slice(0, 19)}`,
    ...(view.orders !== null &&
      view.speedHz !== null && {
        view: [0, Math.min(endHz, view.orders * view.speedHz) * scale] as const,
      }),
    fromZero: true,
    isLog: view.isLog,
    summary: `Spectrum of axis ${axis}${top}.`,
    readout: (index) => {
      const hz = index * step;
      const order = view.speedHz === null ? "" : `   ${(hz / view.speedHz).toFixed(2)}x`;
      const beside =
        view.other === null
          ? ""
          : `   ${view.other.label}: ${number(valueAt(view.other.spectrum, hz))}`;
      return `${frequency(hz, view.isCpm)} ${unit}${order}   ${number(values[index] ?? 0)} ${label}${beside}`;
    },
  };
}

function marksOf({ isCpm, markers }: SpectrumView, endHz: number): ChartMark[] {
  return markers
    .filter(({ hz }) => hz > 0 && hz < endHz)
    .sort((one, two) => one.hz - two.hz)
    .map(({ hz, label }) => ({ x: hz * (isCpm ? CPM_PER_HZ : 1), label, colour: "series-2" }));
}

const lineAt = (hz: number, step: number) => (step > 0 ? Math.round(hz / step) : 0);

function valueAt({ values, step }: ApiSpectrum, hz: number): number {
  return values[lineAt(hz, step)] ?? 0;
}

/** The other's largest line near each line of the first: if it is finer, no peak falls between two. */
function onLinesOf(
  { values, step }: ApiSpectrum,
  other: ApiSpectrum,
  isLog: boolean,
): (number | null)[] {
  return Array.from(values, (_, i) => {
    const from = lineAt((i - 0.5) * step, other.step);
    const to = Math.max(from + 1, lineAt((i + 0.5) * step, other.step));
    let most = -1;
    for (let k = Math.max(0, from); k < to; k++) most = Math.max(most, other.values[k] ?? -1);
    return most < 0 || (isLog && most === 0) ? null : most;
  });
}

/** Interpolated between lines, so it has more digits than the line spacing. */
export function frequency(hz: number, isCpm: boolean): string {
  return isCpm ? (hz * CPM_PER_HZ).toFixed(1) : hz.toFixed(2);
}

type Peak = ApiSpectrum["peaks"][number];
export type PeakOrder = "frequency" | "amplitude";

/** Sorted by the displayed value, which is not always the order in which the lines were found. */
export function sortedPeaks(peaks: readonly Peak[], by: PeakOrder, isUp: boolean): Peak[] {
  const of = (peak: Peak) => (by === "frequency" ? peak.frequencyHz : peak.amplitude);
  return [...peaks].sort((a, b) => (isUp ? of(a) - of(b) : of(b) - of(a)));
}
