import type { ISubscriptionMap } from "mqtt";
import type { Subscription } from "../../core/delivery/link.ts";
import { REFUSED_UNSPECIFIED } from "./publishes.ts";

/** As mqtt.js takes them. */
export function filtersOf(subscriptions: readonly Subscription[]): ISubscriptionMap {
  return Object.fromEntries(
    subscriptions.map(({ topic, qos, isOthersOnly = false }) => [topic, { qos, nl: isOthersOnly }]),
  );
}

/** The topics that a SUBACK which is not a success refuses, and the first code that says so. */
export function refusedIn(
  subscriptions: readonly Subscription[],
  granted: readonly unknown[],
): { readonly topics: string[]; readonly code: number | null } {
  const topics = subscriptions.map(({ topic }) => topic);
  const refused = topics.filter((_, i) => Number(granted[i]) >= REFUSED_UNSPECIFIED);
  const code = granted.map(Number).find((one) => one >= REFUSED_UNSPECIFIED) ?? null;
  // A response that does not say which one is meant refuses all of them.
  return { topics: refused.length > 0 ? refused : topics, code };
}

/** @param code of the SUBACK; null if it is not known */
export function refusedSubscription(topics: readonly string[], code: number | null = null): string {
  const remedy = SUBSCRIPTION_REMEDIES[code ?? 0] ?? "it gives no reason: check its access list";
  return `the broker refuses the subscription to ${topics.join(", ")}: ${remedy}`;
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
