import type { BrokerAddress } from "./broker-url.ts";
import type { BrokerTls } from "./options.ts";

/** A message as a broker handed it over, not yet acknowledged. */
export interface Delivery {
  /** With `/` between its levels, whatever the broker's protocol. */
  readonly topic: string;
  /** Cut to its first bytes where the message was larger than `PAYLOAD_BYTES_MAX`. */
  readonly payload: Buffer;
  /** Length of the whole payload, bytes. */
  readonly bytes: number;
  /** Our clock, ms. */
  readonly receivedMs: number;
  /** Acknowledges the message: it is safe. Does nothing once its connection is gone: the broker delivers it again. */
  acknowledge(): void;
}

/** Where messages come from: one broker cluster. */
export interface Source {
  /** Connects, and again after a loss, until aborted; resolves once the connection is closed in good order. */
  run(signal: AbortSignal): Promise<void>;
  readonly isConnected: boolean;
  /** Writes acknowledgements of a batch out at once. */
  flush(): void;
  /** Memory is full, or has room again. */
  pause(): void;
  resume(): void;
}

export interface SourceOptions {
  /** One cluster, tried in turn. */
  readonly addresses: readonly BrokerAddress[];
  readonly tls: BrokerTls;
  readonly group: string;
  readonly prefix: string;
}

/** A waveform of 262,144 samples has 1.4 MB. What is larger is none of ours: only its first bytes are kept in memory. */
export const PAYLOAD_BYTES_MAX = 4 << 20;
/** What is kept of a message that cannot be used. */
export const KEPT_BYTES = 4096;

/** The payload, or its first bytes where it is larger than a message of ours can be; a copy then, so that the rest is freed. */
export function boundedPayload(payload: Buffer): Buffer {
  return payload.length <= PAYLOAD_BYTES_MAX
    ? payload
    : Buffer.from(payload.subarray(0, KEPT_BYTES));
}
