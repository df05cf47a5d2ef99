/** The MQTT session as formats use it. `src/link` provides it; formats in `src/publish` know only these types. */
import type { LinkState, Message, MessageLink } from "./ports.ts";

/** Largest remaining length that four bytes can say (MQTT 1.5.5): no packet can be larger, whatever the broker takes. */
export const REMAINING_LENGTH_MAX = 268_435_455;

/** The message the broker publishes for us when the session ends without our word. */
export interface Will {
  readonly topic: string;
  readonly payload: string | Uint8Array;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  /** MQTT 5 only. */
  readonly contentType?: string;
}

/** A message from the broker; the last four are MQTT 5 only. */
export interface InboundMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly responseTopic?: string;
  readonly correlationData?: Buffer;
  readonly contentType?: string;
  readonly userProperties?: Readonly<Record<string, string | string[]>>;
}

export interface Subscription {
  readonly topic: string;
  readonly qos: 0 | 1;
}

/** What a CONNACK granted. */
export interface SessionInfo {
  readonly session: number;
  /** Announced limits; null where the broker named none (MQTT 3.1.1 never does). */
  readonly receiveMaximum: number | null;
  readonly maximumPacketSize: number | null;
  readonly retainAvailable: boolean;
}

export interface LinkHooks {
  /** The transport stands and the CONNECT with the will asked for last goes out. */
  onConnectSent?(): void;
  /** `ready` lets publishers through once this has resolved: births and states go out first. */
  onConnected?(info: SessionInfo): void | Promise<void>;
  onMessage?(message: InboundMessage): void;
  /** Once per session that was open. */
  onDisconnected?(reason: string): void;
}

/** What a format that opens its own sessions asks of its link. */
export interface LinkWishes {
  readonly hooks: LinkHooks;
  /**
   * Asked once for each CONNECT, before it. `isUnused` is true when the last will never left because that attempt ended
   * before a CONNECT could be sent (a refused TCP connection does not use up a Sparkplug bdSeq).
   */
  readonly will: (isUnused: boolean) => Will;
  readonly subscriptions: readonly Subscription[];
}

/** A link to publish with QoS 0 over: what was written is proven by an answer to a later question. */
export interface SessionLink extends MessageLink {
  readonly state: LinkState;
  /** Keeps a session open until aborted or closed. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * A PINGREQ round trip. TCP keeps order and a broker reads a client's packets one after the other, so the PINGRESP
   * proves that everything written before was read. False: the session is over.
   */
  prove(): Promise<boolean>;
  /** Ends the session as if the network had failed (the broker publishes the will); a new one follows. */
  renew(reason: string): void;
  /**
   * Ends the session with DISCONNECT; a new one follows at the next address. With `publishWill` an MQTT 5 broker publishes the will
   * too. `failure` is shown and logged as the reason; null where nothing is wrong.
   */
  leave(publishWill: boolean, failure: string | null): Promise<void>;
  /** Publishes `final`, disconnects; `run` ends. */
  close(final?: readonly Message[]): Promise<void>;
}
