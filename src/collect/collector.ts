import type { Clock, Logger } from "../core/ports.ts";
import { Backoff } from "../lib/backoff.ts";
import { failureKind, messageOf, sqlState } from "./database/failure.ts";
import type { Entry, Writer, Written } from "./database/writer.ts";
import type { Delivery } from "./delivery.ts";
import type { Inbox } from "./inbox.ts";
import type { CollectMetrics } from "./metrics.ts";
import { type ParseOptions, parseMessage, rejected } from "./parse/parse-message.ts";

export interface CollectorParts {
  readonly inbox: Inbox;
  readonly writer: Writer;
  readonly metrics: CollectMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Sends the acknowledgements of a batch. */
  readonly flush: () => void;
}

/** Per transaction. Larger ones gain little: the statements are shared by 5,000 readings already. */
const BATCH_MESSAGES_MAX = 5000;
const BATCH_BYTES_MAX = 16 << 20;
const RETRY_MIN_MS = 250;
const RETRY_MAX_MS = 15_000;
/** A persistent failure is logged again after this long, ms. */
const REMIND_MS = 60_000;

/**
 * Takes arrived messages, writes them, and acknowledges them once they are committed. While PostgreSQL is
 * unavailable, the current batch waits, nothing is acknowledged, and the broker keeps the rest.
 */
export class Collector {
  readonly #parts: CollectorParts;
  readonly #options: ParseOptions;

  constructor(parts: CollectorParts, options: ParseOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Runs until aborted; the current batch is finished if PostgreSQL responds. */
  async run(signal: AbortSignal): Promise<void> {
    const { inbox, metrics, clock } = this.#parts;
    while (!signal.aborted) {
      const batch = await inbox.take(BATCH_MESSAGES_MAX, BATCH_BYTES_MAX, signal);
      if (batch.length === 0) continue;
      const startedAt = clock.monotonic();
      const entries = batch.map((delivery) => this.#parse(delivery));
      const isWritten = await this.#write(entries, signal);
      if (isWritten) {
        for (const delivery of batch) delivery.acknowledge();
        this.#parts.flush();
        metrics.batchSeconds.observe((clock.monotonic() - startedAt) / 1000);
      }
      inbox.release(batch);
      metrics.waiting.set(inbox.length);
    }
  }

  #parse(delivery: Delivery): Entry {
    return { delivery, item: parseMessage(delivery, this.#options) };
  }

  /**
   * Retries until it is committed; false if aborted first. A message that PostgreSQL refuses is found by bisection and
   * set aside.
   */
  async #write(entries: readonly Entry[], signal: AbortSignal): Promise<boolean> {
    const { writer, clock, logger, metrics } = this.#parts;
    const backoff = new Backoff(RETRY_MIN_MS, RETRY_MAX_MS);
    let warnedAt = Number.NEGATIVE_INFINITY;
    for (;;) {
      try {
        this.#count(entries, await writer.write(entries));
        metrics.databaseUp.set(1);
        if (backoff.failures > 0) logger.info({}, "PostgreSQL accepts readings again");
        return true;
      } catch (error) {
        const kind = failureKind(error);
        if (kind === "data") return this.#divide(entries, error, signal);
        metrics.databaseUp.set(0);
        metrics.databaseFailures.inc({ code: sqlState(error) ?? "connection" });
        if (clock.monotonic() - warnedAt >= REMIND_MS) {
          warnedAt = clock.monotonic();
          const fields = {
            error: messageOf(error),
            code: sqlState(error),
            messages: entries.length,
          };
          if (kind === "setup")
            logger.error(
              fields,
              "PostgreSQL rejects the batch: check privileges and tables; nothing is acknowledged until it is accepted",
            );
          else
            logger.warn(
              fields,
              "PostgreSQL does not accept the batch; nothing is acknowledged until it does",
            );
        }
        if (signal.aborted) return false;
        await clock.sleep(backoff.next(), signal);
      }
    }
  }

  async #divide(entries: readonly Entry[], error: unknown, signal: AbortSignal): Promise<boolean> {
    const [only] = entries;
    if (entries.length === 1 && only !== undefined) {
      // Only bytes and plain text are kept of a rejected one, so this never happens; it must not block the rest all
      // the same.
      if (only.item.type === "rejected") {
        const { logger } = this.#parts;
        logger.error(
          { topic: only.delivery.topic, error: messageOf(error) },
          "message dropped: PostgreSQL rejects even its shortened copy",
        );
        return true;
      }
      const item = rejected("refused_by_database", messageOf(error).slice(0, 300));
      return this.#write([{ delivery: only.delivery, item }], signal);
    }
    const middle = entries.length >> 1;
    return (
      (await this.#write(entries.slice(0, middle), signal)) &&
      (await this.#write(entries.slice(middle), signal))
    );
  }

  #count(entries: readonly Entry[], written: Written): void {
    const { metrics } = this.#parts;
    for (const { item } of entries) metrics.messages.inc({ type: item.type });
    metrics.readings.inc(written.readings);
    metrics.duplicates.inc(written.duplicates);
    metrics.waveforms.inc(written.waveforms);
    metrics.events.inc(written.events);
    for (const { item } of written.rejections) metrics.rejected.inc({ reason: item.reason });
  }
}
