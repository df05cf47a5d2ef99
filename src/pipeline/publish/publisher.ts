/** From the outbox to one link. In one file: filling the window, settling and waiting decide on the same counts. */

import type { DeliveryOutcome, OutboxEntry } from "../../core/delivery/delivery.ts";
import { mayHeal } from "../../core/failure.ts";
import type { Message, PublishOutcome } from "../../core/message.ts";
import type { MessageLink, Outbox, Runtime } from "../../core/ports.ts";
import { codeOf } from "../../core/thrown.ts";
import type { UplinkMetrics } from "../../lib/metrics.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import { yieldToLoop } from "../../lib/yield-to-loop.ts";
import { DeliveryReport } from "./delivery-report.ts";
import { type LaneOptions, LeasedEntries, SETTLE_MS } from "./leased-entries.ts";

/** A link as the publisher drives it: with a callback instead of a promise per message. */
interface PublisherLink extends MessageLink {
  /** A publish would be sent at once, of whichever user of the link. */
  readonly hasRoom: boolean;
  /** Until the platform's limit per second lets the next publish through, ms; 0 if it does now. */
  readonly paceWaitMs: number;
  send(message: Message, done: (outcome: PublishOutcome) => void): void;
}

export interface PublisherParts extends Runtime {
  readonly link: PublisherLink;
  readonly outbox: Outbox;
  readonly metrics: Pick<
    UplinkMetrics,
    "delivered" | "laneDelivered" | "deliveryFailures" | "freshness" | "storeDamaged"
  >;
  /** The gateway's clock, ms: freshness is measured by it. */
  readonly gatewayNow: () => number;
}

export interface PublisherOptions {
  /** In order of priority. */
  readonly lanes: readonly LaneOptions[];
  /** MQTT_BACKLOG_RATE, messages per second; 0 = as fast as the broker acknowledges. */
  readonly backlogRatePerS: number;
}

/** Interval at which new live readings are looked up while a backlog drains; also after each window of messages. */
const LIVE_CHECK_MS = 100;
/** An idle publisher checks whether the session is still the same one. */
const IDLE_CHECK_MS = 1000;
/** How long messages in flight are waited for when stopping (contract section 2). */
const FINISH_MS = 5000;
/** How long outcomes are waited for at least, ms. */
const SETTLED_MS = 1000;
/** The store refused a settlement (disk full): retried after this pause. */
const STORE_PAUSE_MS = 1000;
/** Waveforms in flight at once: each may be as large as a hundred readings, and a new reading waits behind them. */
const BACKGROUND_INFLIGHT_MAX = 4;

/** An entry with several messages is settled when all are answered, by the worst outcome. */
interface Ticket {
  readonly entry: OutboxEntry;
  readonly queue: LeasedEntries;
  left: number;
  outcome: DeliveryOutcome;
}

const SEVERITY: Readonly<Record<DeliveryOutcome, number>> = {
  skipped: 0,
  sent: 0,
  refused: 1,
  oversize: 2,
  kept: 3,
};

/**
 * Drains lanes of the outbox over one link. Priority: live readings of every lane, then their backlog in turn, then
 * background lanes. Works in bursts: acknowledgements of one turn of the event loop are settled together, and the
 * window is refilled once after them.
 */
export class Publisher {
  readonly #parts: PublisherParts;
  readonly #queues: LeasedEntries[];
  readonly #bucket: TokenBucket;
  readonly #report: DeliveryReport;
  readonly #settling = new Set<Promise<void>>();
  #turn = 0;
  #sinceLiveCheck = 0;
  #liveCheckAt = 0;
  #storeFailed = false;
  #isWoken = false;
  #wakeUp: (() => void) | null = null;
  /** The session whose lanes have been searched for live readings. */
  #searched = -1;
  readonly #liveListeners = new Set<() => void>();

  constructor(parts: PublisherParts, options: PublisherOptions) {
    this.#parts = parts;
    this.#queues = options.lanes.map((lane) => new LeasedEntries(parts.outbox, lane));
    this.#bucket = new TokenBucket(parts.clock, options.backlogRatePerS);
    this.#report = new DeliveryReport(parts);
  }

  /** Messages the broker has acknowledged since the start. */
  get delivered(): number {
    return this.#report.delivered;
  }
  /** Publishes that did not succeed, by reason. */
  get failures(): Readonly<Record<string, number>> {
    return this.#report.failures;
  }

