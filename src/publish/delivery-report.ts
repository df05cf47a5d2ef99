import type {
  DeliveryOutcome,
  Lane,
  Logger,
  Message,
  OutboxEntry,
  PublishOutcome,
} from "../core/ports.ts";
import type { Metrics } from "../lib/metrics.ts";
import { reasonName } from "./link-errors.ts";

/** Troubles remembered so that each is logged once; older ones make room and may be logged again. */
const REMEMBERED_MAX = 1000;

/** Counts what becomes of messages, and tells the log about each refused topic and each oversize message once. */
export class DeliveryReport {
  readonly #parts: {
    readonly logger: Logger;
    readonly metrics: Pick<Metrics, "delivered" | "laneDelivered" | "deliveryFailures">;
  };
  /** Topic → reason it is refused for. */
  readonly #refused = new Map<string, string>();
  readonly #oversize = new Set<string>();
  /** Delivered in this lane and not yet in the counter: bursts are of one lane, mostly. */
  #lane: Lane | null = null;
  #laneDelivered = 0;
  delivered = 0;
  /** By reason. */
  readonly failures: Record<string, number> = {};

  constructor(parts: {
    readonly logger: Logger;
    readonly metrics: Pick<Metrics, "delivered" | "laneDelivered" | "deliveryFailures">;
  }) {
    this.#parts = parts;
  }

  judge(lane: Lane, entry: OutboxEntry, message: Message, answer: PublishOutcome): DeliveryOutcome {
    const { logger } = this.#parts;
    const { topic } = message;
    switch (answer.result) {
      case "delivered":
        this.delivered += 1;
        if (lane !== this.#lane) this.#countTo(lane);
        this.#laneDelivered += 1;
        if (this.#refused.size > 0 && this.#refused.delete(topic)) {
          logger.info({ lane, topic }, "the broker accepts this topic again");
        }
        return "sent";
      case "lost":
        this.failed("lost");
        return "kept";
      case "oversize": {
        const key = `${lane} ${entry.reading.id}`;
        if (this.#oversize.has(key)) return "oversize";
        this.#oversize.add(key);
        forgetOldest(this.#oversize);
        this.failed("oversize");
        const { bytes, limitBytes } = answer;
        logger.error(
          { lane, topic, id: entry.reading.id, bytes, limitBytes },
          "message is larger than the broker takes: raise its packet limit",
        );
        return "oversize";
      }
      case "refused": {
        const reason = reasonName(answer.code);
        this.failed(reason);
        if (this.#refused.get(topic) !== reason) {
          this.#refused.set(topic, reason);
          forgetOldest(this.#refused);
          logger.error({ lane, topic, reason }, "the broker refuses this topic; it is tried again");
        }
        return "refused";
      }
    }
  }

  failed(reason: string): void {
    this.failures[reason] = (this.failures[reason] ?? 0) + 1;
    this.#parts.metrics.deliveryFailures.inc({ reason });
  }

  /** Counters are touched once per burst. */
  flush(): void {
    this.#countTo(this.#lane);
  }

  #countTo(next: Lane | null): void {
    if (this.#lane !== null && this.#laneDelivered > 0) {
      this.#parts.metrics.delivered.inc(this.#laneDelivered);
      this.#parts.metrics.laneDelivered.inc({ lane: this.#lane }, this.#laneDelivered);
    }
    this.#lane = next;
    this.#laneDelivered = 0;
  }
}

function forgetOldest(memory: Map<string, string> | Set<string>): void {
  if (memory.size <= REMEMBERED_MAX) return;
  for (const key of memory.keys()) {
    memory.delete(key);
    return;
  }
}
