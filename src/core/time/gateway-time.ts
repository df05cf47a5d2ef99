import type { Clock } from "../ports.ts";

/** How long the gateway's time is awaited before the box's clock is used, ms. */
const GATEWAY_WAIT_MS = 600_000;

export interface GatewayTimeParts {
  readonly clock: Clock;
  /** The gateway's clock, ms; null until a response contained it. Undefined if there is no gateway to wait for. */
  readonly gatewayNow: (() => number | null) | undefined;
  /** False while nothing may age by the gateway's clock; it always may unless given. */
  readonly isConfirmed?: () => boolean;
}

/**
 * The time by which backlog ages and shelves end, awaited after a start. Readings have the gateway's time, so what
 * depends on their age does too: a box whose clock is hours ahead would otherwise drop readings that are seconds old.
 */
export class GatewayTime {
  readonly #parts: GatewayTimeParts;
  readonly #startedAt: number;

  constructor(parts: GatewayTimeParts) {
    this.#parts = parts;
    this.#startedAt = parts.clock.monotonic();
  }

  /** ms since 1970; null while the gateway's time may still come: nothing is too old or due yet. */
  now(): number | null {
    const { clock, gatewayNow, isConfirmed } = this.#parts;
    if (isConfirmed?.() === false) return null;
    if (gatewayNow === undefined) return clock.now();
    const gatewayMs = gatewayNow();
    if (gatewayMs !== null) return gatewayMs;
    return clock.monotonic() - this.#startedAt < GATEWAY_WAIT_MS ? null : clock.now();
  }
}
