/**
 * What makes a zone: the velocity or, where the machine class limits it too, the displacement. Whichever is worse; where
 * they are alike, the one by which the alarm stands, so that its own hysteresis holds it.
 */

import type { Limits, WatchTest } from "../../../core/alarm/compile.ts";
import { RMS_PER_PEAK_TO_PEAK } from "../../../pipeline/signal/velocity.ts";

type ZoneTest = Extract<WatchTest, { readonly type: "zone" }>;

/** A level with its limits, both in `unit`. */
export interface ZoneBasis {
  readonly level: number;
  readonly limits: Limits;
  readonly unit: "mm/s" | "um";
}

/**
 * @param velocity mm/s RMS
 * @param peakToPeak um; null: the reading has none, or a bad one
 * @param standing unit of the alarm so far
 */
export function zoneBasis(
  { limits, displacement }: ZoneTest,
  velocity: number,
  peakToPeak: number | null,
  standing: string | null,
): ZoneBasis {
  const byVelocity = { level: velocity, limits, unit: "mm/s" } as const;
  if (displacement === null || peakToPeak === null) return byVelocity;
  const level = peakToPeak * RMS_PER_PEAK_TO_PEAK;
  const byDisplacement = { level, limits: displacement.limits, unit: "um" } as const;
  const more = rankOf(byDisplacement) - rankOf(byVelocity);
  if (more !== 0) return more > 0 ? byDisplacement : byVelocity;
  return standing === "um" ? byDisplacement : byVelocity;
}

/** The value that a sentence names: a zone by the displacement is told by that. */
export function namedValue(value: string, unit: string | null): string {
  return unit === "um" ? value.replace(/_vel_rms$/, "_disp_rms") : value;
}

function rankOf({ level, limits: { high, highHigh } }: ZoneBasis): number {
  if (highHigh !== undefined && level > highHigh) return 2;
  return high !== undefined && level > high ? 1 : 0;
}
