import type { Clock } from "../../src/core/ports.ts";
import { systemClock } from "../../src/lib/clock.ts";

/** The system's clock, which remembers how long each sleep was meant to last, ms. */
export function recordingClock(): Clock & { readonly pauses: readonly number[] } {
  const pauses: number[] = [];
  return {
    pauses,
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic(),
    sleep(ms, signal) {
      pauses.push(ms);
      return systemClock.sleep(ms, signal);
    },
  };
}
