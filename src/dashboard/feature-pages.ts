/** Pages of features, in order; each is loaded when it is first opened. */
import { REPORT_PLACE } from "../features/report/page/report-place.ts";
import { SETUP_PLACE } from "../features/setup/page/setup-place.ts";
import type { FeaturePage } from "./section.ts";

export const FEATURE_PAGES: readonly FeaturePage[] = [REPORT_PLACE, SETUP_PLACE];