  /** Live readings of this session are known, or may be there, that have not been sent. */
  get hasLive(): boolean {
    if (this.#searched !== this.#parts.link.session) return true;
    return this.#queues.some((queue) => !queue.isBackground && queue.hasLive);
  }

  /** Resolves once there are none, or when aborted. */
  liveSent(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (this.hasLive && !signal.aborted) return;
        this.#liveListeners.delete(look);
        signal.removeEventListener("abort", look);
        resolve();
      };
      this.#liveListeners.add(look);
      signal.addEventListener("abort", look, { once: true });
      look();
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { link, clock, outbox } = this.#parts;
    while (await link.ready(signal)) {
      // The broker may now accept what it refused before.
      for (const { lane } of this.#queues) outbox.unpark(lane);
      const { session } = link;
      await this.#drain(session, signal);
      await this.#finish(session);
      if (this.#storeFailed) await clock.sleep(STORE_PAUSE_MS, signal);
      this.#storeFailed = false;
    }
  }

  async #drain(session: number, signal: AbortSignal): Promise<void> {
    const { link } = this.#parts;
    const ended = new AbortController();
    const stop = () => this.#wake();
    signal.addEventListener("abort", stop, { once: true });
    for (const queue of this.#queues) queue.markChanged();
    while (link.isConnected && link.session === session && !signal.aborted && !this.#storeFailed) {
      this.#settle(this.#parts.clock.monotonic());
      this.#pump();
      this.#searched = session;
      for (const look of this.#liveListeners) look();
      for (const queue of this.#queues) {
        if (queue.watch(ended.signal, () => this.#wake())) this.#wake();
      }
      await this.#nextEvent();
    }
    ended.abort();
    signal.removeEventListener("abort", stop);
  }

  /** Waits for outstanding acknowledgements; after a lost connection there are none. Then all leases end. */
  async #finish(session: number): Promise<void> {
    const { clock, link } = this.#parts;
    const until = clock.monotonic() + FINISH_MS;
    while (
      link.isConnected &&
      link.session === session &&
      this.#outstanding > 0 &&
      clock.monotonic() < until
    ) {
      await this.#nextEvent();
    }
    this.#settle(Number.POSITIVE_INFINITY);
    if (this.#settling.size > 0) void this.#parts.outbox.flush();
    // Outcomes that another program keeps from being written go on waiting: a new session sends what is left.
    const waited = new AbortController();
    await Promise.race([
      Promise.all(this.#settling),
      clock.sleep(Math.max(SETTLED_MS, until - clock.monotonic()), waited.signal),
    ]);
    waited.abort();
    for (const queue of this.#queues) queue.release();
  }

  #pump(): void {
    const now = this.#parts.clock.monotonic();
    if (
      this.#sinceLiveCheck >= this.#parts.link.inflightMax ||
      now - this.#liveCheckAt >= LIVE_CHECK_MS
    ) {
      this.#sinceLiveCheck = 0;
      this.#liveCheckAt = now;
      for (const queue of this.#queues) if (queue.hasBacklog) queue.markLive();
    }
    for (const queue of this.#queues) {
      if (!queue.isBackground && !this.#sendAll(queue, "live")) return;
    }
    this.#turn += 1;
    const count = this.#queues.length;
    for (let i = 0; i < count; i++) {
      const queue = this.#queues[(this.#turn + i) % count];
      if (queue && !queue.isBackground) this.#sendAll(queue, "backlog");
    }
    if (this.#queues.some((queue) => !queue.isBackground && !queue.isIdle)) return;
    for (const queue of this.#queues) {
      if (queue.isBackground && this.#sendAll(queue, "live")) this.#sendAll(queue, "backlog");
    }
  }

  /** Sends while there is room; true if the queue ran dry first. */
  #sendAll(queue: LeasedEntries, which: "live" | "backlog"): boolean {
    while (this.#hasRoom(queue) && !this.#storeFailed) {
      if (which === "backlog" && !this.#bucket.hasToken) return false;
      if (which === "backlog" && this.#sinceLiveCheck >= this.#parts.link.inflightMax) {
        this.#wake();
        return false;
      }
      const entry = which === "live" ? queue.nextLive() : queue.nextBacklog();
      if (entry === null) return true;
      this.#send(queue, entry, which);
    }
    return false;
  }

  #hasRoom(queue: LeasedEntries): boolean {
    const { link } = this.#parts;
    if (queue.isBackground && queue.outstanding >= BACKGROUND_INFLIGHT_MAX) return false;
    // If others use the whole window and nothing of ours would wake us, one message may queue at the link.
    return link.hasRoom || this.#outstanding === 0;
  }

  get #outstanding(): number {
    let sum = 0;
    for (const queue of this.#queues) sum += queue.outstanding;
    return sum;
  }

  #send(queue: LeasedEntries, entry: OutboxEntry, which: "live" | "backlog"): void {
    const messages = this.#encode(queue, entry);
    if (messages === null) return;
    if (messages.length === 0) {
      queue.record(entry, "skipped");
      this.#wake();
      return;
    }
    if (which === "backlog") this.#bucket.take(messages.length);
    this.#sinceLiveCheck += messages.length;
    queue.outstanding += messages.length;
    const ticket: Ticket = { entry, queue, left: messages.length, outcome: "sent" };
    for (const message of messages) {
      this.#parts.link.send(message, (outcome) => this.#finished(ticket, message, outcome));
    }
  }

  /** Null if it is settled already: the disk cannot be read, or the stored text is damaged. */
  #encode(queue: LeasedEntries, entry: OutboxEntry): readonly Message[] | null {
    const { logger } = this.#parts;
    const { lane } = queue;
    try {
      return queue.encode(entry);
    } catch (err) {
      const isDamaged = err instanceof SyntaxError;
      if (!isDamaged && !mayHeal(err)) throw err;
      const { id } = entry.reading;
      if (isDamaged) {
        this.#report.failed("damaged");
        this.#parts.metrics.storeDamaged.inc({ table: "readings" });
        logger.error({ err, lane, id }, "a stored reading is damaged and cannot be sent");
      } else {
        logger.error({ err, lane, id }, "a stored reading cannot be read at the moment");
        this.#storeFailed = true;
      }
      queue.record(entry, isDamaged ? "skipped" : "kept");
      this.#wake();
      return null;
    }
  }

  #finished(ticket: Ticket, message: Message, result: PublishOutcome): void {
    const { queue, entry } = ticket;
    queue.outstanding = Math.max(0, queue.outstanding - 1);
    const outcome = this.#report.judge(queue.lane, entry, message, result);
    if (SEVERITY[outcome] > SEVERITY[ticket.outcome]) ticket.outcome = outcome;
    ticket.left -= 1;
    if (ticket.left === 0) {
      queue.record(entry, ticket.outcome);
      if (entry.live && ticket.outcome === "sent") {
        const age = this.#parts.gatewayNow() - entry.reading.timeMs;
        this.#parts.metrics.freshness.observe(Math.max(0, age) / 1000);
      }
    }
    this.#wake();
  }

  #settle(now: number): void {
    this.#report.flush();
    for (const queue of this.#queues) {
      const settled = queue.settle(now);
      if (!settled) continue;
      const tracked = settled
        .catch((err: unknown) => {
          // What was sent stays leased until released, and is sent again: a duplicate is better than a loss.
          this.#storeFailed = true;
          // At a stop the store counts them in one line.
          if (codeOf(err) === "closed") return;
          this.#parts.logger.error({ err, lane: queue.lane }, "deliveries could not be recorded");
        })
        .finally(() => {
          this.#settling.delete(tracked);
          if (!queue.isIdle || this.#storeFailed) this.#wake();
        });
      this.#settling.add(tracked);
    }
  }

  /** Resolves after this turn of the event loop once something has happened, so that a burst is processed once. */
  async #nextEvent(): Promise<void> {
    if (!this.#isWoken) {
      const waitMs = this.#waitMs();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, waitMs);
        this.#wakeUp = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wakeUp = null;
    }
    await yieldToLoop();
    this.#isWoken = false;
  }

  #waitMs(): number {
    if (this.#queues.some((queue) => queue.hasOutcomes)) return SETTLE_MS;
    const paceMs = this.#parts.link.paceWaitMs || LIVE_CHECK_MS;
    if (!this.#queues.some((queue) => queue.hasBacklog)) {
      return this.#queues.some((queue) => !queue.isIdle) ? paceMs : IDLE_CHECK_MS;
    }
    return Math.max(1, Math.min(LIVE_CHECK_MS, paceMs, this.#bucket.waitMs || LIVE_CHECK_MS));
  }

  #wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    this.#wakeUp?.();
  }
}
