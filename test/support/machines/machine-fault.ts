export type FaultKind =
  | "unbalance"
  | "misalignment"
  | "looseness"
  | "outer_race"
  | "inner_race"
  | "rolling_element"
  | "cage"
  | "blade_pass"
  | "gear_mesh"
  | "electrical";

export interface FaultyMachine {
  readonly seed: number;
  readonly speedRpm: number;
  /** Share of the speed that a drive varies over hours; 0 on the mains. */
  readonly speedSwing: number;
  readonly lineHz: number;
  readonly blades: number;
  /** The first wheel is on the measured shaft; none: no gear. */
  readonly teeth: readonly number[];
  readonly bearing: {
    readonly balls: number;
    readonly ballMm: number;
    readonly pitchMm: number;
    readonly angleDeg: number;
  };
  /** Velocity at which zone D begins, mm/s RMS: a fault of severity 1 reaches it. */
  readonly zoneD: number;
}

export interface MachineFault {
  readonly fault: FaultKind | null;
  /** 0 healthy, 1 zone D. */
  readonly severity: number;
  /** Share of the rated load. */
  readonly load: number;
  /** The sensor was knocked: turned on its base, loosely attached, and insensitive to high frequencies. */
  readonly isKnocked?: boolean;
  /** A bad day of the process: cavitation, rubble, surges; the machine is unchanged. */
  readonly isBadDay?: boolean;
}

export interface RecordShape {
  readonly sampleRateHz: number;
  readonly samples: number;
  /** Full scale, G. */
  readonly rangeG: number;
}

export interface FaultyRecord {
  /** H, V, A */
  readonly channels: readonly [Int16Array, Int16Array, Int16Array];
  /** Shaft speed during the record, r/min. */
  readonly speedRpm: number;
  readonly calibration: number;
}
