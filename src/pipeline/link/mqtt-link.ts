/** The connection to a broker over all its sessions. In one file: what each session ended with decides when, where and how the next one begins. */
import type { LinkState } from "../../core/agent-status.ts";
import { REMAINING_LENGTH_MAX, type SessionLink, type Will } from "../../core/delivery/link.ts";
import type { Message, PublishOutcome } from "../../core/message.ts";
import { type Address, Addresses } from "./addresses.ts";
import { AsideTries } from "./aside-tries.ts";
import type { LinkFailure } from "./link-errors.ts";
import {
  CLOSE_DISCONNECT_MS,
  CLOSE_INFLIGHT_MS,
  type MqttLinkOptions,
  type MqttLinkParts,
} from "./link-options.ts";
import { MqttSession } from "./mqtt-session.ts";
import { BrokerCertificates, isTls } from "./peer-chain.ts";
import { PublishPace } from "./publish-pace.ts";
import { publishPacketBytes } from "./publish-writer.ts";
import type { Done } from "./publishes.ts";
import { isAboutRate, PACKET_TOO_LARGE, QOS_NOT_SUPPORTED, RefusedTopics } from "./refusals.ts";
import { type RetainMode, RetainSupport } from "./retain-support.ts";
import { ReturnToOwn } from "./return-to-own.ts";
import type { SessionEnd } from "./session-events.ts";
import { SessionHistory } from "./session-history.ts";
import { NO_RETAIN } from "./session-texts.ts";
import { SkippedTopics } from "./skipped-topics.ts";
import { refusedSubscription } from "./suback.ts";

/** Longest wait for the last messages when closing. */
const CLOSE_FINAL_MS = 1000;

/**
 * A broker session that is reopened whenever it ends, at the next address, with a new client, a new will and back-off
 * each time. It stores nothing: what was not acknowledged is `lost`, and the caller's queue sends it again.
 */
export class MqttLink implements SessionLink {
  readonly #options: MqttLinkOptions;
  readonly #parts: MqttLinkParts;
  readonly #addresses: Addresses;
  readonly #history: SessionHistory;
  readonly #refusals: RefusedTopics;
  readonly #aside: AsideTries | null;
  readonly #retain: RetainSupport;
  readonly #skipped: SkippedTopics;
  /** Of the link, not of a session: a platform counts the end of one and the beginning of the next together. */
  readonly #pace: PublishPace;
  readonly #certificates: BrokerCertificates;
  readonly #own: ReturnToOwn;
  readonly #readyListeners = new Set<() => void>();
  #current: MqttSession | null = null;
  /** The CONNACK and `onConnected` are done. */
  #isReady = false;
  #isClosing = false;
  #wake = new AbortController();
  #session = 0;
  #since: number | null = null;
  #lastError: string | null = null;

