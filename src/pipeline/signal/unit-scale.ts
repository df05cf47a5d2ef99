import {
  MM_PER_INCH,
  MM_S2_PER_G,
  type SignalUnit,
  UM_PER_MIL,
  UM_S2_PER_G,
} from "../../core/unit.ts";

/** What one G becomes in a unit, before the division by w (velocity) or w² (displacement). */
export function unitScale(unit: SignalUnit): number {
  switch (unit) {
    case 0:
    case 6:
      return 1;
    case 1:
    case 2:
      return MM_S2_PER_G;
    case 3:
      return MM_S2_PER_G / MM_PER_INCH;
    case 4:
      return UM_S2_PER_G;
    case 5:
      return UM_S2_PER_G / UM_PER_MIL;
    default:
      return unit satisfies never;
  }
}

/** How often acceleration is integrated for this unit. */
export function integrationsOf(unit: SignalUnit): 0 | 1 | 2 {
  if (unit === 2 || unit === 3) return 1;
  return unit === 4 || unit === 5 ? 2 : 0;
}
