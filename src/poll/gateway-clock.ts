import type { Clock } from "../core/ports.ts";

/** HTTP `Date` has whole seconds: on average the true time is half a second later. */
const DATE_GRAIN_MS = 500;
/** Differences up to this are the header's resolution and network delay, not a change of the clock. */
const TOLERANCE_MS = 1_500;
/** A larger change is a clock that was set or jumped. */
const JUMP_MS = 5 * 60_000;

/**
 * The gateway's clock, continued by monotonic time between responses, so that a box without a clock chip, or whose own
 * clock is set, still requests the right day. Our clock is used until a response has a `Date`.
 */
export class GatewayClock {
  readonly #clock: Clock;
  #anchor: { readonly gatewayMs: number; readonly monotonic: number } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whole ms since 1970: the monotonic clock has fractions of one, and times are stored as integers. */
  now(): number {
    const anchor = this.#anchor;
    if (anchor === null) return this.#clock.now();
    return Math.floor(anchor.gatewayMs + (this.#clock.monotonic() - anchor.monotonic));
  }

  /** True once a response carried the time. */
  get isKnown(): boolean {
    return this.#anchor !== null;
  }

  /** Gateway clock minus ours, ms; null before it is known. */
  get skewMs(): number | null {
    return this.#anchor === null ? null : this.now() - this.#clock.now();
  }

  /** A response had this `Date`. Returns how far the clock jumped, ms (0 for none). */
  observe(dateMs: number): number {
    const headerMs = dateMs + DATE_GRAIN_MS;
    const difference = headerMs - this.now();
    if (this.#anchor !== null && Math.abs(difference) <= TOLERANCE_MS) return 0;
    this.#anchor = { gatewayMs: headerMs, monotonic: this.#clock.monotonic() };
    return Math.abs(difference) > JUMP_MS ? difference : 0;
  }
}
