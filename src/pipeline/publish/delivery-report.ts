import type { DeliveryOutcome, Lane, OutboxEntry } from "../../core/delivery/delivery.ts";
import { QUOTA_EXCEEDED, reasonName } from "../../core/delivery/reason-names.ts";
import type { Message, PublishOutcome } from "../../core/message.ts";
import type { Clock, Logger } from "../../core/ports.ts";
import { LogPace } from "../../lib/log-pace.ts";
import type { UplinkMetrics } from "../../lib/metrics.ts";

/** Problems remembered so that each is logged once; the oldest are forgotten and may be logged again. */
const REMEMBERED_MAX = 1000;

/** Counts the outcomes of messages, and logs each refused topic once, and oversize messages once a minute. */
export class DeliveryReport {
  readonly #parts: {
    readonly logger: Logger;
    readonly metrics: Pick<UplinkMetrics, "delivered" | "laneDelivered" | "deliveryFailures">;
  };
  /** Topic → reason it is refused for. */
  readonly #refused = new Map<string, string>();
  readonly #oversize = new Set<string>();
  readonly #oversizeLines: LogPace;
  /** Delivered in this lane and not yet in the counter: a burst mostly belongs to one lane. */
  #lane: Lane | null = null;
  #laneDelivered = 0;
  delivered = 0;
  /** By reason. */
  readonly failures: Record<string, number> = {};

  constructor(parts: {
    readonly logger: Logger;
    readonly clock: Pick<Clock, "monotonic">;
    readonly metrics: Pick<UplinkMetrics, "delivered" | "laneDelivered" | "deliveryFailures">;
  }) {
    this.#parts = parts;
    this.#oversizeLines = new LogPace(parts.clock);
  }

  judge(
    lane: Lane,
    entry: OutboxEntry,
    message: Message,
    published: PublishOutcome,
  ): DeliveryOutcome {
    const { logger } = this.#parts;
    const { topic } = message;
    switch (published.result) {
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
        const { bytes, limitBytes } = published;
        const line = this.#oversizeLines.next(`${lane} ${entry.live ? "live" : "history"}`);
        if (line === null) return "oversize";
        logger.error(
          { lane, topic, id: entry.reading.id, bytes, limitBytes, ...others(line.heldBack) },
          "a message exceeds the broker's packet limit: raise that limit",
        );
        return "oversize";
      }
      case "refused": {
        const reason = reasonName(published.code);
        this.failed(reason);
        if (this.#refused.get(topic) !== reason) {
          this.#refused.set(topic, reason);
          forgetOldest(this.#refused);
          // A quota is used up for a while; for any other reason somebody has to change something.
          const level = reason === QUOTA_EXCEEDED ? "warn" : "error";
          logger[level]({ lane, topic, reason }, "the broker refuses this topic; trying again");
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

/** Number of others since the last line. */
const others = (count: number) => (count === 0 ? {} : { others: count });

function forgetOldest(memory: Map<string, string> | Set<string>): void {
  if (memory.size <= REMEMBERED_MAX) return;
  for (const key of memory.keys()) {
    memory.delete(key);
    return;
  }
}
