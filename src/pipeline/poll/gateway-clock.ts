import type { Clock } from "../../core/ports.ts";
import { DAY_MS } from "../../core/time-units.ts";

/** HTTP `Date` has whole seconds: on average the true time is half a second later. */
const DATE_GRAIN_MS = 500;
/** Differences up to this are the header's resolution and network delay, not a change of the clock. */
const TOLERANCE_MS = 1_500;
/** A larger change is a clock that was set or jumped. */
const JUMP_MS = 5 * 60_000;
/** A time that others confirm to within this may remove what is too old. */
const CONFIRMED_WITHIN_MS = DAY_MS;

/** A time that was known at one moment of the monotonic clock. */
interface Anchor {
  readonly gatewayMs: number;
  readonly monotonic: number;
}

/**
 * The gateway's clock, continued by monotonic time between responses, so that a box without a clock chip, or whose own
 * clock is set, still requests the right day. Our clock is used until a response has a `Date`.
 */
export class GatewayClock {
  readonly #clock: Clock;
  #anchor: Anchor | null = null;
  /** The newest record that confirmed our clock. */
  #record: Anchor | null = null;

  /** Our clock minus the monotonic one when it was last looked at, ms. */
  #ownOffsetMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#ownOffsetMs = clock.now() - clock.monotonic();
  }

  /**
   * How far our own clock has been set since the last call, ms; 0 for less than JUMP_MS, and while the gateway's is known. To be asked
   * from time to time: without a `Date`, nothing else tells that it was wrong.
   */
  ownJumpMs(): number {
    const offsetMs = this.#clock.now() - this.#clock.monotonic();
    const jumpMs = Math.round(offsetMs - this.#ownOffsetMs);
    if (Math.abs(jumpMs) <= JUMP_MS) return 0;
    this.#ownOffsetMs = offsetMs;
    return this.#anchor === null ? jumpMs : 0;
  }

  /**
   * Whole ms since 1970: the monotonic clock has fractions of one, and times are stored as integers. Bound, since parts that need only
   * this get it as `gatewayNow`.
   */
  readonly now = (): number => {
    const anchor = this.#anchor;
    if (anchor === null) return this.#clock.now();
    return Math.floor(anchor.gatewayMs + (this.#clock.monotonic() - anchor.monotonic));
  };

  /** True once a response carried the time. */
  get isKnown(): boolean {
    return this.#anchor !== null;
  }

  /**
   * Since the start, a `Date` of the gateway or a newly read record lay within a day of our clock, and our clock has not
   * jumped since.
   */
  get isConfirmed(): boolean {
    return [this.#anchor, this.#record].some((anchor) => {
      if (anchor === null) return false;
      const expectedMs = anchor.gatewayMs + (this.#clock.monotonic() - anchor.monotonic);
      return Math.abs(expectedMs - this.#clock.now()) < CONFIRMED_WITHIN_MS;
    });
  }

  /** A record with this time was read and had not been known. */
  observeRecord(timeMs: number): void {
    if (Math.abs(timeMs - this.#clock.now()) < CONFIRMED_WITHIN_MS)
      this.#record = { gatewayMs: timeMs, monotonic: this.#clock.monotonic() };
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
