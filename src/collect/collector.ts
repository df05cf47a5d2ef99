import type { Runtime } from "../core/ports.ts";
import { messageOf } from "../core/thrown.ts";
import { Backoff } from "../lib/backoff.ts";
import { LogPace } from "../lib/log-pace.ts";
import { failureKind, refusedItems, sqlState } from "./database/failure.ts";
import type { Entry } from "./database/sorted-batch.ts";
import { noteRuns } from "./database/write-states.ts";
import type { Writer, Written } from "./database/writer.ts";
import type { PendingDelivery } from "./delivery.ts";
import type { Inbox } from "./inbox.ts";
import type { CollectMetrics } from "./metrics.ts";
import type { Item, MessageReject } from "./parse/item.ts";
import { ELEMENTS_MAX, jsonShape } from "./parse/json-shape.ts";
import { type ParseOptions, parseMessage, rejected } from "./parse/parse-message.ts";
import { SiteRuns } from "./site-runs.ts";

export interface CollectorParts extends Runtime {
  readonly inbox: Inbox;
  readonly writer: Writer;
  readonly metrics: CollectMetrics;
  /** Sends the acknowledgements of a batch. */
  readonly flush: () => void;
}

/** Per transaction. Larger ones gain little: the statements are shared by 5,000 readings already. */
const BATCH_MESSAGES_MAX = 5000;
const BATCH_BYTES_MAX = 8 << 20;
/** Of messages that are parsed at once: 5,000 readings have half as many, and `{},` takes 20 times its bytes. */
const BATCH_ELEMENTS_MAX = 500_000;
const RETRY_MIN_MS = 250;
const RETRY_MAX_MS = 15_000;
/** A persistent failure is logged again after this long, ms. */
const REMIND_MS = 60_000;
/** SQLSTATE of a statement that took longer than its limit, or that somebody ended. */
const TIMED_OUT = "57014";
/** Then a message that fails so by itself is set aside. */
const TIMEOUTS_MAX = 3;
/** Of a topic in the log, which may have 64 kB. */
const TOPIC_SHOWN = 200;

/**
 * Takes arrived messages, writes them, and acknowledges them once they are committed. While PostgreSQL is
 * unavailable, the current batch waits, nothing is acknowledged, and the broker keeps the rest.
 */
export class Collector {
  readonly #parts: CollectorParts;
  readonly #options: ParseOptions;
  readonly #pace: LogPace;
  readonly #runs = new SiteRuns();

  constructor(parts: CollectorParts, options: ParseOptions) {
    this.#parts = parts;
    this.#pace = new LogPace(parts.clock);
    this.#options = options;
  }

  /** Runs until aborted; the current batch is finished if PostgreSQL responds. */
  async run(signal: AbortSignal): Promise<void> {
    const { inbox, metrics, clock } = this.#parts;
    while (!signal.aborted) {
      const batch = await inbox.take(BATCH_MESSAGES_MAX, BATCH_BYTES_MAX, signal);
      while (batch.length > 0) {
        const startedAt = clock.monotonic();
        const entries = this.#parse(batch);
        const part = batch.splice(0, entries.length);
        if (await this.#write(entries, signal)) {
          for (const delivery of part) delivery.acknowledge();
          this.#parts.flush();
          metrics.batchSeconds.observe((clock.monotonic() - startedAt) / 1000);
        }
        inbox.release(part);
      }
      metrics.waiting.set(inbox.length);
    }
  }

  /** The first messages, as many as may be held in parsed form at once. */
  #parse(deliveries: readonly PendingDelivery[]): Entry[] {
    const options = { ...this.#options, skewMs: this.#parts.writer.skewMs };
    const entries: Entry[] = [];
    let elements = 0;
    for (const delivery of deliveries) {
      const shape = jsonShape(delivery.payload);
      if (shape.elements <= ELEMENTS_MAX) elements += shape.elements;
      if (entries.length > 0 && elements > BATCH_ELEMENTS_MAX) break;
      entries.push({ delivery, item: parseMessage(delivery, options, shape) });
    }
    return entries;
  }

