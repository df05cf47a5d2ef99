import type { BandSettings } from "./bands/band.ts";
import type { Kind } from "./sensor.ts";
import type { Shaft } from "./shaft.ts";

/** Shows whether a machine runs: a value of a sensor, compared with one limit. */
export interface RunningSignal {
  /** Sensor code. */
  readonly sensor: string;
  readonly kind: Kind;
  readonly value: string;
  /** The machine runs while the value is above this, in the value's unit. */
  readonly above?: number;
  /** The machine runs while the value is below this, in the value's unit. */
  readonly below?: number;
  /** A contact: the machine runs while the contact has this state. */
  readonly is?: boolean;
}

/** Where a machine's shaft speed is measured, r/min. */
interface SpeedSource {
  /** Code of a sensor of the kind rpm. */
  readonly sensor: string;
}

/** A rolling bearing: by its geometry or by the ratios of its frequencies to the shaft's. */
export interface Bearing {
  /** The measuring point where it is measured (`location.point`). */
  readonly point: number;
  readonly name?: string;
  /** Rolling elements. */
  readonly balls?: number;
  /** Diameter of a rolling element, mm. */
  readonly ballMm?: number;
  /** Pitch diameter, mm. */
  readonly pitchMm?: number;
  /** Contact angle, degrees; default 0. */
  readonly angleDeg?: number;
  /** Outer race, inner race, rolling element (spin) and cage: multiples of the shaft frequency. */
  readonly bpfo?: number;
  readonly bpfi?: number;
  readonly bsf?: number;
  readonly ftf?: number;
}

/** As findings name it. @param at its index in the machine's list */
export function bearingName({ name }: Bearing, at: number): string {
  return name ?? `bearing ${at + 1}`;
}

export interface Machine {
  /** `location.machine` of its sensors. */
  readonly id: number;
  readonly name?: string;
  readonly running?: RunningSignal;
  readonly speed?: SpeedSource;
  /** Mains frequency of its motor, Hz. */
  readonly lineHz?: number;
  /** Blades or vanes of its impeller. */
  readonly blades?: number;
  /** Teeth of its gear wheels. */
  readonly teeth?: readonly number[];
  readonly bearings?: readonly Bearing[];
  /** Those that turn at another speed than the measured one. */
  readonly shafts?: readonly Shaft[];
  /** What is measured of each acceleration record, once the speed at its time is known. */
  readonly bands?: BandSettings;
}
