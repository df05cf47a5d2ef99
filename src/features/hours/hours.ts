import { yieldToLoop } from "../../lib/yield-to-loop.ts";
import type { Counting } from "../../pipeline/store/counting.ts";
import type { Feature } from "../feature.ts";
import type { FeatureHost } from "../host.ts";
import type { Wait } from "../machines/api.ts";
import { DayMedianJob } from "./day-median-job.ts";

/** The store counts hours in its own transactions; what runs makes the medians of days. */
export function createHours(host: FeatureHost, wait: Wait, { dayMedians }: Counting): Feature {
  return new DayMedianJob({
    ...host,
    wait,
    history: host.readings.history,
    rows: dayMedians,
    historyDays: host.settings.historyDays,
    rest: yieldToLoop,
  });
}
