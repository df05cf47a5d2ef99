import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";

/** What features check of the site file. */
export const SITE_RULES = SPECS.flatMap(({ site }: FeatureSpec) => site ?? []);
