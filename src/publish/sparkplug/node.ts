import { mayHeal } from "../../core/failure.ts";
import type {
  Clock,
  DeliveryOutcome,
  LinkState,
  Logger,
  Outbox,
  OutboxEntry,
  WaveformReader,
} from "../../core/ports.ts";
import { Backoff } from "../../lib/backoff.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { clientOptions, type MqttLinkOptions, publicUrl } from "../link-options.ts";
import { TokenBucket } from "../token-bucket.ts";
import { NodeConnection } from "./connection.ts";
import { DeviceBook, type DeviceBookOptions, type DeviceBookParts } from "./device-book.ts";
import { SETTINGS_OUTCOME } from "./device-command.ts";
import { Inbox } from "./inbox.ts";
import { NodeReport, type NodeValue } from "./node-metrics.ts";
import { PacketLimit } from "./packet-limit.ts";
import { PrimaryHost } from "./primary-host.ts";
import { ProofWindow, type SparkplugLane } from "./proof-window.ts";
import { Sender } from "./sender.ts";
import { NodeSession, will } from "./session.ts";
import { type SessionEnd, SessionRunner } from "./session-runner.ts";
import { NodeTopics } from "./topic.ts";
import { Wake } from "./wake.ts";

/** Where the number of the last CONNECT is kept over restarts. */
export interface BdSeqStore {
  load(): number | null;
  save(bdSeq: number): void;
}

export interface SparkplugNodeParts extends DeviceBookParts {
  readonly outbox: Outbox;
  readonly waveforms: WaveformReader;
  readonly bdSeq: BdSeqStore;
  readonly nodeValues: () => readonly NodeValue[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<
    Metrics,
    "linkConnected" | "brokerConnects" | "delivered" | "laneDelivered" | "deliveryFailures"
  >;
  /** A DCMD with settings; resolves with the outcome in words. Absent: commands are not enabled. */
  readonly onDeviceCommand?: (
    sensor: string,
    settings: Readonly<Record<string, number>>,
  ) => Promise<string>;
  /** Entries the broker is known to have. */
  readonly onDelivered?: (lane: SparkplugLane, entries: readonly OutboxEntry[]) => void;
}

export interface SparkplugNodeOptions extends Pick<DeviceBookOptions, "sensors"> {
  /** Address, credentials, version, client id and back-off; its own session, so its own client id. */
  readonly link: Omit<MqttLinkOptions, "name" | "will" | "subscriptions">;
  readonly group: string;
  readonly node: string;
  readonly hostId: string | null;
  /** MQTT_BACKLOG_RATE, messages a second; 0 = as fast as the broker answers. */
  readonly backlogRatePerS: number;
  /** PUBLISH_WAVEFORMS. */
  readonly waveforms: "always" | "alarm" | "never";
  /** How long a proven message is kept in case the primary host died unnoticed, ms. */
  readonly hostHoldMs?: number;
  /** How long data waits after a broken session, ms, where no primary host says when it is back. */
  readonly reconnectGraceMs?: number;
}

const BACKOFF_MIN_MS = 1_000;
const BACKOFF_MAX_MS = 15_000;
/** Sessions this long were good ones: the next back-off starts small again. */
const STABLE_SESSION_MS = 30_000;
/** At shutdown (contract 2: 10 s in all): for the last proof and NDEATH, and for the store. */
const LEAVE_MAX_MS = 3_000;
const SETTLE_MAX_MS = 2_000;
const HOST_HOLD_MS = 30_000;
/** Told one by one; on a disk with more of them than this the rest is no news. */
const DAMAGED_MAX = 1_000;
/** A broker that was away is come back to by everyone at once; QoS 0 data would be told to hosts not yet there. */
const RECONNECT_GRACE_MS = 3_000;
const HOLD_ENTRIES_MAX = 2_000;
const LANES: readonly SparkplugLane[] = ["sparkplug", "sparkplugWaveform"];
const BDSEQ_COUNT = 256;

/** The Sparkplug B edge node: sessions one after the other, each with its own client, will and bdSeq. */
export class SparkplugNode {
  readonly #parts: SparkplugNodeParts;
  readonly #options: SparkplugNodeOptions;
  readonly #topics: NodeTopics;
  readonly #host: PrimaryHost | null;
  readonly #book: DeviceBook;
  readonly #window: ProofWindow;
  readonly #pace: TokenBucket;
  readonly #backoff: Backoff;
  readonly #limit: PacketLimit;
  readonly #settling = new Set<Promise<void>>();
  #runner: SessionRunner | null = null;
  #bdSeq: number | null = null;
  #isBdSeqUsed = true;
  #isConnected = false;
  #sinceMs: number | null = null;
  #lastError: string | null = null;
  #delivered = 0;
  /** Ids of readings whose damage was told. */
  readonly #damaged = new Set<string>();
  #oversizeCount = 0;
  #wasLost = false;

