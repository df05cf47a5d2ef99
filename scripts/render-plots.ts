/**
 * Draws the documentation's pictures of a simulated bearing fault with the agent's own signal functions: the waveform as
 * stored, and the envelope spectrum in which the fault stands out.
 *
 *   node --import tsx scripts/render-plots.ts [directory]
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GE_UNIT } from "../src/core/unit.ts";
import { analyseAxis } from "../src/pipeline/signal/analyse.ts";
import { spectrum, spectrumPeaks } from "../src/pipeline/signal/spectrum.ts";
import { timeWaveform } from "../src/pipeline/signal/time-waveform.ts";
import { BEARING, bearingSamples } from "./bench/simulated-bearing.ts";
import { plotSvg } from "./plot-svg.ts";

const samples = bearingSamples(7);
const options = { sampleRateHz: BEARING.sampleRateHz, calibration: BEARING.calibration };
const SHOWN_MS = 120;
const SHOWN_HZ = 500;

function waveformPicture(): string {
  const wave = timeWaveform(samples, options, 0);
  const points = [...wave.samples]
    .map((value, n) => [(n / BEARING.sampleRateHz) * 1000, value] as const)
    .filter(([ms]) => ms <= SHOWN_MS);
  const { accelRms, accelPeak, crestFactor, kurtosis, velocityRms } = analyseAxis(samples, options);
  const shown = (value: number | null) => value?.toPrecision(3) ?? "none";
  const limit = Math.ceil((accelPeak.value ?? 1) * 2) / 2;
  return plotSvg({
    title: "Acceleration of a bearing with an outer-race fault",
    subtitle: `RMS ${shown(accelRms.value)} G, peak ${shown(accelPeak.value)} G, crest factor ${shown(crestFactor.value)}, kurtosis ${shown(kurtosis.value)}, velocity ${shown(velocityRms.value)} mm/s RMS`,
    xLabel: "time, ms",
    yLabel: "acceleration, G",
    x: [0, SHOWN_MS],
    y: [-limit, limit],
    points,
    marks: [],
  });
}

function spectrumPicture(): string {
  const envelope = spectrum(samples, options, GE_UNIT);
  const points = [...envelope.amplitudes]
    .map((value, k) => [k * envelope.stepHz, value] as const)
    .filter(([hz]) => hz <= SHOWN_HZ);
  const peaks = spectrumPeaks(envelope).filter(({ frequencyHz }) => frequencyHz <= SHOWN_HZ);
  const highest = Math.max(...points.map(([, value]) => value));
  return plotSvg({
    title: "Spectrum of the acceleration envelope",
    subtitle: `The fault passes ${BEARING.faultHz} times a second; shaft ${BEARING.speedHz} Hz; lines of ${envelope.stepHz.toFixed(2)} Hz`,
    xLabel: "frequency, Hz",
    yLabel: "envelope, GE (zero-to-peak)",
    x: [0, SHOWN_HZ],
    y: [0, Math.ceil(highest * 11) / 10],
    points,
    marks: peaks.map((peak) => ({
      x: peak.frequencyHz,
      y: peak.amplitude,
      text: `${peak.toneFrequencyHz.toFixed(1)} Hz`,
    })),
  });
}

const directory = process.argv[2] ?? join("docs", "images");
mkdirSync(directory, { recursive: true });
writeFileSync(join(directory, "waveform.svg"), waveformPicture());
writeFileSync(join(directory, "spectrum.svg"), spectrumPicture());
