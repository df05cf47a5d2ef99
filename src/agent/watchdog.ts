import type { Clock } from "../core/ports.ts";
import type { SystemdNotifier } from "../lib/sd-notify.ts";

/** The loop is proved by its timers: as long as they are this late at most, ms. */
const HEARTBEAT_AGE_MAX_MS = 30_000;
const HEARTBEAT_EVERY_MS = 5_000;

export interface WatchdogParts {
  readonly clock: Clock;
  readonly store: { isAlive(): boolean };
  readonly notifier: SystemdNotifier | null;
}

export interface HealthPart {
  readonly name: string;
  readonly isWell: boolean;
  readonly detail: string;
}

/** Whether loop and database work: what /healthz answers, and what systemd's watchdog is fed by. */
export class Watchdog {
  readonly #parts: WatchdogParts;
  #beatAt: number;

  constructor(parts: WatchdogParts) {
    this.#parts = parts;
    this.#beatAt = parts.clock.monotonic();
  }

  health(): HealthPart[] {
    const { clock, store } = this.#parts;
    const ageMs = clock.monotonic() - this.#beatAt;
    const isLoopWell = ageMs < HEARTBEAT_AGE_MAX_MS;
    const isStoreWell = store.isAlive();
    return [
      {
        name: "loop",
        isWell: isLoopWell,
        detail: isLoopWell ? "" : `no heartbeat for ${Math.round(ageMs / 1000)} s`,
      },
      {
        name: "database",
        isWell: isStoreWell,
        detail: isStoreWell ? "" : "the database does not answer",
      },
    ];
  }

  /** Proves the loop by running. A ping is a claim that both work, so there is none while one does not. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, notifier } = this.#parts;
    const everyMs = Math.min(HEARTBEAT_EVERY_MS, notifier?.aliveEveryMs ?? HEARTBEAT_EVERY_MS);
    while (!signal.aborted) {
      this.#beatAt = clock.monotonic();
      if (this.health().every(({ isWell }) => isWell)) notifier?.alive();
      await clock.sleep(everyMs, signal);
    }
  }
}
