/** Our qualities in SCADA terms (signal-definitions section 10). */
import type { Doubt, Quality, Reason } from "./quality.ts";
import type { Kind } from "./sensor.ts";

export interface ScadaQuality {
  readonly opcUaStatus: number;
  readonly opcUaName: string;
  /** Sparkplug B knows 0 bad, 192 good and 500 stale only. */
  readonly sparkplug: 0 | 192 | 500;
}

/** Stale: no new data in three expected intervals; the last value is kept. */
export const SCADA_QUALITY: Readonly<Record<Quality | "stale", ScadaQuality>> = {
  good: { opcUaStatus: 0x00000000, opcUaName: "Good", sparkplug: 192 },
  uncertain: { opcUaStatus: 0x40000000, opcUaName: "Uncertain", sparkplug: 192 },
  bad: { opcUaStatus: 0x80000000, opcUaName: "Bad", sparkplug: 0 },
  stale: { opcUaStatus: 0x40900000, opcUaName: "UncertainLastUsableValue", sparkplug: 500 },
};

const UNCERTAIN_STATUS: Readonly<Partial<Record<Reason, number>>> = {
  clipped: 0x40930000, // SensorNotAccurate
  under_range: 0x40940000, // EngineeringUnitsExceeded
  over_range: 0x40940000,
  too_short: 0x40950000, // SubNormal
  sample_rate_low: 0x40950000,
};

const BAD_STATUS: Readonly<Partial<Record<Reason, number>>> = {
  flatline: 0x808c0000, // SensorFailure
  wire_break: 0x808c0000,
  no_calibration: 0x80890000, // ConfigurationError
  missing: 0x809b0000, // NoData
  under_range: 0x803c0000, // OutOfRange
  over_range: 0x803c0000,
};

/** Status code of one value; `doubt` null is good. A loop outside its failure limits is a failed sensor. */
export function opcUaStatus(doubt: Doubt | null, kind: Kind): number {
  if (doubt === null) return SCADA_QUALITY.good.opcUaStatus;
  const { quality, reason } = doubt;
  if (quality === "uncertain") {
    return UNCERTAIN_STATUS[reason] ?? SCADA_QUALITY.uncertain.opcUaStatus;
  }
  if (kind === "loop" && (reason === "under_range" || reason === "over_range")) return 0x808c0000;
  return BAD_STATUS[reason] ?? SCADA_QUALITY.bad.opcUaStatus;
}

/** Sparkplug B `Quality` property of one value. */
export function sparkplugQuality(doubt: Doubt | null): 0 | 192 | 500 {
  return SCADA_QUALITY[doubt?.quality ?? "good"].sparkplug;
}
