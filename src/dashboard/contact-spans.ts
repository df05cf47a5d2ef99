/** How long a contact was in which state: what a bar of states is drawn from. */
import type { Trend } from "./api.ts";
import type { ChartLane } from "./chart-spec.ts";

type Span = ChartLane["spans"][number];

/** Longer than this many of its usual steps without a reading, and nobody knows the state. */
const STEPS_MAX = 3;

/** A state holds from its reading to the next; `toMs` is the present or the end of the view. Times of the answer in s. */
export function contactSpans(
  series: Trend["series"][string] | undefined,
  bucketMs: number,
  toMs: number,
): Span[] {
  const times = series?.timesMs ?? [];
  const steps = times.slice(1).map((ms, i) => ms - (times[i] ?? ms));
  const usualMs = steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? toMs;
  const holdMs = STEPS_MAX * Math.max(usualMs, bucketMs);
  const spans: { from: number; to: number; state: Span["state"] }[] = [];
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
