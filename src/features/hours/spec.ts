/** Sums of every reading ever taken by hour and day, and medians of days (plant section 19). */
import type { SettingSpec } from "../../config/setting-spec.ts";
import type { CountingParts } from "../../pipeline/store/counting.ts";
import type { FeatureSpec } from "../feature.ts";
import { HourReader } from "./hour-reader.ts";
import { HourlyValues } from "./hourly-values.ts";

const HOURS_SETTINGS = {
  TREND_DAYS: {
    type: "integer",
    default: 3650,
    minimum: 1,
    maximum: 36_500,
    doc: "Days that hourly values are kept, if a quarter of BUFFER_MAX_MB holds them; above it the oldest hours are merged to days, then the oldest days go.",
  },
} as const satisfies Record<string, SettingSpec>;

export const HOURS_SPEC = {
  name: "hours",
  settings: HOURS_SETTINGS,
  count: {
    open:
      ({ trendDays }: { readonly trendDays: number }) =>
      (parts: CountingParts) =>
        new HourlyValues(parts, trendDays),
    read: (db, streams) => new HourReader(db, streams),
  },
  after: { settings: "WAVEFORM_DAYS" },
} as const satisfies FeatureSpec;
