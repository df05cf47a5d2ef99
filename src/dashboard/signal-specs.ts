/** What the plots of a measurement show. */
import type { ApiSpectrum, ApiWaveform } from "./api.ts";
import type { ChartMark, ChartSpec } from "./chart.ts";
import { number } from "./format.ts";

const HARMONICS = 5;
const CPM_PER_HZ = 60;

export function waveformSpec(wave: ApiWaveform): ChartSpec {
  const { values, step, firstIndex, label, axis } = wave;
  // Milliseconds: the whole record is a second or so.
  const x = Array.from(values, (_, i) => (i + firstIndex) * step * 1000);
  const { rms, peak } = sizes(values);
  const size = `RMS ${number(rms)} ${label}, peak ${number(peak)} ${label}`;
  return {
    x,
    xLabel: "Time (ms)",
    yLabel: label,
    zone: null,
    series: [{ label: axis, colour: "series-1", values: Array.from(values) }],
    summary: `Waveform of axis ${axis}, ${values.length} samples, ${size}.`,
    readout: (index) =>
      `${number(x[index] ?? 0)} ms   ${number(values[index] ?? 0)} ${label}   (${size})`,
  };
}

function sizes(values: Float32Array): { readonly rms: number; readonly peak: number } {
  let sum = 0;
  let peak = 0;
  for (const value of values) {
    sum += value * value;
    peak = Math.max(peak, Math.abs(value));
  }
  return { rms: values.length === 0 ? 0 : Math.sqrt(sum / values.length), peak };
}

export interface SpectrumView {
  readonly isCpm: boolean;
  readonly speedHz: number | null;
  readonly isLog: boolean;
  /** Upper end of the view in multiples of the speed; null shows all lines. */
  readonly orders: number | null;
}

export function spectrumSpec(spectrum: ApiSpectrum, view: SpectrumView): ChartSpec {
  const { values, step, label, axis, peaks } = spectrum;
  const scale = view.isCpm ? CPM_PER_HZ : 1;
  const unit = view.isCpm ? "CPM" : "Hz";
  const x = Array.from(values, (_, i) => i * step * scale);
  const endHz = step * values.length;
  // A logarithm knows no zero; the suppressed lines below the band are left out.
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
    series: [{ label: axis, colour: "series-1", values: y }],
    marks: harmonics(view, endHz),
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
      return `${frequency(hz, view.isCpm)} ${unit}${order}   ${number(values[index] ?? 0)} ${label}`;
    },
  };
}

function harmonics({ isCpm, speedHz }: SpectrumView, endHz: number): ChartMark[] {
  if (speedHz === null) return [];
  const marks: ChartMark[] = [];
  for (let n = 1; n <= HARMONICS && n * speedHz < endHz; n++) {
    marks.push({
      x: n * speedHz * (isCpm ? CPM_PER_HZ : 1),
      label: `${n}x`,
      colour: "series-2",
    });
  }
  return marks;
}

/** Interpolated between lines, so more digits than the line spacing has. */
export function frequency(hz: number, isCpm: boolean): string {
  return isCpm ? (hz * CPM_PER_HZ).toFixed(1) : hz.toFixed(2);
}
