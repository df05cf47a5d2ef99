import type { Clock } from "../core/ports.ts";
import { AbortCallbacks } from "./abort-callbacks.ts";

/** Sleepers by their signal: many wait on the one that ends the agent. */
const sleepers = new AbortCallbacks();

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const timer = setTimeout(
        () => {
          forget?.();
          resolve();
        },
        Math.max(0, ms),
      );
      const forget =
        signal &&
        sleepers.add(signal, () => {
          clearTimeout(timer);
          resolve();
        });
    }),
};
