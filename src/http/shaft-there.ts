/** How fast the shaft at a sensor turned, where that is not the measured one (plant section 24). */
import type { Measurement } from "../core/query/measurements.ts";
import { type Sensor, sameCode } from "../core/sensor.ts";
import type { Shaft } from "../core/shaft.ts";
import { decimal } from "../pipeline/convert/decimal.ts";
import type { HttpParts } from "./parts.ts";

/** The shaft of a sensor; null: the measured one. */
export function turnsAt({ site }: Pick<HttpParts, "site">, code: string): Shaft | null {
  return site.current.sensors.find((one) => sameCode(one.code, code))?.shaft ?? null;
}

type Turning = Pick<Measurement, "speedRpm">;

/** By the measured speed and the ratio. */
export function shaftThere(shaft: Shaft | null, { speedRpm }: Turning) {
  if (shaft === null || speedRpm === null) return {};
  return { shaft: { name: shaft.name, speedRpm: decimal(speedRpm * shaft.speedRatio) } };
}

/** The same of one measurement whose spectrum is shown: behind a belt, by its line in the spectra of all axes. */
export function shaftInSpectrum(
  { series, waveforms }: Pick<HttpParts, "series" | "waveforms">,
  sensor: Pick<Sensor, "shaft" | "fullScaleCounts"> | null,
  measurement: Turning & Pick<Measurement, "channels">,
) {
  const shaft = sensor?.shaft ?? null;
  const rated = shaftThere(shaft, measurement);
  if (rated.shaft === undefined || shaft?.belt !== true) return rated;
  const axes = measurement.channels.flatMap(({ fileId }) => waveforms.read(fileId) ?? []);
  const hz = series.beltHz(axes, rated.shaft.speedRpm / 60);
  return hz === null ? rated : { shaft: { ...rated.shaft, speedRpm: decimal(hz * 60) } };
}
