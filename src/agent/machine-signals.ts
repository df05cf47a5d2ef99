/** State and speed of the machines over stored readings, for alarms, findings and bands. */
import { SignalsOnly } from "../core/machine-state/signals-only.ts";
import type { Wait } from "../core/machine-state/wait.ts";
import type { SiteSource } from "../core/site-source.ts";
import type { Store } from "../pipeline/store/store.ts";
import { createWait, type SignalOptions } from "./alarms/priming.ts";

export interface Signals {
  readonly wait: Wait;
  /** Loads what is stored, in steps; after the last one they follow what is stored, and the site file. */
  open(): Generator<void, void>;
}

/** Without alarms: only the signals are followed. */
export function openSignals(
  site: SiteSource,
  { alarms, history }: Pick<Store, "alarms" | "history">,
  options: SignalOptions,
): Signals {
  const wait = createWait(site.current, history, options);
  return {
    wait,
    *open() {
      yield* wait.loadSignals();
      alarms.follower = new SignalsOnly(wait);
      site.onChange((next) => wait.setSite(next));
    },
  };
}
