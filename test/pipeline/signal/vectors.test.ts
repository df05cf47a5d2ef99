import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CPM_PER_HZ, MM_PER_INCH, type SignalUnit, UM_PER_MIL } from "../../../src/core/unit.ts";
import { type AxisAnalysis, analyseAxis } from "../../../src/pipeline/signal/analyse.ts";
import type { AxisOptions } from "../../../src/pipeline/signal/bands.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";
import { VELOCITY_LIMITS, zoneOf } from "../../../src/pipeline/signal/severity.ts";
import { type Peak, spectrum, spectrumPeaks } from "../../../src/pipeline/signal/spectrum.ts";
import { timeWaveform } from "../../../src/pipeline/signal/time-waveform.ts";

interface VectorPeak {
  readonly bin: number;
  readonly freq_hz: number;
  readonly amp_g?: number;
  readonly amp_ge?: number;
  readonly freq_interp_hz?: number;
  readonly amp_interp_g?: number;
}

interface Vector {
  readonly case: string;
  readonly axis: number;
  readonly sample_rate: number;
  readonly calibration: number;
  readonly channel: readonly number[];
  readonly truth: Readonly<Record<string, readonly [number, number]>>;
  readonly expected: Readonly<Record<string, number | null>> & {
    readonly spectrum_peaks?: readonly VectorPeak[];
    readonly ge_peaks?: readonly VectorPeak[];
    readonly top_line_units?: Readonly<Record<string, number>> | null;
    readonly twf?: Readonly<
      Record<
        string,
        {
          readonly rms: number;
          readonly samples: readonly (readonly [number, number])[];
          readonly first_sample?: number;
          readonly length?: number;
        }
      >
    >;
    readonly severity: Readonly<Record<keyof typeof VELOCITY_LIMITS, string | null>>;
    readonly flags: readonly string[];
    readonly quality: Readonly<Record<keyof AxisAnalysis["doubts"], string>>;
  };
  readonly tol: {
    readonly stats: readonly [number, number];
    readonly spectral: readonly [number, number];
    readonly twf_rel_to_rms: number;
  };
}

const plans = new DftPlans();
const lines = readFileSync(new URL("../../vectors/signal.jsonl", import.meta.url), "utf8");
const vectors = lines
  .trim()
  .split("\n")
  .map((line): Vector => JSON.parse(line));

