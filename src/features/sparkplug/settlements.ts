import type { DeliveryOutcome, OutboxEntry } from "../../core/delivery/delivery.ts";
import type { Outbox, Runtime } from "../../core/ports.ts";
import { codeOf } from "../../core/thrown.ts";
import { LogPace } from "../../lib/log-pace.ts";
import type { UplinkMetrics } from "../../lib/metrics.ts";
import type { SparkplugLane } from "./proof-window.ts";

export interface SettlementsParts extends Runtime {
  readonly outbox: Outbox;
  readonly metrics: Pick<UplinkMetrics, "delivered" | "laneDelivered" | "deliveryFailures">;
}

/** At shutdown (contract section 2: 10 s in all): for the store. */
const RECORD_MAX_MS = 2_000;
/** Logged individually; on a disk with more damage than this the rest adds nothing. */
const DAMAGED_MAX = 1_000;

/** Records the outcome of each entry in the outbox, and counts deliveries and failures. */
export class Settlements {
  readonly #parts: SettlementsParts;
  readonly #recording = new Set<Promise<void>>();
  #delivered = 0;
  /** Ids of readings whose damage was logged. */
  readonly #damaged = new Set<string>();
  #oversize = 0;
  readonly #oversizeLines: LogPace;

  constructor(parts: SettlementsParts) {
    this.#parts = parts;
    this.#oversizeLines = new LogPace(parts.clock);
  }

  get delivered(): number {
    return this.#delivered;
  }

  get failures(): Readonly<Record<string, number>> {
    return {
      ...(this.#oversize === 0 ? {} : { oversize: this.#oversize }),
      ...(this.#damaged.size === 0 ? {} : { damaged: this.#damaged.size }),
    };
  }

  settle(lane: SparkplugLane, entries: readonly OutboxEntry[], outcome: DeliveryOutcome): void {
    const { outbox, logger, metrics } = this.#parts;
    if (entries.length === 0) return;
    if (outcome === "sent") {
      this.#delivered += entries.length;
      metrics.delivered.inc(entries.length);
      metrics.laneDelivered.inc({ lane }, entries.length);
    }
    const recorded = outbox
      .settle(
        lane,
        entries.map((entry) => ({ entry, outcome })),
      )
      .catch((err: unknown) => {
        // Stays leased until released, and is sent again: a duplicate is better than a loss.
        if (codeOf(err) === "closed") return;
        logger.error({ err, lane }, "deliveries could not be recorded");
      })
      .finally(() => this.#recording.delete(recorded));
    this.#recording.add(recorded);
  }

  /** Resolves once everything settled is on disk, or time is up. */
  async recorded(): Promise<void> {
    if (this.#recording.size > 0) void this.#parts.outbox.flush();
    const done = new AbortController();
    const limit = this.#parts.clock.sleep(RECORD_MAX_MS, done.signal);
    await Promise.race([Promise.all(this.#recording), limit]);
    done.abort();
  }

  /** Logged once per reading, however often it is sent again. */
  damaged({ reading: { id, sensor, kind } }: OutboxEntry): void {
    const { logger, metrics } = this.#parts;
    if (this.#damaged.has(id) || this.#damaged.size >= DAMAGED_MAX) return;
    this.#damaged.add(id);
    metrics.deliveryFailures.inc({ reason: "damaged" });
    const what = { link: "sparkplug", id, sensor, kind };
    logger.error(what, "a stored reading is damaged and cannot be sent in full");
  }

  /** Settles a message that exceeds the broker's packet limit. */
  oversize(what: string, lane: SparkplugLane, entries: readonly OutboxEntry[]): void {
    const { logger, metrics } = this.#parts;
    const line = this.#oversizeLines.next(`${lane} ${what.split(" ")[0]}`);
    if (line !== null) {
      const others = line.heldBack === 0 ? {} : { others: line.heldBack };
      logger.error(
        { link: "sparkplug", what, ...others },
        "a message exceeds the broker's packet limit",
      );
    }
    metrics.deliveryFailures.inc({ reason: "oversize" });
    this.#oversize += 1;
    this.settle(lane, entries, "oversize");
  }
}
