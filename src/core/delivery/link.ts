/** The MQTT session as formats use it. `src/pipeline/link` implements it; formats in `src/pipeline/publish` know only these types. */
import type { LinkState } from "../agent-status.ts";
import type { Message } from "../message.ts";
import type { MessageLink } from "../ports.ts";

/** Largest remaining length in four bytes (MQTT 1.5.5): no packet can be larger for any broker. */
export const REMAINING_LENGTH_MAX = 268_435_455;

/** The message the broker publishes for us if the session ends unexpectedly. */
export type Will = Pick<Message, "topic" | "payload" | "qos" | "retain" | "contentType">;

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
  /** Not what this client publishes itself; over MQTT 3.1.1 that comes all the same. */
  readonly isOthersOnly?: boolean;
}

/** The limits granted by a CONNACK. */
export interface SessionInfo {
  readonly session: number;
  /** Announced limits; null if the broker named none (MQTT 3.1.1 never does). */
  readonly receiveMaximum: number | null;
  readonly maximumPacketSize: number | null;
  readonly retainAvailable: boolean;
}

export interface LinkHooks {
  /** The connection is open, and the CONNECT is sent with the will requested last. */
  onConnectSent?(): void;
  /** `ready` lets publishers continue once this has resolved: births and states are sent first. */
  onConnected?(info: SessionInfo): void | Promise<void>;
  onMessage?(message: InboundMessage): void;
  /** The broker has accepted one of `publish`: what lanes send is not told. */
  onAccepted?(): void;
  /** Once per session that was open. */
  onDisconnected?(reason: string): void;
}

/** What a format with its own sessions needs from its link. */
export interface LinkNeeds {
  readonly hooks: LinkHooks;
  /**
   * Called once before each CONNECT. `isUnused` is true if the last will was never sent because that attempt ended
   * before a CONNECT could be sent (a refused TCP connection does not use a Sparkplug bdSeq).
   */
  readonly will: (isUnused: boolean) => Will;
  readonly subscriptions: readonly Subscription[];
}

/** A link for QoS 0: delivery is proven by the response to a later request. */
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
