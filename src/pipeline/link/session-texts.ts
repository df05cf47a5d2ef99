import type { TooLargePacket } from "./inbound-guard.ts";
import { INBOUND_PACKET_BYTES_MAX } from "./link-options.ts";

export const NO_RETAIN =
  "this broker does not support retained messages; states and live readings are published without retain, so a new subscriber waits for the next ones";

/** @param code of the SUBACK; null if it is not known */
export function refusedSubscription(topics: readonly string[], code: number | null = null): string {
  const remedy = SUBSCRIPTION_REMEDIES[code ?? 0] ?? "it gives no reason: check its access list";
  return `the broker refuses the subscription to ${topics.join(", ")}: ${remedy}`;
}

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

/** What to do about a SUBACK, by its reason code (MQTT 5; 0x80 is the only one of 3.1.1). */
const SUBSCRIPTION_REMEDIES: Readonly<Record<number, string>> = {
  0x83: "a rule of its own forbids it (0x83): see its log",
  0x87: "this client is not authorised: check its access list",
  0x8f: "it does not accept this topic filter: check MQTT_TOPIC_PREFIX and its rules for topics",
  0x91: "it takes the packet's identifier for one in use; the next session asks again",
  0x97: "a quota of this client is used up: raise its limit of subscriptions",
  0x9e: "it does not support shared subscriptions",
  0xa1: "it does not support subscription identifiers",
  0xa2: "it does not support wildcards in subscriptions",
};
