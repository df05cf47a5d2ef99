/** Every feature as help, documents and checks know it, in order. */
import type { FeatureSpec } from "./feature.ts";
import { OUTLOOK_SPEC } from "./outlook/spec.ts";

export const SPECS = [OUTLOOK_SPEC] as const satisfies readonly FeatureSpec[];
