/**
 * The publishes of one session: waiting for a free slot, in flight, or on their way to the kernel. Every publish ends exactly
 * once: by its PUBACK, or lost when the session ends.
 */
import type { Message, PublishOutcome } from "../../core/message.ts";
import type { TokenBucket } from "../../lib/token-bucket.ts";
import { mayMeanMessage, PACKET_TOO_LARGE, type RefusedTopics } from "./refusals.ts";

export type Done = (outcome: PublishOutcome) => void;

interface InFlight {
  readonly topic: string;
  readonly done: Done;
  readonly bytes: number;
  /** Watch tick in which it was sent. */
  readonly tick: number;
}

/** A publish that the broker refused. */
export interface PublishRefusal {
  readonly topic: string;
  readonly code: number;
}

export interface PublishesParts {
  readonly requireSubscriber: boolean;
  /** QoS 1 publishes that may be in flight now. */
  readonly inflightMax: () => number;
  /** Publishes per second, QoS 0 included; null = as many as there are. */
  readonly pace: TokenBucket | null;
  /** Of the watch. */
  readonly tick: () => number;
  /** Told of every refused topic, and of accepted ones while any is refused. */
  readonly refusals: RefusedTopics | null;
  /** Writes a PUBLISH and returns its packet identifier (0 for QoS 0). `onLeft`: called for QoS 0 once the kernel has it. */
  readonly transmit: (message: Message, bytes: number, onLeft: (() => void) | null) => number;
}

/** What the end of the session says about the publishes in flight. */
export interface PublishesEnd {
  /** The other side ended the session. */
  readonly byPeer: boolean;
  /** One message at a time was in flight, so that it is the one the session ended for. */
  readonly isIsolated: boolean;
  /** Reason code of the broker's DISCONNECT. */
  readonly code: number | null;
}

export const REFUSED_UNSPECIFIED = 0x80;
const NO_SUBSCRIBER = 0x10;
const MALFORMED_PACKET = 0x81;
/** Messages of our own (states, statistics, responses) that wait for a free slot; lanes keep count and never wait here. */
const WAITING_MAX = 1024;

