/** Spectra and waveforms computed from stored samples when they are asked for (signal-definitions 4, 6, 7). */
import type { StoredWaveform } from "../ports.ts";
import type { Sensor } from "../sensor.ts";
import type { AxisOptions } from "../signal/bands.ts";
import type { DftPlans } from "../signal/fft.ts";
import { spectrum, spectrumPeaks } from "../signal/spectrum.ts";
import { timeWaveform } from "../signal/time-waveform.ts";
import type { SeriesMaker } from "./ports.ts";

/** @param plans transform tables, shared with the agent's own analysis */
export function createSeriesMaker(plans: DftPlans): SeriesMaker {
  return {
    waveform(stored, unit, sensor) {
      const made = timeWaveform(stored.samples, axisOptions(stored, sensor, plans), unit);
      return {
        values: made.samples,
        step: 1 / stored.sampleRateHz,
        firstIndex: made.firstSample,
        doubt: made.doubt,
      };
    },
    spectrum(stored, unit, sensor) {
      const made = spectrum(stored.samples, axisOptions(stored, sensor, plans), unit);
      return {
        values: made.amplitudes,
        step: made.stepHz,
        firstIndex: 0,
        doubt: made.doubt,
        peaks: spectrumPeaks(made).map(({ toneFrequencyHz, toneAmplitude }) => ({
          frequencyHz: toneFrequencyHz,
          amplitude: toneAmplitude,
        })),
      };
    },
  };
}

/** The limits that the agent's own values were computed with, as far as the sensor is still configured. */
function axisOptions(stored: StoredWaveform, sensor: Sensor | null, plans: DftPlans): AxisOptions {
  return {
    sampleRateHz: stored.sampleRateHz,
    calibration: stored.calibration,
    fullScaleCounts: sensor?.fullScaleCounts,
    speedRpm: sensor?.speedRpm,
    plans,
  };
}
