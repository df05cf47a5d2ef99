/** State and speed of the machines over stored readings, for alarms, findings and bands. */
import { SignalsOnly } from "../core/machine-state/signals-only.ts";
import { Wait, type WaitOptions } from "../core/machine-state/wait.ts";
import type { Clock } from "../core/ports.ts";
import type { SiteSource } from "../core/site-source.ts";
import type { Store } from "../store/store.ts";
import { earlierPoints, primeSignals } from "./alarms/priming.ts";

export interface Signals {
  readonly wait: Wait;
  /** Loads what is stored; from now on they follow what is stored, and the site file. */
  open(): void;
}

export interface SignalOptions extends Required<Pick<WaitOptions, "zone" | "pendingDays">> {
  readonly clock: Pick<Clock, "monotonic">;
}

/** Without alarms: only the signals are followed. */
export function openSignals(
  site: SiteSource,
  { alarms, history }: Pick<Store, "alarms" | "history">,
  { clock, zone, pendingDays }: SignalOptions,
): Signals {
  const startedAt = clock.monotonic();
  const wait = new Wait(site.current, {
    earlier: (signal, timeMs, count) => earlierPoints(history, signal, timeMs, count),
    zone,
    runningMs: () => clock.monotonic() - startedAt,
    pendingDays,
  });
  return {
    wait,
    open: () => {
      primeSignals(history, { wait });
      alarms.follower = new SignalsOnly(wait);
      site.onChange((next) => {
        wait.setSite(next);
        primeSignals(history, { wait });
      });
    },
  };
}
