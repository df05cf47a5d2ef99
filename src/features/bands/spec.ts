/** Bands of acceleration records, as readings of their own (plant section 18). */
import { silentLogger } from "../../lib/logger.ts";
import type { FeatureMemory, FeatureSpec } from "../feature.ts";
import { DaysAgain } from "./days-again.ts";
import { checkBands, withRoughBands } from "./site-rules.ts";

export const BANDS_SPEC = {
  name: "bands",
  site: { machine: checkBands, known: withRoughBands },
  async doctorNewest(site, newest) {
    return (await import("./doctor.ts")).bandsShown(site, newest);
  },
  readAgain(memory: FeatureMemory, days: readonly string[], sensor: string | null) {
    new DaysAgain(memory, silentLogger).add(days, sensor);
  },
} as const satisfies FeatureSpec;
