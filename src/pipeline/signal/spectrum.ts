/** Amplitude and power spectra, and their peaks (signal-definitions 4; Heinzel, Rüdiger, Schilling 2002, ch. 8–11). */

import type { Doubt } from "../../core/quality.ts";
import { GE_UNIT, type SignalUnit } from "../../core/unit.ts";
import type { AxisOptions, Bands } from "./bands.ts";
import { checkRecord } from "./checks.ts";
import { envelopeSignal } from "./envelope.ts";
import { DftPlans } from "./fft.ts";
import { multiplicity } from "./line-power.ts";
import { meanFree } from "./time-waveform.ts";
import { integrationsOf, unitScale } from "./unit-scale.ts";
import { hann, hannGain } from "./window.ts";

/** How a line's amplitude is expressed: zero-to-peak, RMS (1/sqrt(2) of it) or peak-to-peak (twice). */
export type Detection = "peak" | "rms" | "pp";

const DETECTION_FACTORS: Readonly<Record<Detection, number>> = {
  peak: 1,
  rms: Math.SQRT1_2,
  pp: 2,
};

export interface Spectrum {
  /** Lines 0..floor(N/2) (GE: to the envelope's low-pass), in the requested unit. Empty if the quality is bad. */
  readonly amplitudes: Float64Array;
  /** Line spacing, Hz; 0 if there are no lines. */
  readonly stepHz: number;
  readonly unit: SignalUnit;
  readonly detection: Detection;
  readonly doubt: Doubt | null;
}

/** Single-sided spectrum of one axis, Hann window, window gain corrected: a tone of amplitude A on a line reads A. */
export function spectrum(
  samples: Int16Array,
  options: AxisOptions,
  unit: SignalUnit,
  detection: Detection = "peak",
): Spectrum {
  const { doubts, facts, bands } = checkRecord(samples, options);
  const doubt = unit === GE_UNIT ? doubts.envelope : doubts.accel;
  if (facts === null || bands === null || doubt?.quality === "bad") {
    return { amplitudes: new Float64Array(0), stepHz: 0, unit, detection, doubt };
  }
  const { calibration, sampleRateHz, plans = new DftPlans() } = options;
  const isEnvelope = unit === GE_UNIT;
  const signal = isEnvelope
    ? envelopeSignal(plans, samples, facts.mean, bands, options)
    : meanFree(samples, facts.mean, calibration);
  const lines = amplitudeSpectrum(signal, plans);
  const stepHz = sampleRateHz / signal.length;
  const amplitudes = isEnvelope ? lines.slice(0, bands.envLines + 1) : lines;
  scaleLines(amplitudes, stepHz, bands, unit, DETECTION_FACTORS[detection]);
  return { amplitudes, stepHz, unit, detection, doubt };
}

/** A[k] = m·|Y[k]|/S1, zero-to-peak, in the unit of `signal`; k = 0..floor(N/2). */
export function amplitudeSpectrum(signal: Float64Array, plans: DftPlans): Float64Array {
  const { squares, s1 } = windowedSquares(signal, plans);
  return squares.map((square, k) => (multiplicity(k, signal.length) * Math.sqrt(square)) / s1);
}

/** |Y[k]|², Y = DFT of the signal under the Hann window, k = 0..floor(N/2). */
function windowedSquares(signal: Float64Array, plans: DftPlans) {
  const size = signal.length;
  const { weights, s1, s2 } = hann(size);
  const plan = plans.complex(size);
  for (let n = 0; n < size; n++) {
    plan.input[2 * n] = (signal[n] ?? 0) * (weights[n] ?? 0);
    plan.input[2 * n + 1] = 0;
  }
  plan.run();
  const squares = new Float64Array(Math.floor(size / 2) + 1);
  for (let k = 0; k < squares.length; k++) {
    const re = plan.output[2 * k] ?? 0;
    const im = plan.output[2 * k + 1] ?? 0;
    squares[k] = re * re + im * im;
  }
  return { squares, s1, s2 };
}

/** From G (or GE) to the unit, in place. Units 2..5 are integrated by 1/w or 1/w² and high-passed below lineMin. */
function scaleLines(
  lines: Float64Array,
  stepHz: number,
  bands: Bands,
  unit: SignalUnit,
  factor: number,
): void {
  const integrations = integrationsOf(unit);
  const scale = factor * unitScale(unit);
  for (let k = 0; k < lines.length; k++) {
    const w = 2 * Math.PI * k * stepHz;
    const isCut = integrations > 0 && k < bands.lineMin;
    lines[k] = isCut ? 0 : ((lines[k] ?? 0) * scale) / w ** integrations;
  }
}

export interface Peak {
  readonly line: number;
  /** Of the line itself. */
  readonly frequencyHz: number;
  readonly amplitude: number;
  /** Of the tone between the lines; equal to the line's near the ends of the spectrum. */
  readonly toneFrequencyHz: number;
  readonly toneAmplitude: number;
}

const PEAKS_MAX = 5;
/** Lines below this share of the largest are not peaks. */
const PEAK_SHARE_MIN = 0.05;

/** The five largest local maxima from line 1 on, largest first. */
export function spectrumPeaks({
  amplitudes,
  stepHz,
}: Pick<Spectrum, "amplitudes" | "stepHz">): Peak[] {
  const at = (k: number) => amplitudes[k] ?? Number.NEGATIVE_INFINITY;
  let largest = 0;
  for (let k = 1; k < amplitudes.length; k++) largest = Math.max(largest, at(k));
  const lines: number[] = [];
  for (let k = 1; k < amplitudes.length; k++) {
    const isPeak = at(k) > at(k - 1) && at(k) >= at(k + 1);
    if (isPeak && at(k) >= PEAK_SHARE_MIN * largest) lines.push(k);
  }
  lines.sort((a, b) => at(b) - at(a));
  return lines.slice(0, PEAKS_MAX).map((line) => interpolated(amplitudes, line, stepHz));
}

/**
 * Two-line interpolation under the Hann window (Grandke 1983), exact for one tone: with q the ratio of the larger
 * neighbour, the tone lies d = (2q-1)/(1+q) lines towards it and the line shows sin(πd)/(πd·(1-d²)) of it.
 */
function interpolated(amplitudes: Float64Array, line: number, stepHz: number): Peak {
  const amplitude = amplitudes[line] ?? 0;
  const frequencyHz = line * stepHz;
  const peak = { line, frequencyHz, amplitude };
  if (line < 2 || line > amplitudes.length - 3) {
    return { ...peak, toneFrequencyHz: frequencyHz, toneAmplitude: amplitude };
  }
  const below = amplitudes[line - 1] ?? 0;
  const above = amplitudes[line + 1] ?? 0;
  const side = above > below ? 1 : -1;
  const q = Math.max(above, below) / amplitude;
  const d = Math.max(0, (2 * q - 1) / (1 + q));
  return {
    ...peak,
    toneFrequencyHz: (line + side * d) * stepHz,
    toneAmplitude: amplitude * hannGain(d),
  };
}
