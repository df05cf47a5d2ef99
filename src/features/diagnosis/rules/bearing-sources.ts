/** The three spectra in which a bearing shows itself, and what its lines must reach in each. */

import type { Stage } from "../../../core/diagnosis/finding.ts";
import { SLIP_SHARE } from "../../../pipeline/signal/spread-tones.ts";
import type { ToneList } from "../../../pipeline/signal/tones.ts";
import type { Family, FamilySource } from "./bearing-families.ts";
import type { BearingFault } from "./bearing-fault.ts";
import { type AxisLook, type Look, middleOfB, rss, stageOf, toneNear, velocityOf } from "./look.ts";

/** Level from which a fault is beyond its first stage, GE RMS. */
const ADVANCED_GE = 0.1;
/** Least level of lines in the velocity, share of the middle of zone B. */
const VELOCITY_SHARE = 0.25;
/**
 * Least depth of a bearing's lines in the whitened envelope, per cent of its mean. A longer record finds ever fainter
 * lines; on rigs, undamaged bearings show theirs at up to 5 %, and undamaged parts of damaged bearings at up to 10 %.
 */
export const DEPTH_MIN = 9;
/** The same of a cage's impacts, whose harmonics hardly fall: those of a damaged element's load, and healthy cages, are fainter. */
export const CAGE_DEPTH_MIN = 25;
/**
 * Lines that carry more than this share of the envelope's RMS value need less of it: blows leave at least this depth, and none is left by
 * smooth lines that lie in the envelope's own band, as those of many elements at a high speed do.
 */
const CLEAR_SHARE = 0.6;
const CLEAR_DEPTH_MIN = 3;
/**
 * What lines there must reach. Noise alone reaches this in one reading of a hundred or fewer per fault: five in a row
 * are none in a thousand years.
 */
export const WHITENED = {
  mainRatio: 3,
  supportRatio: 2.1,
  bandRatio: 2.1,
  scoreMin: 18,
  // Between lines of the shaft there are beats with side bands, but without harmonics.
  needsHarmonic: true,
} as const;

export interface LimitedSource extends FamilySource {
  /** The level that lines must reach, in `unit`. */
  readonly limitOf: (fault: BearingFault) => number;
  readonly stageOf: (level: number) => Stage;
  /** Whether lines are more than the traces that every bearing shows. @param share of the depth that is asked */
  readonly isDeep: (family: Pick<Family, "level" | "lines">, share: number) => boolean;
}

/** Depth of the same lines and side bands in the whitened envelope, per cent of its mean. */
function depthOf(white: ToneList, lines: Family["lines"]): number {
  const places = lines.flatMap(({ hz, sideBands }) => [hz, ...sideBands.map((band) => band.hz)]);
  const amplitudes = places.map((hz) => toneNear(white, hz, white.resolutionHz)?.amplitude ?? 0);
  return (100 * rss(amplitudes)) / Math.SQRT2;
}

type SourceOf = (look: Look, axis: AxisLook) => LimitedSource | null;

/**
 * Stages: visible only in the envelope, also in the velocity, velocity in zone C or D (after SKF, whose first stage is
 * not audible).
 */
export const envelopeSource: SourceOf = (look, { envelope, white, envelopeRms, velocityRms }) => {
  if (envelope === null || envelopeRms === null) return null;
  const [first, second] = look.limits;
  const felt = stageOf(velocityRms ?? 0, first, second);
  const { mainRatio, supportRatio } = look.thresholds;
  return {
    spectrum: "envelope",
    list: envelope,
    unit: "GE",
    levelOf: ({ amplitude }) => amplitude / Math.SQRT2,
    mainRatio,
    supportRatio,
    bandRatio: 0,
    scoreMin: 0,
    limitOf: (fault) => envelopeLimit(look, fault, envelope, envelopeRms),
    // The velocity is attributed to the bearing only if its impacts are more than faint.
    stageOf: (level) => (level < ADVANCED_GE ? 1 : felt),
    isDeep: ({ level, lines }, share) => {
      const least = level >= CLEAR_SHARE * envelopeRms ? CLEAR_DEPTH_MIN : DEPTH_MIN;
      return white === null || depthOf(white, lines) >= share * least;
    },
  };
};

/**
 * Lines of the bearing in the velocity: the damage is beyond its first stage. Elements that pass under load move the shaft smoothly
 * at the same frequencies, by varying compliance (Sunnersjö 1978): only blows ring, and so modulate the whitened envelope.
 */
const velocitySource: SourceOf = (look, { accel, white }) => {
  const { mainRatio, supportRatio } = look.thresholds;
  const middle = middleOfB(look);
  return {
    spectrum: "velocity",
    list: accel,
    unit: "mm/s",
    levelOf: velocityOf,
    mainRatio,
    supportRatio,
    bandRatio: supportRatio,
    scoreMin: 0,
    limitOf: () => VELOCITY_SHARE * middle,
    stageOf: (level) => stageOf(level, 0, middle),
    isDeep: ({ lines }, share) => white === null || depthOf(white, lines) >= share * DEPTH_MIN,
  };
};

/** Impacts too faint for the envelope's level, in the record whose bands were made equally strong. */
const whitenedSource: SourceOf = (_look, { white }) => (white === null ? null : whitenedOf(white));

/** The same by bands: slip spreads the lines of a long record. */
const spreadSource: SourceOf = (_look, { spread }) =>
  spread === null ? null : whitenedOf(spread, SLIP_SHARE);

function whitenedOf(list: ToneList, slipShare?: number): LimitedSource {
  const cageMin = slipShare === undefined ? CAGE_DEPTH_MIN : Number.POSITIVE_INFINITY;
  return {
    spectrum: "whitened envelope",
    list,
    unit: "%",
    levelOf: ({ amplitude }) => (100 * amplitude) / Math.SQRT2,
    ...WHITENED,
    // Healthy cages modulate faintly, and what slips spreads as the load does that changes as they turn.
    limitOf: ({ finding }) => (finding === "cage" ? cageMin : DEPTH_MIN),
    stageOf: () => 1,
    isDeep: () => true,
    slipShare,
  };
}

export const SOURCES: readonly SourceOf[] = [
  envelopeSource,
  velocitySource,
  whitenedSource,
  spreadSource,
];

/**
 * The level that the lines must reach, by the RMS value of the envelope without the modulation that the fault itself
 * causes.
 */
function envelopeLimit(
  { shaftHz, thresholds: { envelopeMin, envelopeShare } }: Look,
  { spacing }: BearingFault,
  envelope: ToneList,
  envelopeRms: number,
): number {
  let square = envelopeRms * envelopeRms;
  for (const n of spacing === null ? [] : [1, 2]) {
    const tone = toneNear(envelope, n * (spacing ?? 0) * shaftHz, envelope.resolutionHz);
    square -= ((tone?.amplitude ?? 0) * (tone?.amplitude ?? 0)) / 2;
  }
  return Math.max(envelopeMin, envelopeShare * Math.sqrt(Math.max(0, square)));
}
