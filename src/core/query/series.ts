/** Spectra and waveforms computed from stored samples on request (signal-definitions sections 4, 6, 7). */

import { type AxisAnalysis, analyseAxis } from "../../pipeline/signal/analyse.ts";
import type { AxisOptions } from "../../pipeline/signal/bands.ts";
import type { DftPlans } from "../../pipeline/signal/fft.ts";
import { spectrum, spectrumPeaks } from "../../pipeline/signal/spectrum.ts";
import { timeWaveform } from "../../pipeline/signal/time-waveform.ts";
import { beltHzSteps } from "../bands/belt.ts";
import type { Graded } from "../quality.ts";
import type { Sensor } from "../sensor.ts";
import { inOneGo } from "../steps.ts";
import type { StoredWaveform } from "../stored-reading.ts";
import { MM_PER_INCH, MM_S2_PER_G, type SignalUnit, UM_PER_MIL } from "../unit.ts";
import type { SeriesMaker, SignalWaveform } from "./ports.ts";

/** @param plans transform tables, shared with the agent's own analysis */
export function createSeriesMaker(plans: DftPlans): SeriesMaker {
  return {
    waveform(stored, unit, sensor) {
      const options = axisOptions(stored, sensor, plans);
      const made = timeWaveform(stored.samples, options, unit);
      return {
        values: made.samples,
        step: 1 / stored.sampleRateHz,
        firstIndex: made.firstSample,
        doubt: made.doubt,
        overall: overallOf(analyseAxis(stored.samples, options), unit),
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
    beltHz(axes, ratedHz) {
      const [first] = axes;
      if (first === undefined) return null;
      const { calibration, sampleRateHz } = first;
      const samples = axes.map((axis) => axis.samples);
      return inOneGo(beltHzSteps(samples, ratedHz, { calibration, plans, sampleRateHz }));
    },
  };
}

/** The published overall value of a unit's quantity: the waveform is for viewing and its RMS differs. */
function overallOf(analysis: AxisAnalysis, unit: SignalUnit): SignalWaveform["overall"] {
  const of = ({ value }: Graded, by: number, detection: "rms" | "pp") =>
    value === null ? null : { value: value * by, detection };
  switch (unit) {
    case 0:
      return of(analysis.accelRms, 1, "rms");
    case 1:
      return of(analysis.accelRms, MM_S2_PER_G, "rms");
    case 2:
      return of(analysis.velocityRms, 1, "rms");
    case 3:
      return of(analysis.velocityRms, 1 / MM_PER_INCH, "rms");
    case 4:
      return of(analysis.displacementPeakToPeak, 1, "pp");
    case 5:
      return of(analysis.displacementPeakToPeak, 1 / UM_PER_MIL, "pp");
    case 6:
      return of(analysis.envelopeRms, 1, "rms");
    default:
      return unit satisfies never;
  }
}

/** The limits that the agent's own values were computed with, if the sensor is still configured. */
function axisOptions(stored: StoredWaveform, sensor: Sensor | null, plans: DftPlans): AxisOptions {
  return {
    sampleRateHz: stored.sampleRateHz,
    calibration: stored.calibration,
    fullScaleCounts: sensor?.fullScaleCounts,
    speedRpm: sensor?.speedRpm,
    plans,
  };
}
