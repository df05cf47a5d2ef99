/** Responses to requests over one session: where the broker refuses the topic that a request named, beside the request. */

import { reasonName } from "../../core/delivery/reason-names.ts";
import type { Message, PublishOutcome } from "../../core/message.ts";
import type { Clock, Logger } from "../../core/ports.ts";
import { LogPace } from "../../lib/log-pace.ts";
import type { UplinkMetrics } from "../../lib/metrics.ts";

/** Refused topics remembered, so that each is logged once. */
const LOGGED_MAX = 100;

type Publish = (message: Message) => Promise<PublishOutcome>;

export function createRespond(
  publish: Publish,
  parts: {
    readonly clock: Pick<Clock, "monotonic">;
    readonly logger: Logger;
    readonly metrics: Pick<UplinkMetrics, "deliveryFailures">;
  },
): Publish {
  const logged = new Set<string>();
  // Requests may each name another topic.
  const lines = new LogPace(parts.clock);
  const tell = (topic: string, reason: string) => {
    parts.metrics.deliveryFailures.inc({ reason });
    if (logged.has(topic) || lines.next(reason) === null) return;
    if (logged.size >= LOGGED_MAX) logged.clear();
    logged.add(topic);
    parts.logger.warn(
      { topic, reason },
      "the broker refuses the response topic that a request named: let this client write there, or name none",
    );
  };
  return async (message) => {
    const { fallbackTopic, ...response } = message;
    const outcome = await publish(message);
    const { result } = outcome;
    if (fallbackTopic === undefined || result === "delivered" || result === "lost") return outcome;
    tell(message.topic, result === "refused" ? reasonName(outcome.code) : result);
    return fallbackTopic === null ? outcome : publish({ ...response, topic: fallbackTopic });
  };
}
