/** Pages of features, in order; each is loaded when it is first opened. */
import { DISCOVER_PLACE } from "../features/discover/page/discover-place.ts";
import { REPORT_PLACE } from "../features/report/page/report-place.ts";
import type { FeaturePage, SetupPage } from "./section.ts";

export const FEATURE_PAGES: readonly FeaturePage[] = [REPORT_PLACE];
export const SETUP_PAGES: readonly SetupPage[] = [DISCOVER_PLACE];
