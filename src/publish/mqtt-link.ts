import type {
  Clock,
  LinkState,
  Logger,
  Message,
  MessageLink,
  PublishOutcome,
} from "../core/ports.ts";
import { Backoff } from "../lib/backoff.ts";
import type { Metrics } from "../lib/metrics.ts";
import { takenOver } from "./link-errors.ts";
import { type LinkHooks, type MqttLinkOptions, publicUrl, type Will } from "./link-options.ts";
import { type Done, ISOLATION_ACKS, MqttSession, type SessionEnd } from "./mqtt-session.ts";
import { publishPacketBytes, REMAINING_LENGTH_MAX } from "./packet-size.ts";

export interface MqttLinkParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Pick<Metrics, "linkConnected" | "brokerConnects">;
  readonly hooks?: LinkHooks;
}

const BACKOFF_MIN_MS = 1000;
/** An attempt costs next to nothing, and after an outage everybody waits for this one. */
const BACKOFF_MAX_MS = 15_000;
/** After a take-over: two agents with one id must not throw each other out for ever at full speed. */
const TAKEOVER_BACKOFF_MIN_MS = 30_000;
const TAKEOVER_BACKOFF_MAX_MS = 600_000;
/** A session this old was a good one: the next back-off starts small again. */
const STABLE_SESSION_MS = 30_000;
/** So many sessions in a row that the broker closed early: something is fighting us, or a message is poison. */
const SHORT_SESSIONS_SUSPICIOUS = 3;
/** Sessions broken with publishes in flight before one message at a time is tried. */
const BROKEN_SESSIONS_ISOLATE = 2;
/** A packet limit learned from a disconnect is tried again after this long. */
const LEARNED_LIMIT_MS = 3_600_000;
/** Longest wait for acknowledgements, and for the DISCONNECT to be taken, when closing. */
const CLOSE_INFLIGHT_MS = 5000;
const CLOSE_DISCONNECT_MS = 1000;
const CLOSE_FINAL_MS = 1000;

const SESSION_TAKEN_OVER = 0x8e;
const PACKET_TOO_LARGE = 0x95;
const QOS_NOT_SUPPORTED = 0x9b;
/** Busy, shutting down, idle, taken over, administrative, use another server, moved: no message of ours is to blame. */
const BLAMELESS_CODES = new Set([0x89, 0x8b, 0x8d, SESSION_TAKEN_OVER, 0x98, 0x9c, 0x9d]);

/**
 * A broker session that is opened again whenever it ends, with a new client, a new will and back-off each time.
 * It stores nothing: what was not acknowledged when a session ends is `lost`, and the caller's queue sends it again.
 */
export class MqttLink implements MessageLink {
  readonly #options: MqttLinkOptions;
  readonly #parts: MqttLinkParts;
  readonly #url: string;
  readonly #backoff: Backoff;
  readonly #takeoverBackoff = new Backoff(TAKEOVER_BACKOFF_MIN_MS, TAKEOVER_BACKOFF_MAX_MS);
  readonly #readyListeners = new Set<() => void>();
  #current: MqttSession | null = null;
  /** The CONNACK and `onConnected` are done. */
  #isReady = false;
  #isClosing = false;
  #wake = new AbortController();
  #session = 0;
  #since: number | null = null;
  #lastError: string | null = null;
  #shortSessions = 0;
  #brokenSessions = 0;
  #learnedLimit: { bytes: number; until: number } | null = null;

