/** The query service of analytics tools over stored data: routes of its own, nothing to set. */
import type { FeatureSpec } from "../feature.ts";

export const QUERY_SERVICE_SPEC = { name: "query-service" } as const satisfies FeatureSpec;
