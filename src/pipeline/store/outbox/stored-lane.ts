import type { Lane } from "../../../core/delivery/delivery.ts";
import type { LaneChange } from "../../../core/delivery/lane-plan.ts";

/** One lane on disk. */
export interface StoredLane {
  readonly lane: number;
  readonly uplink: string;
  readonly format: Lane;
}

export const IN_USE_SQL =
  "SELECT lane, uplink, format FROM lanes WHERE leaving IS NULL ORDER BY lane";

export const numberOf = (lanes: readonly StoredLane[], uplink: string, format: Lane) =>
  lanes.find((one) => one.uplink === uplink && one.format === format)?.lane;

export const isCarried = (change: LaneChange) => change.what === "carried";
