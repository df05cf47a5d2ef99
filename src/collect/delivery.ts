import type { BrokerTls } from "../core/collect-options.ts";
import type { BrokerAddress } from "./broker-url.ts";
import type { Dots, SiteTopics } from "./site-topics.ts";

/** A message as delivered by a broker, not yet acknowledged. */
export interface PendingDelivery {
  /** With `/` between its levels, in each broker's protocol. */
  readonly topic: string;
  readonly dots: Dots;
  /** Truncated to its first bytes if the message was larger than `PAYLOAD_BYTES_MAX`. */
  readonly payload: Buffer;
  /** Length of the whole payload, bytes. */
  readonly bytes: number;
  /** Our clock, ms. */
  readonly receivedMs: number;
  /** It stood at the broker before: when it was sent, beside others, its arrival does not say. */
  readonly isRetained?: boolean;
  /** The connection that delivers it anew if it ends first; null: nobody does. */
  readonly session?: object | null;
  /** Acknowledges the message: it is stored. Does nothing once its connection is gone: the broker delivers it again. */
  acknowledge(): void;
}

/** The source of messages: one broker cluster. */
export interface Source {
  /** Connects, and reconnects after a loss, until aborted; resolves once the connection is closed cleanly. */
  run(signal: AbortSignal): Promise<void>;
  readonly isConnected: boolean;
  /** Sends the acknowledgements of a batch at once. */
  flush(): void;
  /** Memory is full, or has space again. */
  pause(): void;
  resume(): void;
}

export interface SourceOptions {
  /** One cluster, tried in turn. */
  readonly addresses: readonly BrokerAddress[];
  readonly tls: BrokerTls;
  readonly group: string;
  readonly prefix: string;
  readonly topics: SiteTopics;
  /** Longest wait before the own address is taken again, s. */
  readonly reconnectSpreadS: number;
}

/** A waveform of 262,144 samples has 1.4 MB. A larger message is not ours: only its first bytes are kept in memory. */
export const PAYLOAD_BYTES_MAX = 4 << 20;
/** How much is kept of an unusable message. */
export const KEPT_BYTES = 4096;

/**
 * The payload, or its first bytes if it is larger than a message of ours can be. A copy where it is part of a larger buffer, which would be held
 * with it.
 */
export function boundedPayload(payload: Buffer): Buffer {
  const kept = payload.length <= PAYLOAD_BYTES_MAX ? payload : payload.subarray(0, KEPT_BYTES);
  return kept.length < kept.buffer.byteLength ? Buffer.from(kept) : kept;
}