for (const vector of vectors) {
  const samples = Int16Array.from(vector.channel);
  const options: AxisOptions = {
    sampleRateHz: vector.sample_rate,
    calibration: vector.calibration,
    plans,
  };
  const { expected, tol } = vector;
  const title = `signal vector ${vector.case}, axis ${vector.axis}`;

  test(`${title} – overall values, flags, qualities and zones`, () => {
    const analysis = analyseAxis(samples, options);
    const values = namedValues(analysis);
    for (const [name, value] of Object.entries(values)) {
      if (expected[name] === undefined) continue;
      const isStatistic = /^(accel|crest|kurtosis|clip)/.test(name);
      close(value, expected[name], isStatistic ? tol.stats : tol.spectral, name);
    }
    assert.deepEqual([...analysis.flags].sort(), [...expected.flags].sort());
    for (const group of ["accel", "velocity", "displacement", "envelope"] as const) {
      assert.equal(analysis.doubts[group]?.quality ?? "good", expected.quality[group], group);
    }
    const velocity = analysis.velocityRms.value;
    for (const [name, limits] of Object.entries(VELOCITY_LIMITS)) {
      const zone = velocity === null ? null : zoneOf(velocity, limits);
      assert.equal(zone, expected.severity[name as keyof typeof VELOCITY_LIMITS], name);
    }
    for (const [name, [truth, relative]] of Object.entries(vector.truth)) {
      if (name in values) close(values[name] ?? null, truth, [relative, 0], `truth of ${name}`);
    }
  });

  test(`${title} – spectrum, peaks and lines in every unit`, () => {
    const peaks = spectrumPeaks(spectrum(samples, options, 0));
    comparePeaks(peaks, expected.spectrum_peaks, tol.spectral);
    const gePeaks = spectrumPeaks(spectrum(samples, options, 6));
    comparePeaks(gePeaks, expected.ge_peaks, tol.spectral);
    const { top_line_units: top } = expected;
    for (const [name, value] of Object.entries(top ?? {})) {
      const unit = Number.parseInt(name, 10);
      if (Number.isNaN(unit)) continue;
      const line = spectrum(samples, options, unit as SignalUnit).amplitudes[top?.bin ?? -1];
      close(line ?? null, value, tol.spectral, name);
    }
    if (top)
      close((peaks[0]?.frequencyHz ?? 0) * CPM_PER_HZ, top.freq_cpm ?? 0, tol.spectral, "cpm");
    const found: Record<string, number | undefined> = {
      peak0_freq_interp_hz: peaks[0]?.toneFrequencyHz,
      peak0_amp_interp_g: peaks[0]?.toneAmplitude,
      ge_peak0_freq_hz: gePeaks[0]?.frequencyHz,
    };
    for (const [name, [truth, relative]] of Object.entries(vector.truth)) {
      if (name in found) close(found[name] ?? null, truth, [relative, 0], `truth of ${name}`);
    }
  });

  test(`${title} – time waveforms`, () => {
    for (const [name, want] of Object.entries(expected.twf ?? {})) {
      const wave = timeWaveform(samples, options, Number.parseInt(name, 10) as SignalUnit);
      const rms = Math.hypot(...wave.samples) / Math.sqrt(wave.samples.length);
      const tolerance = tol.twf_rel_to_rms * want.rms;
      close(rms, want.rms, [0, tolerance], `${name} rms`);
      if (want.first_sample !== undefined) assert.equal(wave.firstSample, want.first_sample);
      assert.equal(wave.samples.length, want.length ?? samples.length);
      for (const [at, value] of want.samples) {
        close(wave.samples[at] ?? null, value, [0, tolerance], `${name}[${at}]`);
      }
    }
    if (Object.keys(expected.twf ?? {}).length === 0) {
      assert.equal(timeWaveform(samples, options, 2).samples.length, 0);
    }
  });
}

function namedValues(analysis: AxisAnalysis): Record<string, number | null> {
  const scaled = (value: number | null, by: number) => (value === null ? null : value / by);
  return {
    accel_rms_g: analysis.accelRms.value,
    accel_peak_g: analysis.accelPeak.value,
    accel_pp_g: analysis.accelPeakToPeak.value,
    crest: analysis.crestFactor.value,
    kurtosis: analysis.kurtosis.value,
    clip_count: analysis.clipCount,
    vel_rms_mm_s: analysis.velocityRms.value,
    vel_rms_in_s: scaled(analysis.velocityRms.value, MM_PER_INCH),
    disp_rms_um: analysis.displacementRms.value,
    disp_pp_um: analysis.displacementPeakToPeak.value,
    disp_pp_mils: scaled(analysis.displacementPeakToPeak.value, UM_PER_MIL),
    env_rms_ge: analysis.envelopeRms.value,
  };
}

function comparePeaks(
  peaks: readonly Peak[],
  expected: readonly VectorPeak[] | undefined,
  tolerance: readonly [number, number],
): void {
  if (expected === undefined) return;
  assert.deepEqual(
    peaks.map(({ line }) => line),
    expected.map(({ bin }) => bin),
  );
  peaks.forEach((peak, i) => {
    const want = expected[i];
    if (want === undefined) return;
    close(peak.frequencyHz, want.freq_hz, tolerance, "frequency");
    close(peak.amplitude, want.amp_g ?? want.amp_ge ?? Number.NaN, tolerance, "amplitude");
    if (want.freq_interp_hz === undefined) return;
    close(peak.toneFrequencyHz, want.freq_interp_hz, tolerance, "tone frequency");
    close(peak.toneAmplitude, want.amp_interp_g ?? Number.NaN, tolerance, "tone amplitude");
  });
}

function close(
  value: number | null,
  want: number | null,
  [relative, absolute]: readonly [number, number],
  what: string,
): void {
  if (value === null || want === null) return assert.equal(value, want, what);
  const allowed = Math.max(relative * Math.abs(want), absolute);
  assert.ok(Math.abs(value - want) <= allowed, `${what}: ${value}, expected ${want} ± ${allowed}`);
}
