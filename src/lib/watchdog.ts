import type { Clock } from "../core/ports.ts";
import type { HealthPart } from "../core/query/ports.ts";
import type { SystemdNotifier } from "./sd-notify.ts";

/** The loop is checked by its timers: they may be at most this late, ms. */
const HEARTBEAT_AGE_MAX_MS = 30_000;
const HEARTBEAT_EVERY_MS = 5_000;

export interface WatchdogParts {
  readonly clock: Clock;
  readonly store: { isAlive(): boolean; readonly writeFailure?: string | null };
  readonly notifier: SystemdNotifier | null;
}

/**
 * Whether loop and database work: the basis of /healthz and of systemd's watchdog. A database that responds but cannot
 * be written is no reason for a restart: the store is tried again every ten seconds and reopened by itself, and a new
 * process would find the same disk.
 */
export class Watchdog {
  readonly #parts: WatchdogParts;
  #beatAt: number;

  constructor(parts: WatchdogParts) {
    this.#parts = parts;
    this.#beatAt = parts.clock.monotonic();
  }

  health(): HealthPart[] {
    const failure = this.#parts.store.writeFailure ?? null;
    return this.#vital().map((part) =>
      part.name === "database" && part.isWell && failure !== null
        ? { ...part, isWell: false, detail: `the database cannot be written: ${failure}` }
        : part,
    );
  }

  #vital(): HealthPart[] {
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
        detail: isStoreWell ? "" : "the database does not respond",
      },
    ];
  }

  /** Proves by running that the loop works. A ping asserts that both work, so none is sent while one does not. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, notifier } = this.#parts;
    const everyMs = Math.min(HEARTBEAT_EVERY_MS, notifier?.aliveEveryMs ?? HEARTBEAT_EVERY_MS);
    while (!signal.aborted) {
      this.#beatAt = clock.monotonic();
      if (notifier !== null && this.#vital().every(({ isWell }) => isWell)) notifier.alive();
      await clock.sleep(everyMs, signal);
    }
  }
}
