/** What the site file says of bands (plant section 18), and what a sensor has of them. */

import type { Shaft } from "../shaft.ts";

/** A band of the analyst's own. */
export interface CustomBand {
  /** Letters, digits, `_` and `-`. */
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** order: multiples of the shaft frequency. */
  readonly unit: "order" | "Hz";
  readonly of: "velocity" | "accel";
}

/** The `bands` of a machine in the site file. */
export interface BandSettings {
  readonly orders?: readonly number[];
  readonly bearings?: boolean;
  readonly blades?: boolean;
  readonly teeth?: boolean;
  readonly custom?: readonly CustomBand[];
}

/** One band of each channel; its value's name is `channel{n}_{name}`. */
export type Band = {
  readonly name: string;
  /** Of the shaft at the point, over the measured speed; absent: the measured shaft. */
  readonly speedRatio?: number;
} & (
  | /** A multiple of the shaft frequency, mm/s RMS. */ { readonly order: number }
  /** A bearing frequency as a multiple of the shaft frequency, GE RMS. */
  | { readonly bearing: number }
  /** mm/s or G RMS. */
  | Pick<CustomBand, "from" | "to" | "unit" | "of">
);

/** The bands of one sensor, by its machine. */
export interface SensorBands {
  readonly bands: readonly Band[];
  /** The machine's speed is measured, so that each reading says it. */
  readonly hasSpeed: boolean;
  /** The shaft at the sensor's point; absent: the measured one. */
  readonly shaft?: Pick<Shaft, "speedRatio" | "belt">;
}
