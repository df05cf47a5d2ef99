import type { DayKey, Logger } from "../core/ports.ts";
import type { RejectReason } from "../core/record.ts";
import type { Metrics } from "../lib/metrics.ts";

/**
 * Records that cannot be used: every one is counted; the log has the first of each sensor, kind and reason, for the gateway
 * sends the same ones again with every answer.
 */
export class RejectLog {
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  /** No more entries than configured sensors have kinds and kinds have reasons. */
  readonly #told = new Set<string>();

  constructor(logger: Logger, metrics: Metrics) {
    this.#logger = logger;
    this.#metrics = metrics;
  }

  add(key: DayKey, reason: RejectReason, detail: string): void {
    this.#metrics.rejected.inc({ reason });
    const subject = `${key.sensor} ${key.kind} ${reason}`;
    if (this.#told.has(subject)) {
      this.#logger.debug({ ...key, reason, detail }, "record not used");
      return;
    }
    this.#told.add(subject);
    this.#logger.warn(
      { ...key, reason, detail },
      "a record cannot be used; more of this sensor, kind and reason are counted only",
    );
  }
}
