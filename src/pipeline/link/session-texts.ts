export const NO_RETAIN =
  "this broker does not support retained messages; states and live readings are published without retain, so a new subscriber waits for the next ones";

export function refusedSubscription(topics: readonly string[]): string {
  return `the broker refuses the subscription to ${topics.join(", ")}: check its access list`;
}
