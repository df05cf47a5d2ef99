/** What is counted of readings, for tests of stores: it is asked of the list, never imported. */
import type { FeatureSpec } from "../../src/features/feature.ts";
import { SPECS } from "../../src/features/specs.ts";

const [counting] = SPECS.flatMap(({ count }: FeatureSpec) => count ?? []);

/** Undefined where that feature was taken out. */
export const COUNT = counting?.open({ trendDays: 3650 });
/** The same of what was counted. */
export const COUNTED = counting?.read;
