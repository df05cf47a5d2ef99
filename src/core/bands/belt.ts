/**
 * How fast a shaft behind a belt turned (plant section 24): a belt slips, so its speed is read in the spectrum, at the strongest line of
 * all axes near the rated speed.
 */
import { bandsOf } from "../../pipeline/signal/bands.ts";
import { checkRecord } from "../../pipeline/signal/checks.ts";
import { between } from "../../pipeline/signal/dominant.ts";
import type { DftPlans } from "../../pipeline/signal/fft.ts";
import { recordLines } from "../../pipeline/signal/line-power.ts";
import { median } from "../lists/median.ts";

/** Of the rated frequency: how far away its line may be, and the lines that it must stand out of. */
const REACH_SHARE = 0.02;
const AROUND_SHARE = 0.05;
/** Of its power, to the median of those. */
const TIMES_MIN = 5;
/** A residual offset covers lines 0 and 1. */
const FIRST_LINE = 2;

interface BeltOptions {
  readonly sampleRateHz: number;
  readonly calibration: number;
  readonly plans: DftPlans;
}

/** Hz; null where no line stands out. @param ratedHz the measured speed times the ratio of the shaft */
export function* beltHzSteps(
  channels: readonly Int16Array[],
  ratedHz: number,
  options: BeltOptions,
): Generator<void, number | null> {
  let found: { readonly hz: number; readonly power: number } | null = null;
  for (const samples of channels) {
    const { facts } = checkRecord(samples, options);
    if (facts === null) continue;
    const lines = yield* recordLines(
      samples,
      facts.mean,
      bandsOf(samples.length, options),
      options,
    );
    const { accel } = lines;
    const stepHz = options.sampleRateHz / samples.length;
    const last = Math.floor(samples.length / 2) - 1;
    const within = (share: number) => {
      const first = Math.max(FIRST_LINE, Math.ceil(((1 - share) * ratedHz) / stepHz));
      const end = Math.min(last, Math.floor(((1 + share) * ratedHz) / stepHz));
      return Array.from({ length: Math.max(0, end - first + 1) }, (_, i) => first + i);
    };
    const [top] = within(REACH_SHARE).toSorted((a, b) => accel(b) - accel(a));
    if (top !== undefined && accel(top) > (found?.power ?? 0)) {
      const isLine = accel(top) >= accel(top - 1) && accel(top) >= accel(top + 1);
      const around = median(within(AROUND_SHARE).map(accel));
      if (isLine && accel(top) >= TIMES_MIN * around)
        found = { hz: stepHz * between(accel, top), power: accel(top) };
    }
    lines.end();
  }
  return found?.hz ?? null;
}
