import type { InboundMessage } from "../../core/link.ts";
import type { TokenBucket } from "../../lib/token-bucket.ts";
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
