/** How long a contact was in which state: the data for a bar of states. */
import type { Trend } from "../query/shown.ts";

/** From one time to another, in the unit of the x axis; `both` if it changed within one point. */
export interface ContactSpan {
  readonly from: number;
  readonly to: number;
  readonly state: "on" | "off" | "both";
}
type ContactSeries = Pick<Trend["series"][string], "timesMs" | "min" | "max" | "mean">;

/** After this many usual intervals without a reading, the state is unknown. */
const STEPS_MAX = 3;

/** Where each point ends, ms: at the next one, or where its state is no longer known. */
function endsOf(times: readonly number[], bucketMs: number, toMs: number): number[] {
  const steps = times.slice(1).map((ms, i) => ms - (times[i] ?? ms));
  const usualMs = steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? toMs;
  const holdMs = STEPS_MAX * Math.max(usualMs, bucketMs);
  return times.map((ms, i) => Math.max(ms, Math.min(times[i + 1] ?? toMs, ms + holdMs)));
}

/** A state lasts from its reading to the next; `toMs` is now or the end of the view. Times in ms. */
export function contactSpans(
  series: ContactSeries | undefined,
  bucketMs: number,
  toMs: number,
): ContactSpan[] {
  const times = series?.timesMs ?? [];
  const ends = endsOf(times, bucketMs, toMs);
  const spans: { from: number; to: number; state: ContactSpan["state"] }[] = [];
  for (const [i, ms] of times.entries()) {
    const [low, high] = [series?.min[i] ?? 0, series?.max[i] ?? 0];
    const state = low === high ? (high > 0.5 ? "on" : "off") : "both";
    const end = ends[i] ?? ms;
    const last = spans.at(-1);
    if (last !== undefined && last.state === state && last.to === ms) last.to = end;
    else spans.push({ from: ms, to: end, state });
  }
  return spans;
}

/** Time of known states, and of it the time on, ms: the mean of a point says which part of it. */
export function contactShare(
  series: ContactSeries,
  bucketMs: number,
  toMs: number,
): { readonly known: number; readonly on: number } {
  const ends = endsOf(series.timesMs, bucketMs, toMs);
  let [known, on] = [0, 0];
  for (const [i, ms] of series.timesMs.entries()) {
    const length = (ends[i] ?? ms) - ms;
    known += length;
    on += length * (series.mean[i] ?? 0);
  }
  return { known, on };
}
