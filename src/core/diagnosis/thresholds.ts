/** Every number a finding rests on, in one place; docs/diagnosis.md says where each comes from. */
export interface Thresholds {
  /** Readings in a row that show a fault before the finding stands. */
  readonly raiseReadings: number;
  /** Readings in a row without it before the finding ends. */
  readonly clearReadings: number;
  /** A finding that stands is held down to this share of the limits that raised it. */
  readonly hold: number;
  /** Amplitude to the noise around it: of the line a finding rests on, and of lines that support it. */
  readonly mainRatio: number;
  readonly supportRatio: number;
  /** Scales the velocity limits; 1 is the middle of zone B. */
  readonly level: number;
  /** Slip of a bearing, share of the calculated frequency. */
  readonly slip: number;
  /** Share of the envelope's RMS value that a bearing's lines must carry, and their least level, GE RMS. */
  readonly envelopeShare: number;
  readonly envelopeMin: number;
  /** Revolutions that a record must hold. */
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
