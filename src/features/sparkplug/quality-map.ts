/** Our qualities as Sparkplug B knows them (signal-definitions section 10): 0 bad, 192 good and 500 stale only. */
import type { Doubt, Quality } from "../../core/quality.ts";

type SparkplugQuality = 0 | 192 | 500;

/** Stale: no new data in three expected intervals; the last value is kept. */
export const SPARKPLUG_QUALITY: Readonly<Record<Quality | "stale", SparkplugQuality>> = {
  good: 192,
  uncertain: 192,
  bad: 0,
  stale: 500,
};

/** Sparkplug B `Quality` property of one value. */
export function sparkplugQuality(doubt: Doubt | null): SparkplugQuality {
  return SPARKPLUG_QUALITY[doubt?.quality ?? "good"];
}