  constructor(parts: SparkplugNodeParts, options: SparkplugNodeOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#topics = new NodeTopics(options.group, options.node);
    this.#host = options.hostId === null ? null : new PrimaryHost(options.hostId, parts.clock);
    this.#book = new DeviceBook(parts, {
      sensors: options.sensors,
      hasWaveforms: options.waveforms !== "never",
      hasCommands: parts.onDeviceCommand !== undefined,
    });
    const holdMs = this.#host === null ? 0 : (options.hostHoldMs ?? HOST_HOLD_MS);
    this.#window = new ProofWindow(holdMs, HOLD_ENTRIES_MAX);
    this.#limit = new PacketLimit(parts.clock);
    this.#pace = new TokenBucket(parts.clock, options.backlogRatePerS);
    const { backoffMinMs = BACKOFF_MIN_MS, backoffMaxMs = BACKOFF_MAX_MS } = options.link;
    this.#backoff = new Backoff(backoffMinMs, backoffMaxMs);
  }

  get state(): LinkState {
    return {
      name: "sparkplug",
      isConnected: this.#isConnected,
      url: publicUrl(this.#options.link.url),
      since: this.#sinceMs,
      lastError: this.#lastError,
      hostOnline: this.#host === null ? null : this.#host.isOnline,
      hostDoubt: this.#host?.doubt ?? null,
    };
  }
  /** Readings and measurements the broker is known to have, since the start. */
  get delivered(): number {
    return this.#delivered;
  }
  /** Publishes that did not succeed, by reason. */
  get failures(): Readonly<Record<string, number>> {
    return {
      ...(this.#oversizeCount === 0 ? {} : { oversize: this.#oversizeCount }),
      ...(this.#damaged.size === 0 ? {} : { damaged: this.#damaged.size }),
    };
  }

  /** Until aborted; then the node has left with NDEATH and DISCONNECT and what was proven is settled. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, outbox } = this.#parts;
    while (!signal.aborted) {
      for (const lane of LANES) outbox.unpark(lane);
      const startedAtMs = clock.monotonic();
      const end = await this.#session(signal);
      this.#window.lose(end === "host_offline");
      if (signal.aborted) await this.#settled();
      for (const lane of LANES) outbox.release(lane);
      if (signal.aborted) return;
      // A host that went is no failure: be there again when it comes back.
      if (end === "host_offline" || clock.monotonic() - startedAtMs >= STABLE_SESSION_MS) {
        this.#backoff.reset();
      }
      await clock.sleep(this.#backoff.next(), signal);
    }
  }

  async #session(signal: AbortSignal): Promise<SessionEnd> {
    const { clock, logger, metrics } = this.#parts;
    const { link } = this.#options;
    const bdSeq = this.#nextBdSeq();
    const session = new NodeSession(this.#topics, bdSeq);
    this.#host?.forget();
    const wake = new Wake();
    const inbox = this.#createInbox(wake);
    let connection: NodeConnection;
    try {
      const lastWill = {
        ...will(this.#topics, bdSeq, clock.now()),
        qos: 1,
        retain: false,
      } as const;
      connection = await NodeConnection.open(
        {
          client: clientOptions({ ...link, name: "sparkplug" }, lastWill),
          version: link.version,
          packetBytesMax: this.#limit.bytesMax,
          filters: this.#topics.filters(this.#options.hostId),
          onConnectSent: () => this.#useBdSeq(bdSeq),
          onMessage: (topic, payload) => inbox.receive(topic, payload),
        },
        signal,
      );
    } catch (err) {
      if (!signal.aborted) {
        this.#lastError = err instanceof Error ? err.message : String(err);
        logger.warn({ link: "sparkplug", reason: this.#lastError }, "no Sparkplug session");
      }
      return "lost";
    }
    this.#isConnected = true;
    this.#sinceMs = clock.now();
    metrics.linkConnected.set({ link: "sparkplug" }, 1);
    metrics.brokerConnects.inc({ link: "sparkplug" });
    this.#runner = this.#createRunner(session, connection, inbox, wake);
    const stopHurry = hurry(connection, signal);
    let wasStore = false;
    const end = await this.#runner.run(signal).catch((err: unknown) => {
      if (!mayHeal(err)) throw err;
      wasStore = true;
      logger.error({ err, link: "sparkplug" }, "the store cannot be read; the session ends");
      connection.cut();
      return "lost" as const;
    });
    stopHurry();
    this.#wasLost = end === "lost";
    if (end === "lost" && !wasStore && this.#limit.lost(connection.unprovenBytesMax)) {
      logger.warn(
        { link: "sparkplug", limitBytes: this.#limit.bytesMax },
        "the broker hangs up on a packet of this size; such packets are not sent for an hour",
      );
    }
    this.#runner = null;
    this.#isConnected = false;
    this.#sinceMs = clock.now();
    metrics.linkConnected.set({ link: "sparkplug" }, 0);
    this.#tellEnd(end, connection, bdSeq);
    return end;
  }

  #createInbox(wake: Wake): Inbox {
    const { logger, onDeviceCommand, clock } = this.#parts;
    const onSettings = (id: string, settings: Readonly<Record<string, number>>) => {
      const device = this.#book.byId(id);
      if (!device || !onDeviceCommand) return;
      onDeviceCommand(device.code, settings)
        .catch((err: unknown) => {
          logger.error(
            { err, sensor: device.code },
            "a Sparkplug command could not be carried out",
          );
          return "failed";
        })
        .then((outcome) => {
          this.#runner?.notify(device, {
            name: SETTINGS_OUTCOME,
            type: "String",
            timeMs: clock.now(),
            value: outcome,
          });
        })
        .catch((err: unknown) => logger.error({ err }, "outcome of a command could not be told"));
    };
    return new Inbox({
      topics: this.#topics,
      host: this.#host,
      logger,
      onNews: () => wake.ring(),
      onSettings: onDeviceCommand ? onSettings : null,
    });
  }

  #createRunner(
    session: NodeSession,
    connection: NodeConnection,
    inbox: Inbox,
    wake: Wake,
  ): SessionRunner {
    const { outbox, waveforms, clock, logger, nodeValues } = this.#parts;
    const book = this.#book;
    const window = this.#window;
    const sender = new Sender({
      session,
      connection,
      book,
      waveforms,
      now: () => clock.now(),
      onSent: (lane, entries) => window.add(lane, entries, clock.monotonic()),
      onOversize: (what, lane, entries) => this.#oversize(what, lane, entries),
      onDamaged: (entry) => this.#tellDamaged(entry),
    });
    return new SessionRunner(
      {
        session,
        connection,
        sender,
        inbox,
        wake,
        book,
        window,
        report: new NodeReport(),
        nodeValues,
        outbox,
        pace: this.#pace,
        clock,
        logger,
        settle: (lane, entries, outcome) => this.#settle(lane, entries, outcome),
        onDamaged: (entry) => this.#tellDamaged(entry),
        onBorn: () => {
          this.#lastError = null;
          logger.info({ link: "sparkplug", bdSeq: session.bdSeq }, "Sparkplug births are out");
        },
      },
      {
        windowMax: this.#options.link.inflight,
        waveforms: this.#options.waveforms,
        dataAfterMs:
          this.#wasLost && this.#host === null
            ? (this.#options.reconnectGraceMs ?? RECONNECT_GRACE_MS)
            : 0,
      },
    );
  }

  #settle(lane: SparkplugLane, entries: readonly OutboxEntry[], outcome: DeliveryOutcome): void {
    const { outbox, logger, metrics, onDelivered } = this.#parts;
    if (entries.length === 0) return;
    if (outcome === "sent") {
      this.#delivered += entries.length;
      metrics.delivered.inc(entries.length);
      metrics.laneDelivered.inc({ lane }, entries.length);
      onDelivered?.(lane, entries);
    }
    const settled = outbox
      .settle(
        lane,
        entries.map((entry) => ({ entry, outcome })),
      )
      .catch((err: unknown) => {
        // Stays leased until released, and is sent again: better twice than lost.
        logger.error({ err, lane }, "deliveries could not be recorded");
      })
      .finally(() => this.#settling.delete(settled));
    this.#settling.add(settled);
  }

  /** At the end: what was told to the store is on disk, or its time is up. */
  async #settled(): Promise<void> {
    const done = new AbortController();
    const limit = this.#parts.clock.sleep(SETTLE_MAX_MS, done.signal);
    await Promise.race([Promise.all(this.#settling), limit]);
    done.abort();
  }

  /** Once for each reading, however often it is sent again. */
  #tellDamaged({ reading: { id, sensor, kind } }: OutboxEntry): void {
    const { logger, metrics } = this.#parts;
    if (this.#damaged.has(id) || this.#damaged.size >= DAMAGED_MAX) return;
    this.#damaged.add(id);
    metrics.deliveryFailures.inc({ reason: "damaged" });
    const what = { link: "sparkplug", id, sensor, kind };
    logger.error(what, "a stored reading is damaged and cannot be sent whole");
  }

  #oversize(what: string, lane: SparkplugLane, entries: readonly OutboxEntry[]): void {
    const { logger, metrics } = this.#parts;
    logger.error({ link: "sparkplug", what }, "a message is larger than the broker takes");
    metrics.deliveryFailures.inc({ reason: "oversize" });
    this.#oversizeCount += 1;
    this.#settle(lane, entries, "oversize");
  }

  #nextBdSeq(): number {
    if (this.#isBdSeqUsed || this.#bdSeq === null) {
      const last = this.#bdSeq ?? this.#parts.bdSeq.load() ?? -1;
      this.#bdSeq = (last + 1) % BDSEQ_COUNT;
      this.#isBdSeqUsed = false;
    }
    return this.#bdSeq;
  }
  #useBdSeq(bdSeq: number): void {
    this.#isBdSeqUsed = true;
    try {
      this.#parts.bdSeq.save(bdSeq);
    } catch (err) {
      // A full disk must not keep the node away; only a restart would repeat the number.
      this.#parts.logger.warn({ err, bdSeq }, "bdSeq could not be stored");
    }
  }

  #tellEnd(end: SessionEnd, connection: NodeConnection, bdSeq: number): void {
    const { logger } = this.#parts;
    const reason = connection.failure;
    if (end === "stopped") return;
    if (end === "host_offline") {
      logger.info({ link: "sparkplug", bdSeq }, "the primary host is offline; readings wait");
      return;
    }
    this.#lastError =
      end === "birth_too_large" ? "the NBIRTH is larger than the broker takes" : reason;
    logger.warn({ link: "sparkplug", bdSeq, reason: this.#lastError }, "Sparkplug session ended");
  }
}

/** Once aborted, a broker that does not answer gets little time; then the link is cut and its will speaks. */
function hurry(connection: NodeConnection, signal: AbortSignal): () => void {
  let timer: NodeJS.Timeout | undefined;
  const start = () => {
    timer = setTimeout(() => connection.cut(), LEAVE_MAX_MS);
  };
  if (signal.aborted) start();
  else signal.addEventListener("abort", start, { once: true });
  return () => {
    signal.removeEventListener("abort", start);
    clearTimeout(timer);
  };
}
