import type { DayKey } from "../../core/day.ts";
import type { Logger } from "../../core/ports.ts";
import type { RejectReason } from "../../core/record.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { SecretGate } from "../../lib/secrets.ts";

/** Characters of the faulty text in a log line. */
const DETAIL_MAX = 300;

/**
 * Records that cannot be used: every one is counted; the first of each sensor, kind and reason is logged, because the
 * gateway sends the same ones again with every response.
 */
export class RejectLog {
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #gate: SecretGate;
  /** The number of entries is limited by configured sensors, kinds and reasons. */
  readonly #logged = new Set<string>();

  constructor(logger: Logger, metrics: Metrics, gate: SecretGate) {
    this.#logger = logger;
    this.#metrics = metrics;
    this.#gate = gate;
  }

  /** Returns the reason in words. */
  add(key: DayKey, reason: RejectReason, given: string): string {
    this.#metrics.rejected.inc({ reason });
    const detail = this.#gate.redact(given).slice(0, DETAIL_MAX);
    const subject = `${key.sensor} ${key.kind} ${reason}`;
    if (this.#logged.has(subject)) {
      this.#logger.debug({ ...key, reason, detail }, "record rejected");
      return `${reason}: ${detail}`;
    }
    this.#logged.add(subject);
    this.#logger.warn(
      { ...key, reason, detail },
      "record rejected; further ones of this sensor, kind and reason are only counted",
    );
    return `${reason}: ${detail}`;
  }
}
