/** State and speed of machines by their signals, and what waits for them (plant section 11). */
import type { FeatureSpec } from "../feature.ts";

export const MACHINES_SPEC = { name: "machines" } as const satisfies FeatureSpec;
