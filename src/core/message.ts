/** A message for a broker, and how its publication ends. */

export interface Message {
  readonly topic: string;
  readonly payload: string | Uint8Array;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  /** MQTT 5 only. */
  readonly contentType?: string;
  readonly userProperties?: Readonly<Record<string, string>>;
  readonly correlationData?: Uint8Array;
  /**
   * Set where a client named `topic`: what is refused there is published here instead, and says nothing about the health
   * of the uplink. Null: it is published here anyway.
   */
  readonly fallbackTopic?: string | null;
  /** If it is too large it is sent in parts, so that says nothing about the health of the uplink. */
  readonly isDivisible?: boolean;
}

/**
 * delivered: PUBACK < 0x80 (QoS 0: written) · refused: PUBACK ≥ 0x80 or no subscriber although one is required ·
 * oversize: not sent · lost: the connection ended first.
 */
export type PublishOutcome =
  | { readonly result: "delivered" }
  | { readonly result: "refused"; readonly code: number }
  | { readonly result: "oversize"; readonly bytes: number; readonly limitBytes: number }
  | { readonly result: "lost" };
