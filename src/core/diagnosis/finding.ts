/** The results of diagnosis, and the reasons for missing ones. */
import {
  INTEGER,
  known,
  list,
  NUMBER,
  named,
  type Of,
  object,
  oneOf,
  optional,
  orNull,
  TEXT,
} from "../schema.ts";
import { AXES } from "../unit.ts";

export const FINDINGS = [
  "unbalance",
  "misalignment",
  "looseness",
  "bearing_outer_race",
  "bearing_inner_race",
  "rolling_element",
  "cage",
  "blade_pass",
  "gear_mesh",
  "electrical",
] as const;
export type FindingKind = (typeof FINDINGS)[number];

/** The value of the alarm on a line that nothing explains: no finding. */
export const UNEXPLAINED = "unexplained";

export type Stage = 1 | 2 | 3;

const SIDE_BAND = object({
  hz: NUMBER,
  /** Multiple of the shaft frequency. */
  order: NUMBER,
  amplitude: NUMBER,
});
export type SideBand = Of<typeof SIDE_BAND>;

/** `whitened envelope`: of the record whose lines were made equally strong before; in per cent of the envelope's mean. */
const SPECTRA = ["velocity", "envelope", "whitened envelope"] as const;
export type SpectrumName = (typeof SPECTRA)[number];
export const LINE_UNITS = ["mm/s", "GE", "%"] as const;
export type LineUnit = (typeof LINE_UNITS)[number];

/** A line of a spectrum that shows the fault. */
export const EVIDENCE_LINE = named(
  "EvidenceLine",
  object({
    /** `1x`, `2 × BPFO` … */
    name: TEXT,
    spectrum: oneOf(SPECTRA),
    channel: INTEGER,
    axis: oneOf(AXES),
    hz: NUMBER,
    /** Multiple of the shaft frequency. */
    order: NUMBER,
    /** RMS, in `unit`. */
    amplitude: NUMBER,
    unit: oneOf(LINE_UNITS),
    /** Ratio to the surrounding noise. */
    ratio: NUMBER,
    sideBands: list(SIDE_BAND),
  }),
);
export type EvidenceLine = Of<typeof EVIDENCE_LINE>;

/** A fault that one reading shows. */
export interface Verdict {
  readonly finding: FindingKind;
  /** Bearing, or null if the fault does not concern one. */
  readonly bearing: string | null;
  readonly stage: Stage;
  /** Level of the lines together, RMS. */
  readonly level: number;
  readonly unit: LineUnit;
  /** The required level. */
  readonly limit: number;
  readonly lines: readonly EvidenceLine[];
  /** Of the shaft: the same lines in the machine's learned normal state, RMS; null: it is not known. */
  readonly normal?: number | null;
  /** Its level reaches only the limit of a speed below the one at which it was seen: it neither counts nor interrupts. */
  readonly isBelowFull?: boolean;
}

export type CannotReason =
  | "speed_unknown"
  | "speed_doubtful"
  | "machine_standing"
  | "state_unknown"
  | "record_short"
  | "resolution_coarse"
  | "sample_rate_low"
  | "overloaded"
  | "no_envelope"
  | "bearing_play"
  | "looseness_present"
  | "ambiguous"
  | "seldom_seen"
  | "below_depth"
  | "below_level"
  | "envelope_risen"
  | "unexplained_line";

/**
 * Why something was not checked. `finding` null: nothing was, or a line was found that nothing explains, which is no finding:
 * `hz`, `order` (of the shaft at the sensor), `level` (mm/s RMS) and `axis` say which.
 */
export const CANNOT = object({
  finding: orNull(oneOf(FINDINGS)),
  bearing: orNull(TEXT),
  reason: known<CannotReason>(TEXT),
  text: TEXT,
  hz: optional(NUMBER),
  order: optional(NUMBER),
  level: optional(NUMBER),
  axis: optional(oneOf(AXES)),
  /** Depth of a bearing's lines in the whitened envelope, and the one from which damage is told, per cent of its mean. */
  depth: optional(NUMBER),
  depthLimit: optional(NUMBER),
  /** Of blades or teeth: from which `level` they are told, mm/s RMS. */
  levelLimit: optional(NUMBER),
});
export type Cannot = Of<typeof CANNOT>;

/** A reason, and which of the last readings gave it, the newest as the lowest bit. */
export interface Said {
  readonly cannot: Cannot;
  readonly recent: number;
}

/** RMS velocity by channel and order, `1:2` for 2x of channel 1, mm/s. */
export type OrderLevels = Readonly<Record<string, number>>;

/** Normal amplitude of an order, mm/s; null: not learned yet, or the machine was already bad. */
export type NormalOf = (channel: number, order: number) => number | null;

/** A line that dominates the velocity around a shaft, and that nothing explains. */
export interface UnexplainedLine {
  readonly channel: number;
  readonly axis: (typeof AXES)[number];
  readonly hz: number;
  /** Multiple of the frequency of the shaft at the sensor, by the measured speed. */
  readonly order: number;
  /** Speed of that shaft, r/min. */
  readonly rpm: number;
  /** Root of its power, and B/C, mm/s RMS; at least `keepShare` of it. */
  readonly level: number;
  readonly limit: number;
  /** How far away it is the same line, Hz. */
  readonly reachHz: number;
  /** Whether its double stands too. */
  readonly hasSecond: boolean;
}

/** What one reading says; no lines: everything is explained. */
export interface Unexplained {
  readonly lines: readonly UnexplainedLine[];
  /** The speed may not be that of the record: it is no judged reading. */
  readonly isDoubtful: boolean;
}

export interface Judgement {
  readonly verdicts: readonly Verdict[];
  readonly cannot: readonly Cannot[];
  /** Keys of the faults that could be checked: one counts as absent if no verdict names it. */
  readonly judged: readonly string[];
  /** Whether a line fits the measured speed. */
  readonly isShaftSeen?: boolean;
  /** Amplitudes of the shaft's orders, for its normal state; null if they cannot belong to one. */
  readonly levels?: OrderLevels | null;
  /** Lines that nothing explains; null or absent where that was not judged. */
  readonly unexplained?: Unexplained | null;
}

/** One finding of a sensor. */
export function findingKey(finding: FindingKind, bearing: string | null): string {
  return bearing === null ? finding : `${finding}/${bearing}`;
}
