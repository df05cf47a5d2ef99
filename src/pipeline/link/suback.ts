import type { ISubscriptionMap } from "mqtt";
import type { Subscription } from "../../core/link.ts";
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
