import type { DayKey } from "../core/day.ts";
import type { Logger } from "../core/ports.ts";
import type { RejectReason } from "../core/record.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { SecretGate } from "../lib/secrets.ts";

/** A log line shows so many characters of what was wrong. */
const DETAIL_MAX = 300;

/**
 * Records that cannot be used: every one is counted; the log has the first of each sensor, kind and reason, for the gateway
 * sends the same ones again with every answer.
 */
export class RejectLog {
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #gate: SecretGate;
  /** No more entries than configured sensors have kinds and kinds have reasons. */
  readonly #logged = new Set<string>();

  constructor(logger: Logger, metrics: Metrics, gate: SecretGate) {
    this.#logger = logger;
    this.#metrics = metrics;
    this.#gate = gate;
  }

  add(key: DayKey, reason: RejectReason, given: string): void {
    this.#metrics.rejected.inc({ reason });
    const detail = this.#gate.redact(given).slice(0, DETAIL_MAX);
    const subject = `${key.sensor} ${key.kind} ${reason}`;
    if (this.#logged.has(subject)) {
      this.#logger.debug({ ...key, reason, detail }, "record rejected");
      return;
    }
    this.#logged.add(subject);
    this.#logger.warn(
      { ...key, reason, detail },
      "record rejected; further ones of this sensor, kind and reason are only counted",
    );
  }
}
