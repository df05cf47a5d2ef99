/** What stays of measurements, for tests of stores: it is asked of the list, never imported. */
import type { FeatureSpec } from "../../src/features/feature.ts";
import { SPECS } from "../../src/features/specs.ts";

/** Undefined where that feature was taken out. */
export const KEEP = SPECS.flatMap(({ keep }: FeatureSpec) => (keep === undefined ? [] : [keep]))[0];
