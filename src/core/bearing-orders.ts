/** Characteristic frequencies of a rolling bearing as multiples of the shaft's (Randall & Antoni 2011, eq. 1–4). */
import type { Bearing, Machine } from "./machine.ts";

export interface BearingOrders {
  /** Rolling elements over a point of the outer race. */
  readonly bpfo: number | null;
  /** Rolling elements over a point of the inner race. */
  readonly bpfi: number | null;
  /** Spin of a rolling element; a damaged spot hits both races, so there are two impacts per turn. */
  readonly bsf: number | null;
  /** Turns of the cage. */
  readonly ftf: number | null;
}

/** From the ratios if they are given, otherwise from the geometry (inner race turning, outer race fixed). */
export function bearingOrders(bearing: Bearing): BearingOrders {
  const { balls, ballMm, pitchMm, angleDeg = 0 } = bearing;
  const hasGeometry = balls !== undefined && ballMm !== undefined && pitchMm !== undefined;
  const share = hasGeometry ? (ballMm / pitchMm) * Math.cos((angleDeg * Math.PI) / 180) : 0;
  const geometric = (value: number) => (hasGeometry ? value : null);
  const count = balls ?? 0;
  return {
    bpfo: bearing.bpfo ?? geometric((count / 2) * (1 - share)),
    bpfi: bearing.bpfi ?? geometric((count / 2) * (1 + share)),
    bsf: bearing.bsf ?? geometric(hasGeometry ? (pitchMm / (2 * ballMm)) * (1 - share ** 2) : 0),
    ftf: bearing.ftf ?? geometric((1 - share) / 2),
  };
}

/** Frequencies of the mains, Hz; where the site file states none, it may be either. */
export const suppliesOf = ({ lineHz }: Machine): readonly number[] =>
  lineHz === undefined ? [50, 60] : [lineHz];