  constructor(parts: MqttLinkParts, options: MqttLinkOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#url = publicUrl(options.url);
    this.#backoff = new Backoff(
      options.backoffMinMs ?? BACKOFF_MIN_MS,
      options.backoffMaxMs ?? BACKOFF_MAX_MS,
    );
  }

  get isConnected(): boolean {
    return this.#current?.isOpen ?? false;
  }
  get session(): number {
    return this.#session;
  }
  get inflightMax(): number {
    return this.#current?.inflightMax ?? this.#options.inflight;
  }
  /** QoS 1 publishes awaiting their acknowledgement. */
  get inflight(): number {
    return this.#current?.inflight ?? 0;
  }
  get state(): LinkState {
    return {
      name: this.#options.name,
      isConnected: this.isConnected,
      url: this.#url,
      since: this.#since,
      lastError: this.#lastError,
    };
  }

  /** Keeps a session open until aborted or closed. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const stop = () => this.#wake.abort();
    signal.addEventListener("abort", stop, { once: true });
    let isWillUnused = false;
    while (!signal.aborted && !this.#isClosing) {
      const will = this.#options.will?.(isWillUnused) ?? null;
      const end = await this.#runSession(will, signal);
      isWillUnused = !end.connectSent;
      if (signal.aborted || this.#isClosing) break;
      await clock.sleep(this.#pauseMs(end), this.#wake.signal);
    }
    signal.removeEventListener("abort", stop);
    this.#notifyReady();
  }

  ready(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted || this.#isClosing) return Promise.resolve(false);
    if (this.#isReady && this.isConnected) return Promise.resolve(true);
    return new Promise((resolve) => {
      const look = () => {
        const isOver = signal.aborted || this.#isClosing;
        if (!isOver && !(this.#isReady && this.isConnected)) return;
        this.#readyListeners.delete(look);
        signal.removeEventListener("abort", look);
        resolve(!isOver);
      };
      this.#readyListeners.add(look);
      signal.addEventListener("abort", look, { once: true });
    });
  }

  publish(message: Message): Promise<PublishOutcome> {
    return new Promise((resolve) => this.send(message, resolve));
  }

  /** `publish` with a callback, called exactly once, for callers that send by the thousand. */
  send(message: Message, done: Done): void {
    const session = this.#current;
    if (!session?.isOpen) return done({ result: "lost" });
    if (message.qos === 1 && !session.isQos1Available) {
      return done({ result: "refused", code: QOS_NOT_SUPPORTED });
    }
    const bytes = publishPacketBytes(message, this.#options.version);
    const limitBytes = this.#packetLimit(session);
    if (bytes > limitBytes) return done({ result: "oversize", bytes, limitBytes });
    session.send(message, bytes, done);
  }

  /** Awaits what is in flight (5 s at most, `waitedMs` of them gone), publishes `final`, disconnects; `run` ends. */
  async close(final: readonly Message[] = [], waitedMs = 0): Promise<void> {
    this.#isClosing = true;
    this.#notifyReady();
    const session = this.#current;
    if (session?.isOpen) {
      const timeout = new AbortController();
      const until = this.#parts.clock.monotonic() + CLOSE_INFLIGHT_MS - waitedMs;
      while (session.inflight > 0 && session.isOpen && this.#parts.clock.monotonic() < until) {
        await this.#parts.clock.sleep(10, timeout.signal);
      }
      await Promise.race([
        Promise.all(final.map((message) => this.publish(message))),
        this.#parts.clock.sleep(CLOSE_FINAL_MS, timeout.signal),
      ]);
      timeout.abort();
      await session.disconnect(CLOSE_DISCONNECT_MS);
    } else session?.abort("closed");
    this.#wake.abort();
  }

  /** Ends the session as if the network had failed (the broker publishes the will); a new one follows at once. */
  renew(reason: string): void {
    this.#current?.abort(reason);
  }

  async #runSession(will: Will | null, signal: AbortSignal): Promise<SessionEnd> {
    const { clock, hooks, metrics, logger } = this.#parts;
    const isolate = this.#brokenSessions >= BROKEN_SESSIONS_ISOLATE;
    const session = new MqttSession(this.#options, isolate);
    const abort = () => session.abort("stopped");
    signal.addEventListener("abort", abort, { once: true });
    this.#current = session;
    let openedAt: number | null = null;
    const end = await session.run(
      will,
      () => {
        openedAt = clock.monotonic();
        this.#session += 1;
        this.#since = clock.now();
        metrics?.linkConnected.set({ link: this.#options.name }, 1);
        metrics?.brokerConnects.inc({ link: this.#options.name });
        this.#greet(session).catch((err: unknown) => {
          logger.error({ err, link: this.#options.name }, "session could not be prepared");
          session.abort("the session could not be prepared");
        });
      },
      (message) => hooks?.onMessage?.(message),
    );
    signal.removeEventListener("abort", abort);
    this.#current = null;
    this.#isReady = false;
    if (openedAt !== null) {
      this.#since = clock.now();
      metrics?.linkConnected.set({ link: this.#options.name }, 0);
    }
    if (!signal.aborted && !this.#isClosing) {
      this.#judge(end, openedAt === null ? null : clock.monotonic() - openedAt, isolate);
    }
    if (openedAt !== null) hooks?.onDisconnected?.(end.failure.text);
    return end;
  }

  /**
   * Subscriptions first, then what the owner has to say, then the publishers. The order on the wire is all it takes for a
   * command sent upon `online` to find us: readings do not wait for a broker that leaves SUBSCRIBE unanswered.
   */
  async #greet(session: MqttSession): Promise<void> {
    const { logger, hooks } = this.#parts;
    const refused = session.subscribe(this.#options.subscriptions ?? []);
    void refused.then((topics) => {
      for (const topic of topics) {
        logger.error({ topic }, "the broker refuses this subscription: check its access list");
      }
    });
    const { receiveMaximum, maximumPacketSize, retainAvailable } = session;
    logger.info(
      { url: this.#url, clientId: this.#options.clientId, receiveMaximum, maximumPacketSize },
      `${this.#options.name} connected`,
    );
    if (!retainAvailable) {
      logger.warn({ url: this.#url }, "this broker keeps no retained messages");
    }
    await hooks?.onConnected?.({
      session: this.#session,
      receiveMaximum,
      maximumPacketSize,
      retainAvailable,
    });
    if (!session.isOpen) return;
    this.#lastError = null;
    this.#isReady = true;
    this.#notifyReady();
  }

  /** What the end of a session teaches: shown, logged once per change, and kept for the next attempts. */
  #judge(end: SessionEnd, livedMs: number | null, wasIsolated: boolean): void {
    const isShort = livedMs !== null && livedMs < STABLE_SESSION_MS && end.byPeer;
    this.#shortSessions = isShort
      ? this.#shortSessions + 1
      : livedMs === null
        ? this.#shortSessions
        : 0;
    if (wasIsolated && end.acks >= ISOLATION_ACKS) this.#brokenSessions = 1;
    if (end.brokeWithInflight && !BLAMELESS_CODES.has(end.code ?? 0)) this.#brokenSessions += 1;
    else if (livedMs !== null && livedMs >= STABLE_SESSION_MS) this.#brokenSessions = 0;
    if (end.code === PACKET_TOO_LARGE && end.largestInflight > 0) {
      const until = this.#parts.clock.monotonic() + LEARNED_LIMIT_MS;
      this.#learnedLimit = { bytes: end.largestInflight - 1, until };
    }
    let { text, needsHands } = end.failure;
    if (end.code === null && this.#shortSessions >= SHORT_SESSIONS_SUSPICIOUS) {
      text += `; it does so soon after each start: ${takenOver(this.#options.clientId).text}, or a message is refused`;
      needsHands = true;
    }
    if (text === this.#lastError) return;
    this.#lastError = text;
    const fields = { link: this.#options.name, url: this.#url, reason: text };
    if (needsHands) this.#parts.logger.error(fields, "no broker session");
    else this.#parts.logger.warn(fields, "no broker session");
  }

  #pauseMs(end: SessionEnd): number {
    if (end.code === SESSION_TAKEN_OVER && end.wasOpen) return this.#takeoverBackoff.next();
    const isGood = end.wasOpen && (end.acks > 0 || this.#shortSessions === 0);
    if (isGood && this.#shortSessions < SHORT_SESSIONS_SUSPICIOUS) this.#backoff.reset();
    if (end.wasOpen && this.#shortSessions === 0) this.#takeoverBackoff.reset();
    return this.#backoff.next();
  }

  #packetLimit(session: MqttSession): number {
    const learned = this.#learnedLimit;
    if (learned && learned.until < this.#parts.clock.monotonic()) this.#learnedLimit = null;
    return Math.min(
      session.maximumPacketSize ?? REMAINING_LENGTH_MAX,
      this.#learnedLimit?.bytes ?? REMAINING_LENGTH_MAX,
    );
  }

  #notifyReady(): void {
    for (const look of this.#readyListeners) look();
  }
}
