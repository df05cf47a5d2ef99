import type {
  CommandLog,
  CommandResult,
  SensorSettings,
  SettingsGateway,
  SettingsOperation,
} from "../../core/command.ts";
import { CallFailure } from "../../core/failure.ts";
import type { Clock } from "../../core/ports.ts";
import { rejectedLocally, resultOfFailure, resultOfResponse } from "./command-result.ts";

/** At most one call per 10 s (contract section 8), from the end of one to the next: a slow call may be followed by a fast one. */
const CALL_SPACING_MS = 10_000;
export const WAITING_MAX = 10;

export interface CallQueueParts {
  readonly gateway: SettingsGateway;
  readonly log: Pick<CommandLog, "lastCall">;
  readonly clock: Clock;
}

/** Calls of the gateway: one at a time, in order of arrival, at most one per ten seconds, also across restarts. */
export class CallQueue {
  readonly #parts: CallQueueParts;
  readonly #operation: SettingsOperation;
  readonly #stop = new AbortController();
  /** The end of the queue. */
  #turn: Promise<void> = Promise.resolve();
  /** Commands accepted and not answered; of these, the ones whose first call has not begun. */
  #accepted = 0;
  #waiting = 0;
  /** Monotonic, ms; null until the log was queried for the last call before our start. */
  #lastCallAt: number | null = null;

  constructor(parts: CallQueueParts, operation: SettingsOperation) {
    this.#parts = parts;
    this.#operation = operation;
  }

  /** Looks up the last call of an earlier process, once. Throws StoreFailure. */
  load(): void {
    this.#lastCallAt ??= this.#lastCallBeforeStart();
  }

  /** Whether a command that arrives now would wait for others or for the spacing. */
  get mustWait(): boolean {
    return this.#accepted > 0 || this.#parts.clock.monotonic() < this.#nextCallAt();
  }

  /** Accepts no further waits. */
  get isFull(): boolean {
    return this.#waiting >= WAITING_MAX;
  }

  /** Ends waits and calls; commands in progress are answered. */
  stop(): void {
    this.#stop.abort();
  }

  /** @param mustWait its value when the command was accepted */
  async call(settings: SensorSettings, mustWait: boolean): Promise<CommandResult> {
    const before = this.#turn;
    let done = () => {};
    this.#turn = new Promise((resolve) => {
      done = resolve;
    });
    this.#accepted += 1;
    if (mustWait) this.#waiting += 1;
    try {
      await before;
      return await this.#callNow(settings, mustWait);
    } finally {
      this.#accepted -= 1;
      done();
    }
  }

  async #callNow(settings: SensorSettings, mustWait: boolean): Promise<CommandResult> {
    const { gateway, clock } = this.#parts;
    const { signal } = this.#stop;
    const waitMs = this.#nextCallAt() - clock.monotonic();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    if (mustWait) this.#waiting -= 1;
    if (signal.aborted) return rejectedLocally("the agent is stopping; the gateway was not called");
    this.#lastCallAt = clock.monotonic();
    try {
      return resultOfResponse(await gateway.queueSettings(this.#operation, settings, signal));
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      return resultOfFailure(error);
    } finally {
      this.#lastCallAt = clock.monotonic();
    }
  }

  #nextCallAt(): number {
    return (this.#lastCallAt ?? Number.NEGATIVE_INFINITY) + CALL_SPACING_MS;
  }

  /** The spacing holds across a restart. A wall clock that jumped can only make us wait one spacing too long. */
  #lastCallBeforeStart(): number {
    const { log, clock } = this.#parts;
    const call = log.lastCall();
    if (call === null) return Number.NEGATIVE_INFINITY;
    // A command waits its turn, so its call is closer to its end; one interrupted by a crash may have waited longest.
    const at = call.finishedAtMs ?? call.receivedAtMs + WAITING_MAX * CALL_SPACING_MS;
    return clock.monotonic() - Math.max(0, clock.now() - at);
  }
}
