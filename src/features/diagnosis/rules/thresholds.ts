/** Every number that a finding depends on, in one place; docs/diagnosis.md gives the source of each. */
export interface Thresholds {
  /** Consecutive readings with a fault before the finding becomes active. */
  readonly raiseReadings: number;
  /** Consecutive readings without it before the finding ends. */
  readonly clearReadings: number;
  /** An active finding continues down to this share of the limits that raised it. */
  readonly hold: number;
  /** Ratio of the amplitude to the surrounding noise: of the line a finding is based on, and of supporting lines. */
  readonly mainRatio: number;
  readonly supportRatio: number;
  /** Scales the velocity limits; 1 is the middle of zone B. */
  readonly level: number;
  /** Slip of a bearing, share of the calculated frequency. */
  readonly slip: number;
  /** Share of the envelope's RMS value that a bearing's lines must carry, and their minimum level, GE RMS. */
  readonly envelopeShare: number;
  readonly envelopeMin: number;
  /** Revolutions that a record must contain. */
  readonly revolutionsMin: number;
}

export const THRESHOLDS: Thresholds = {
  raiseReadings: 5,
  clearReadings: 5,
  hold: 0.8,
  mainRatio: 5,
  supportRatio: 3.5,
  level: 1,
  slip: 0.02,
  envelopeShare: 0.2,
  envelopeMin: 0.02,
  revolutionsMin: 8,
};
