import type { TooLargePacket } from "./inbound-guard.ts";
import { INBOUND_PACKET_BYTES_MAX } from "./link-options.ts";

export const NO_RETAIN =
  "this broker does not support retained messages; states and live readings are published without retain, so a new subscriber waits for the next ones";

/** A topic as it came may steer the terminal that shows it. */
export function withoutControls(topic: string): string {
  return topic.replace(/\p{Cc}/gu, "?");
}

export function tooLargeInbound({ bytes, topic }: TooLargePacket): string {
  const limit = `more than the limit of ${INBOUND_PACKET_BYTES_MAX}`;
  return topic === null
    ? `the broker sent a packet of ${bytes} bytes, ${limit}`
    : `the broker sent a packet of ${bytes} bytes on ${withoutControls(topic)}, ${limit}: clear what is retained there; it is not subscribed to for ten minutes at least`;
}