  /**
   * Retries until it is committed; false if aborted first. A message that PostgreSQL refuses is found and set aside.
   * Throws if this program itself is at fault and it cannot be said with which message.
   */
  async #write(entries: readonly Entry[], signal: AbortSignal): Promise<boolean> {
    const { writer, clock, logger, metrics } = this.#parts;
    const backoff = new Backoff(RETRY_MIN_MS, RETRY_MAX_MS);
    let warnedAt = Number.NEGATIVE_INFINITY;
    let timeouts = 0;
    for (;;) {
      try {
        this.#count(entries, await writer.write(entries));
        metrics.databaseUp.set(1);
        if (backoff.failures > 0) logger.info({}, "PostgreSQL accepts readings again");
        return true;
      } catch (error) {
        const kind = failureKind(error);
        if (sqlState(error) === TIMED_OUT) {
          if (entries.length > 1) return this.#inParts(halvesOf(entries), signal);
          timeouts += 1;
          const [late] = entries;
          if (timeouts >= TIMEOUTS_MAX && late !== undefined && late.item.type !== "rejected")
            return this.#write([setAside(late, "statement_timeout", error)], signal);
        }
        if (kind === "data") return this.#divide(entries, error, signal);
        if (kind === "fault") {
          const [only] = entries;
          if (entries.length > 1 || only === undefined || only.item.type === "rejected")
            throw error;
          return this.#write([setAside(only, "internal_error", error)], signal);
        }
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

  /** Splits the batch by what was refused: a single message is set aside, several are written apart from the others. */
  async #divide(entries: readonly Entry[], error: unknown, signal: AbortSignal): Promise<boolean> {
    const [only] = entries;
    if (entries.length === 1 && only !== undefined && only.item.type === "rejected") {
      // Only bytes and short texts are kept of a rejected one. Whatever PostgreSQL has against it must not block the rest.
      const line = this.#pace.next("dropped");
      const topic = only.delivery.topic.slice(0, TOPIC_SHOWN);
      if (line !== null)
        this.#parts.logger.error(
          { topic, error: messageOf(error), ...line },
          "message dropped: PostgreSQL rejects even its shortened copy",
        );
      return true;
    }
    const refused = new Set(entries.length === 1 ? [only?.item] : refusedItems(error));
    const isRefused = ({ item }: Entry) => refused.has(item);
    const suspects = entries.filter(isRefused);
    if (suspects.length === 1) {
      const others = entries.map((entry) =>
        isRefused(entry) ? setAside(entry, "refused_by_database", error) : entry,
      );
      return this.#write(others, signal);
    }
    const isApart = suspects.length > 1 && suspects.length < entries.length;
    const parts = isApart
      ? [entries.filter((entry) => !isRefused(entry)), suspects]
      : halvesOf(entries);
    return this.#inParts(parts, signal);
  }

  async #inParts(parts: readonly (readonly Entry[])[], signal: AbortSignal): Promise<boolean> {
    for (const part of parts) if (!(await this.#write(part, signal))) return false;
    return true;
  }

  #count(entries: readonly Entry[], written: Written): void {
    const { metrics } = this.#parts;
    for (const { delivery, item } of entries) {
      if (delivery.isRetained !== true) this.#compareRuns(item);
      metrics.messages.inc({ type: item.type });
      if (item.type === "ignored") metrics.ignored.inc({ family: item.family });
    }
    metrics.readings.inc(written.readings);
    metrics.duplicates.inc(written.duplicates);
    metrics.waveforms.inc(written.waveforms);
    metrics.events.inc(written.events);
    for (const { item } of written.rejections) metrics.rejected.inc({ reason: item.reason });
  }

  #compareRuns(item: Item): void {
    const { clock, logger, writer } = this.#parts;
    const runs = this.#runs.heard(item, clock.monotonic());
    if (runs === null || !("site" in item) || item.site === null) return;
    const { site } = item;
    // For `gateside fleet`; where it is not stored, the next message says it again.
    writer
      .maintain(({ client }) => noteRuns(client, site, runs))
      .catch((error: unknown) => logger.warn({ site, error: messageOf(error) }, "runs not stored"));
    const line = this.#pace.next(`runs ${site}`);
    if (line !== null)
      logger.error(
        { site, runs, ...line },
        "two boxes publish as one site; stop one of them, or give it another name and DATA_DIR",
      );
  }
}

function halvesOf(entries: readonly Entry[]): (readonly Entry[])[] {
  const middle = entries.length >> 1;
  return [entries.slice(0, middle), entries.slice(middle)];
}

function setAside({ delivery, item }: Entry, reason: MessageReject, error: unknown): Entry {
  const site = "site" in item ? (item.site ?? null) : null;
  return { delivery, item: { ...rejected(reason, messageOf(error).slice(0, 300)), site } };
}
