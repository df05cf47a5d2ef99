import { Backoff } from "../../lib/backoff.ts";
import type { DayRead } from "./day-read.ts";
import type { Task } from "./task.ts";

/** Back-off of one (sensor, kind, day), and of the gateway as a whole (services section 5, "Retry"). */
export const BACKOFF_MIN_MS = 1_000;
export const BACKOFF_MAX_MS = 300_000;
/** If this many different keys fail with no success in between, the gateway is the cause, not the keys. */
const FAILURES_OF_A_GATEWAY = 5;

/** When the gateway as a whole is paused: it cannot be reached, or has sent `Retry-After`. */
export class GatewayPause {
  readonly #backoff: Backoff;
  /** Keys that failed since the last success. */
  readonly #failing = new Set<Task>();
  #untilMs = 0;

  constructor(random: () => number) {
    this.#backoff = new Backoff(BACKOFF_MIN_MS, BACKOFF_MAX_MS, random);
  }

  /** No requests before this moment, monotonic ms. */
  get untilMs(): number {
    return this.#untilMs;
  }

  succeeded(): void {
    this.#backoff.reset();
    this.#failing.clear();
  }

  /** @param nowMs monotonic */
  failed(task: Task, read: DayRead & { ok: false }, nowMs: number): void {
    // A status number is a response: the gateway works.
    if (read.failureClass !== "service_status") this.#failing.add(task);
    if (read.retryAfterMs !== null) {
      this.#untilMs = Math.max(this.#untilMs, nowMs + read.retryAfterMs);
      return;
    }
    const isGateway = read.isGatewayFault || this.#failing.size >= FAILURES_OF_A_GATEWAY;
    // Calls in progress when the pause began met the same fault: they do not lengthen it.
    if (isGateway && nowMs >= this.#untilMs) this.#untilMs = nowMs + this.#backoff.next();
  }
}
