import type { InboundMessage } from "../../core/delivery/link.ts";
import type { TokenBucket } from "../../lib/token-bucket.ts";
import type { TooLargePacket } from "./inbound-guard.ts";
import type { LinkFailure } from "./link-errors.ts";
import type { PublishRefusal } from "./publishes.ts";
import type { RefusedTopics } from "./refusals.ts";

/** What is known of the broker before a session, and what the session tells its owner. */
export interface SessionTraits {
  /** One message in flight at a time, to find the one on which the broker closes the connection. */
  readonly isolate: boolean;
  /** False: the broker is known to refuse retained messages. */
  readonly retain: boolean;
  /** Publishes per second that the platform accepts; absent: as many as there are. */
  readonly pace?: TokenBucket;
  readonly refusals?: RefusedTopics;
}

export interface SessionEvents {
  /** The connection is open and CONNECT is sent. */
  onConnectSent(): void;
  /** Follows the CONNACK. */
  onOpen(): void;
  onMessage(message: InboundMessage): void;
}

/** How a session, or the attempt to open one, ended. */
export interface SessionEnd {
  /** Null if we ended it and nothing is wrong. */
  readonly failure: LinkFailure | null;
  readonly wasOpen: boolean;
  /** False if no CONNECT can have been sent. */
  readonly connectSent: boolean;
  /** The CONNECT was sent, and the broker closed the connection without answering it. */
  readonly isConnectUnanswered: boolean;
  /** Reason code of the broker's DISCONNECT or refusing CONNACK. */
  readonly code: number | null;
  /** The other side ended it while QoS 1 publishes were in flight. */
  readonly brokeWithInflight: boolean;
  /** The refused publish that it ended for, as far as can be told. */
  readonly culprit?: PublishRefusal | null;
  /** The topic of the publish at which it ended without a reason, one message at a time. */
  readonly suspect?: string | null;
  readonly byPeer: boolean;
  /** What the broker sent that no session takes. */
  readonly tooLarge?: TooLargePacket | null;
  /** Bytes of the largest QoS 1 packet that was in flight. */
  readonly largestInflight: number;
  /** Bytes of the largest unproven QoS 0 packet. */
  readonly largestUnproven: number;
  /** Topic of the first of them; null for none. */
  readonly unprovenTopic?: string | null;
  /** Publishes and pings answered. */
  readonly acks: number;
}
