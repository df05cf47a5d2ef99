import { CallFailure } from "../../core/failure.ts";
import type { Clock } from "../../core/ports.ts";
import type { AbortCallbacks } from "../../lib/abort-callbacks.ts";

/**
 * A service that was never called, or not for a while, may take a minute to start. Its first call runs alone and with
 * more time; the others wait until it ends, because a second one would only delay the start. A first call that times out
 * has given it that time: what it asked for may be what hangs, and the others are called as usual.
 */
export class WakeUp {
  readonly #clock: Clock;
  readonly #aborts: AbortCallbacks;
  readonly #idleMs: number;
  /** When it last responded, or had the time to start; monotonic ms. */
  #lastAwakeAt: number | null = null;
  #waking: Promise<unknown> | null = null;

  constructor(clock: Clock, aborts: AbortCallbacks, idleMs: number) {
    this.#clock = clock;
    this.#aborts = aborts;
    this.#idleMs = idleMs;
  }

  /**
   * Runs a call when it may start; it resolves to an Error if there was no response. Null when aborted while waiting.
   */
  async pass<T extends object>(
    signal: AbortSignal,
    call: (isWakeUp: boolean) => Promise<T>,
  ): Promise<T | null> {
    while (this.#waking) {
      await this.#untilEither(this.#waking, signal);
      if (signal.aborted) return null;
    }
    const isAsleep =
      this.#lastAwakeAt === null || this.#clock.monotonic() - this.#lastAwakeAt > this.#idleMs;
    const running = call(isAsleep);
    if (isAsleep) this.#waking = running.catch(() => {});
    try {
      const result = await running;
      if (!(result instanceof Error) || (isAsleep && hadItsTime(result)))
        this.#lastAwakeAt = this.#clock.monotonic();
      return result;
    } finally {
      if (isAsleep) this.#waking = null;
    }
  }

  #untilEither(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const leave = this.#aborts.add(signal, resolve);
      const done = () => {
        leave();
        resolve();
      };
      promise.then(done, done);
    });
  }
}

const hadItsTime = (error: Error): boolean =>
  error instanceof CallFailure && error.code === "first_byte_timeout";