export class Publishes {
  readonly #parts: PublishesParts;
  /** QoS 1 publishes in flight, by packet identifier, in the order they were sent. */
  readonly #pending = new Map<number, InFlight>();
  /** QoS 0 publishes that the kernel does not have yet. */
  readonly #leaving = new Set<InFlight>();
  readonly #waiting: { message: Message; bytes: number; done: Done }[] = [];
  /** The newest acknowledgement, if it was a refusal. */
  #lastRefusal: PublishRefusal | null = null;
  /** Releases what waits for the pace; an acknowledgement releases what waits for the window. */
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: PublishesParts) {
    this.#parts = parts;
  }

  /** QoS 1 publishes sent or waiting, not yet acknowledged. */
  get inflight(): number {
    return this.#pending.size + this.#waiting.length;
  }
  /** Something has been sent whose end is not known yet. */
  get isBusy(): boolean {
    return this.#pending.size > 0 || this.#leaving.size > 0;
  }
  /** A publish would be sent at once. */
  get hasRoom(): boolean {
    return (
      this.#waiting.length === 0 && this.#pending.size < this.#parts.inflightMax() && this.#isPaced
    );
  }
  get oldestTick(): number | null {
    for (const { tick } of this.#pending.values()) return tick;
    return null;
  }

  isPending(id: number): boolean {
    return this.#pending.has(id);
  }

  /** Sends now, or once window and pace have room, in the order of the calls; `done` is called exactly once. */
  send(message: Message, bytes: number, done: Done): void {
    if (this.#waiting.length === 0 && this.#maySend(message)) {
      this.#transmit(message, bytes, done);
      return;
    }
    if (this.#waiting.length >= WAITING_MAX) return done({ result: "lost" });
    this.#waiting.push({ message, bytes, done });
    this.#release();
  }

  get #isPaced(): boolean {
    return this.#parts.pace?.hasToken ?? true;
  }

  #maySend({ qos }: Message): boolean {
    return this.#isPaced && (qos === 0 || this.#pending.size < this.#parts.inflightMax());
  }

  #release(): void {
    for (
      let next = this.#waiting[0];
      next && this.#maySend(next.message);
      next = this.#waiting[0]
    ) {
      this.#waiting.shift();
      this.#transmit(next.message, next.bytes, next.done);
    }
    if (this.#waiting.length === 0 || this.#timer !== null || this.#isPaced) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#release();
    }, this.#parts.pace?.waitMs ?? 0);
  }

  #transmit(message: Message, bytes: number, done: Done): void {
    const { pace, tick, transmit } = this.#parts;
    pace?.take(1);
    const pending: InFlight = { topic: message.topic, done, bytes, tick: tick() };
    try {
      if (message.qos === 1) this.#pending.set(transmit(message, bytes, null), pending);
      else {
        // The kernel may have it before the call returns.
        this.#leaving.add(pending);
        transmit(message, bytes, () => {
          if (this.#leaving.delete(pending)) done({ result: "delivered" });
        });
      }
    } catch (error) {
      this.#leaving.delete(pending);
      if (!(error instanceof RangeError)) throw error;
      done({ result: "refused", code: MALFORMED_PACKET });
    }
  }

  /** A PUBACK, which counts if a publish awaits it; `onCounted` is called before that publish ends. */
  acknowledged(id: number, reason: number, onCounted: () => void): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    onCounted();
    const isRefused =
      reason >= REFUSED_UNSPECIFIED || (reason === NO_SUBSCRIBER && this.#parts.requireSubscriber);
    const isByBroker = isRefused && reason !== NO_SUBSCRIBER;
    this.#lastRefusal = isByBroker ? { topic: pending.topic, code: reason } : null;
    const { refusals } = this.#parts;
    if (isByBroker) refusals?.refused(pending.topic, reason);
    else if (refusals?.isEmpty === false) refusals.accepted(pending.topic);
    pending.done(isRefused ? { result: "refused", code: reason } : { result: "delivered" });
    this.#release();
  }

  /** Forgets what was sent. Returns how to end it, once the connection is closed. */
  take({ byPeer, isIsolated, code }: PublishesEnd): {
    readonly brokeWithInflight: boolean;
    /** Bytes of the largest QoS 1 packet that was in flight. */
    readonly largestInflight: number;
    /** The refused publish that the broker ended the session for; null if none is known. */
    readonly culprit: PublishRefusal | null;
    /** The topic of the only publish in flight, at which the broker ended the session without a reason; null if there is none. */
    readonly suspect: string | null;
    readonly end: () => void;
  } {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const unacknowledged = [...this.#pending.values()];
    const unsent = [...this.#leaving];
    this.#pending.clear();
    this.#leaving.clear();
    const brokeWithInflight = byPeer && unacknowledged.length > 0;
    const isOnly = brokeWithInflight && isIsolated && unacknowledged.length === 1;
    const isCulprit = isOnly && mayMeanMessage(code);
    const topic = (isCulprit && unacknowledged[0]?.topic) || null;
    // Of a packet that is too large its size is learned, not its topic.
    const isNamed = topic !== null && code !== null && code !== PACKET_TOO_LARGE;
    const named = isNamed ? { topic, code } : null;
    return {
      brokeWithInflight,
      culprit: byPeer && code === null ? this.#lastRefusal : named,
      suspect: code === null ? topic : null,
      largestInflight: unacknowledged.reduce((max, { bytes }) => Math.max(max, bytes), 0),
      end: () => {
        for (const { done, bytes } of unacknowledged)
          done(isCulprit ? culpritOutcome(code, bytes) : { result: "lost" });
        for (const { done } of unsent) done({ result: "lost" });
        for (const { done } of this.#waiting.splice(0)) done({ result: "lost" });
      },
    };
  }
}

function culpritOutcome(code: number | null, bytes: number): PublishOutcome {
  return code === PACKET_TOO_LARGE
    ? { result: "oversize", bytes, limitBytes: bytes - 1 }
    : { result: "refused", code: code ?? REFUSED_UNSPECIFIED };
}
