/** The faults of a bearing: where their lines are, and which of them the spectrum can tell from the shaft's. */

import type { BearingOrders } from "../../../core/bearing-orders.ts";
import type { FindingKind } from "../../../core/diagnosis/finding.ts";
import type { ToneList } from "../../../pipeline/signal/tones.ts";

/** Only the first harmonics are searched: later ones are weak. */
const LEADING_MAX = 3;
/** A line and the nearest multiple of the shaft frequency must be this many lines apart. */
const APART_LINES = 1.5;
/** A tone this close to another frequency, in resolutions, cannot be distinguished from it. */
export const SAME_LINE = 0.6;
/** The same for a harmonic that is calculated to be close to an order: its line must be clear of it. */
const UNCLEAR_APART = 0.8;
/**
 * An envelope with only one line is level: the band contains two lines of every series of impacts up to this share of
 * the low-pass.
 */
const VISIBLE_SHARE = 0.5;

export interface BearingFault {
  readonly finding: FindingKind;
  readonly name: string;
  /** Multiple of the shaft frequency of its first line. */
  readonly order: number;
  /** Spacing of its side bands, multiple of the shaft frequency; null: it has none of its own. */
  readonly spacing: number | null;
  /** Lines required in addition to the first. */
  readonly support: number;
  /** What its frequency slips by, as times of the cage's. */
  readonly slipTimes: number;
}

/** BPFI over BPFO where a site file states only one of them: that of usual bearings. */
const RACES_RATIO = 0.65;

/**
 * What turns slower in a bearing is the cage: BPFO is Z · FTF and slips as it does, BPFI is Z · (1 - FTF), which slips by as
 * many hertz to the other side, and so by less of its frequency.
 */
export function faultsOf({ bpfo, bpfi, bsf, ftf }: BearingOrders): BearingFault[] {
  const innerSlip = bpfo === null || bpfi === null ? RACES_RATIO : bpfo / bpfi;
  const fault = (
    finding: FindingKind,
    name: string,
    order: number | null,
    spacing: number | null,
    support: number,
  ): BearingFault[] =>
    order === null
      ? []
      : [
          {
            finding,
            name,
            order,
            spacing,
            support,
            slipTimes: finding === "bearing_inner_race" ? innerSlip : 1,
          },
        ];
  return [
    ...fault("bearing_outer_race", "BPFO", bpfo, null, 1),
    // The damage passes through the loaded zone once per turn.
    ...fault("bearing_inner_race", "BPFI", bpfi, 1, 1),
    // It hits both races in each turn of the element, and the cage carries it through the loaded zone.
    ...fault("rolling_element", "2 × BSF", bsf === null ? null : 2 * bsf, ftf, 1),
    ...fault("cage", "FTF", ftf, null, 2),
  ];
}

/**
 * True if the demodulated band contains at least two lines of a series of impacts at this frequency. Above, the
 * envelope may be level although the bearing is damaged.
 */
export function isVisible(hz: number, { topHz }: Pick<ToneList, "topHz">): boolean {
  return hz <= VISIBLE_SHARE * topHz;
}

export interface Leading {
  readonly n: number;
  /** Lines by which a tone must be apart from the multiples of the shaft frequency. */
  readonly apartLines: number;
  readonly needsBands: boolean;
}

/**
 * The harmonics by which a fault can be identified. One that is calculated to be close to a multiple of the shaft
 * frequency counts if its tone is found to be clear of it. If none is clear, side bands at the cage's spacing may
 * identify a rolling element.
 */
export function leadingHarmonics(
  fault: BearingFault,
  shaftHz: number,
  { resolutionHz, topHz }: Pick<ToneList, "resolutionHz" | "topHz">,
): Leading[] {
  const leads: Leading[] = [];
  for (let n = 1; n <= LEADING_MAX; n++) {
    const order = n * fault.order;
    if (order * shaftHz > topHz) break;
    const apart = Math.abs(order - Math.max(1, Math.round(order))) * shaftHz;
    const isClear = apart >= APART_LINES * resolutionHz;
    leads.push({ n, apartLines: isClear ? SAME_LINE : UNCLEAR_APART, needsBands: false });
  }
  const { finding, spacing } = fault;
  const isBanded = finding === "rolling_element" && (spacing ?? 0) * shaftHz >= 3 * resolutionHz;
  if (isBanded && leads.every(({ apartLines }) => apartLines === UNCLEAR_APART)) {
    leads.push({ n: 1, apartLines: 0, needsBands: true });
  }
  return leads;
}

/** True if the resolution separates one of the first harmonics of a fault from the multiples of the shaft frequency. */
export function isResolved(
  fault: BearingFault,
  shaftHz: number,
  list: Pick<ToneList, "resolutionHz" | "topHz">,
): boolean {
  return leadingHarmonics(fault, shaftHz, list).some(
    ({ apartLines, needsBands }) => needsBands || apartLines === SAME_LINE,
  );
}