  constructor(parts: MqttLinkParts, options: MqttLinkOptions) {
    this.#parts = parts;
    this.#options = {
      ...options,
      onCertificates: (chain) => {
        this.#certificates.current = chain;
      },
    };
    this.#addresses = new Addresses(options.urls, options.clientId);
    this.#history = new SessionHistory(options, parts.clock);
    this.#refusals = new RefusedTopics(parts.clock, options.clientId);
    this.#aside = options.triesAside === true ? new AsideTries(options, parts.clock) : null;
    this.#retain = new RetainSupport(parts.clock);
    this.#skipped = new SkippedTopics(parts.clock, options.redact);
    this.#pace = new PublishPace(parts.clock, options.publishesPerS ?? 0);
    this.#certificates = new BrokerCertificates(parts.clock, options);
    this.#own = new ReturnToOwn(parts, options, this.#addresses);
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
  /** A publish would be sent at once: the window and the platform's limit per second have room. */
  get hasRoom(): boolean {
    return this.#current?.hasRoom ?? false;
  }
  /** Until the limit per second lets the next publish through, ms; 0 if it does now. */
  get paceWaitMs(): number {
    return this.#pace.bucket.waitMs;
  }
  get state(): LinkState {
    const { shown } = this.#addresses.current;
    return {
      name: this.#options.name,
      isConnected: this.isConnected,
      url: shown,
      since: this.#since,
      lastError: this.#lastError,
      refused: this.#refusals.state(shown) ?? this.#skipped.state(shown),
      stolen: this.#history.stolen,
      brokerCertificates: this.#certificates.current,
      retainAvailable: this.isConnected ? (this.#current?.retainAvailable ?? null) : null,
      addresses: this.#addresses.all.map(({ shown, lastError }) => ({ url: shown, lastError })),
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
      const mode = will?.retain === true ? this.#retain.mode : "retained";
      const end = await this.#runSession(this.#addresses.current, will, mode, signal);
      isWillUnused = !end.connectSent;
      if (signal.aborted || this.#isClosing) break;
      if (this.#own.isNext()) continue;
      // The same address again: it has just shown which kind of CONNECT it needs.
      if (will?.retain === true && this.#retain.ended(end)) continue;
      const pauseMs = this.#history.pauseMs(end);
      await clock.sleep(pauseMs, this.#wake.signal);
      this.#addresses.advance();
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
    const { hooks } = this.#parts;
    return new Promise((resolve) =>
      this.send(message, (outcome) => {
        if (outcome.result === "delivered") hooks?.onAccepted?.();
        resolve(outcome);
      }),
    );
  }

  /** `publish` with a callback, called exactly once, for callers that send thousands of messages. */
  send(message: Message, done: Done): void {
    const session = this.#current;
    if (!session?.isOpen) return done({ result: "lost" });
    this.#refusals.sending(message);
    if (message.qos === 1 && !session.isQos1Available) {
      this.#refusals.refused(message.topic, QOS_NOT_SUPPORTED);
      return done({ result: "refused", code: QOS_NOT_SUPPORTED });
    }
    const heldCode =
      (this.#refusals.isEmpty ? null : this.#refusals.heldCode(message.topic)) ??
      this.#aside?.codeOf(message.topic) ??
      null;
    if (heldCode !== null) return this.#held(message, heldCode, session, done);
    const bytes = publishPacketBytes(message, this.#options.version);
    const announced = session.maximumPacketSize ?? REMAINING_LENGTH_MAX;
    const limitBytes = Math.min(announced, this.#history.packetBytesMax);
    if (bytes > limitBytes) {
      if (message.isDivisible !== true) this.#refusals.refused(message.topic, PACKET_TOO_LARGE);
      return done({ result: "oversize", bytes, limitBytes });
    }
    session.send(message, bytes, done);
  }

  /** Its topic ends sessions: tried beside this one, or refused as before. */
  #held(message: Message, code: number, session: MqttSession, done: Done): void {
    const { topic } = message;
    const isTried = this.#aside?.take({
      message,
      code,
      url: this.#addresses.current.url,
      retain: session.retainAvailable,
      done: (outcome) => {
        if (outcome.result === "delivered") {
          this.#refusals.accepted(topic, false);
          this.#parts.logger.info({ link: this.#options.name, topic }, "a topic is accepted again");
        }
        done(outcome.result === "refused" ? { result: "refused", code } : outcome);
      },
    });
    if (isTried !== true) done({ result: "refused", code });
  }

  /** `state` no longer tells that the topic is refused. */
  forgetRefusal(topic: string): void {
    this.#refusals.accepted(topic);
  }

  /**
   * Waits for messages in flight (at most 5 s, of which `waitedMs` are used), publishes `final`, disconnects; `run`
   * ends.
   */
  async close(final: readonly Message[] = [], waitedMs = 0): Promise<void> {
    this.#isClosing = true;
    this.#aside?.close();
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
      await session.disconnect(CLOSE_DISCONNECT_MS, false, null);
    } else session?.abort("closed");
    this.#wake.abort();
  }

  renew(reason: string): void {
    this.#current?.abort(reason);
  }

  async leave(publishWill: boolean, failure: string | null): Promise<void> {
    const reason = failure === null ? null : { text: failure, needsHands: true };
    await this.#current?.disconnect(CLOSE_DISCONNECT_MS, publishWill, reason);
  }

  /** Subscribes in the open session. Resolves with the topics that the broker granted; with none if the session ends first. */
  async subscribe(
    topics: readonly string[],
    othersOnly: ReadonlySet<string> = new Set(),
  ): Promise<readonly string[]> {
    const session = this.#current;
    const wanted = topics.filter((topic) => !this.#skipped.isSkipped(topic));
    if (!session?.isOpen || wanted.length === 0) return [];
    const refused = await session.subscribe(
      wanted.map((topic) => ({ topic, qos: 1, isOthersOnly: othersOnly.has(topic) })),
    );
    return session.isOpen ? wanted.filter((topic) => !refused.includes(topic)) : [];
  }

  prove(): Promise<boolean> {
    return this.#current?.prove() ?? Promise.resolve(false);
  }

  async #runSession(
    address: Address,
    will: Will | null,
    mode: RetainMode,
    signal: AbortSignal,
  ): Promise<SessionEnd> {
    const { clock, hooks, metrics, logger } = this.#parts;
    const isolate = this.#history.shouldIsolate;
    const retain = mode === "retained" || mode === "confirm";
    const session = new MqttSession(this.#options, address.url, {
      isolate,
      retain,
      pace: this.#pace.bucket,
      refusals: this.#refusals,
    });
    const abort = () => session.abort("stopped");
    signal.addEventListener("abort", abort, { once: true });
    this.#current = session;
    let openedAt: number | null = null;
    const ended = new AbortController();
    const end = await session.run(will && { ...will, retain: will.retain && retain }, {
      onConnectSent: () => hooks?.onConnectSent?.(),
      onOpen: () => {
        if (mode === "probe") return void session.disconnect(CLOSE_DISCONNECT_MS, false, null);
        openedAt = clock.monotonic();
        this.#session += 1;
        if (this.#addresses.own === null) this.#own.reached();
        else if (this.#options.returnsToOwn)
          void this.#own.watch(session, ended.signal, () => this.#isClosing);
        if (isTls(address.url)) void this.#certificates.follow(address.url, ended.signal);
        this.#since = clock.now();
        metrics?.brokerConnects.inc({ link: this.#options.name });
        this.#greet(session, address, ended.signal).catch((err: unknown) => {
          logger.error({ err, link: this.#options.name }, "session could not be prepared");
          session.abort("the session could not be prepared");
        });
      },
      onMessage: (message) => hooks?.onMessage?.(message),
    });
    signal.removeEventListener("abort", abort);
    ended.abort();
    this.#current = null;
    this.#isReady = false;
    if (openedAt !== null) this.#since = clock.now();
    const culprit = this.#history.culpritOf(end);
    if (culprit !== null) this.#refusals.endedSession(culprit.topic, culprit.code);
    if (end.wasOpen && isAboutRate(end.code)) this.#pace.exceeded();
    if (end.tooLarge) this.#skipped.note(end.tooLarge);
    if (!signal.aborted && !this.#isClosing) {
      const livedMs = openedAt === null ? null : clock.monotonic() - openedAt;
      const failure = this.#history.judge({ ...end, culprit }, livedMs, isolate);
      if (failure !== null) this.#reportFailure(address, failure);
    }
    if (openedAt !== null) hooks?.onDisconnected?.(end.failure?.text ?? "closed");
    return end;
  }

  /**
   * Subscriptions first, then the owner's messages, then the publishers. The order on the wire ensures that a command
   * sent in response to `online` reaches us: readings do not wait for a broker that does not answer SUBSCRIBE.
   */
  async #greet(session: MqttSession, address: Address, ended: AbortSignal): Promise<void> {
    const { logger, hooks } = this.#parts;
    const { name, clientId, subscriptions = [], needsSubscriptions = false } = this.#options;
    const refused = this.#skipped.subscribe(session, subscriptions, ended);
    const info = session.info(this.#session);
    const { receiveMaximum, maximumPacketSize, retainAvailable } = info;
    const { shown: url } = address;
    logger.info({ url, clientId, receiveMaximum, maximumPacketSize }, `${name} connected`);
    if (!retainAvailable) logger.warn({ link: name, url }, NO_RETAIN);
    await hooks?.onConnected?.(info);
    if (needsSubscriptions) {
      const topics = await refused;
      if (topics.length > 0)
        return session.abort(refusedSubscription(topics, session.subackCode), true);
    } else
      void refused.then((topics) => {
        if (topics.length > 0)
          logger.error({ link: name, topics }, refusedSubscription(topics, session.subackCode));
      });
    if (!session.isOpen) return;
    this.#lastError = null;
    address.lastError = null;
    this.#isReady = true;
    this.#notifyReady();
  }

  /** Shown, and logged once per change of each address. */
  #reportFailure(address: Address, { text: given, needsHands }: LinkFailure): void {
    const text = this.#options.redact?.(given) ?? given;
    this.#lastError = text;
    if (text === address.lastError) return;
    address.lastError = text;
    const fields = { link: this.#options.name, url: address.shown, reason: text };
    if (needsHands) this.#parts.logger.error(fields, "no broker session");
    else this.#parts.logger.warn(fields, "no broker session");
  }

  #notifyReady(): void {
    for (const look of this.#readyListeners) look();
  }
}
