/** How long a contact was in which state: the data for a bar of states. */
import type { Trend } from "../core/query/shown.ts";
import type { ChartLane } from "./chart-spec.ts";

type ContactSpan = ChartLane["spans"][number];

/** After this many usual intervals without a reading, the state is unknown. */
const STEPS_MAX = 3;

/** A state lasts from its reading to the next; `toMs` is now or the end of the view. Times of the response in s. */
export function contactSpans(
  series: Trend["series"][string] | undefined,
  bucketMs: number,
  toMs: number,
): ContactSpan[] {
  const times = series?.timesMs ?? [];
  const steps = times.slice(1).map((ms, i) => ms - (times[i] ?? ms));
  const usualMs = steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? toMs;
  const holdMs = STEPS_MAX * Math.max(usualMs, bucketMs);
  const spans: { from: number; to: number; state: ContactSpan["state"] }[] = [];
  for (const [i, ms] of times.entries()) {
    const [low, high] = [series?.min[i] ?? 0, series?.max[i] ?? 0];
    const state = low === high ? (high > 0.5 ? "on" : "off") : "both";
    const end = Math.min(times[i + 1] ?? toMs, ms + holdMs) / 1000;
    const last = spans.at(-1);
    if (last !== undefined && last.state === state && last.to === ms / 1000) last.to = end;
    else spans.push({ from: ms / 1000, to: Math.max(end, ms / 1000), state });
  }
  return spans;
}
