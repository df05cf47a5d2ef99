/** The response to a command over MQTT: its topic and message. */

import type { Message } from "../../core/message.ts";
import { withoutTrailing } from "../../core/text-ends.ts";

interface ReplyRequest {
  readonly topic: string;
  readonly responseTopic?: string;
  readonly correlationData?: Uint8Array;
}

/** Topics of Sparkplug and of the broker itself: a response there would be taken for theirs. */
const RESERVED = /^(spBv1\.0\/|STATE\/|\$)/;

/**
 * The topic of a response: the requested one, if it can be published to, is outside everything that this agent
 * publishes, and is below COMMAND_RESPONSE_PREFIX if one is set. Otherwise beside the command.
 */
function replyTopic(
  { topic, responseTopic }: Pick<ReplyRequest, "topic" | "responseTopic">,
  prefix: string | null,
): string {
  const beside = besideOf({ topic });
  if (!responseTopic || /[+#\0]/.test(responseTopic) || RESERVED.test(responseTopic)) return beside;
  // …/{site}/agent/cmd/saveSettings: everything below the site is the agent's own.
  const own = topic.replace(/agent\/cmd\/[^/]*$/, "");
  if (own !== "" && responseTopic.startsWith(own)) return beside;
  if (responseTopic === topic) return beside;
  if (prefix === null) return responseTopic;
  const root = withoutTrailing(prefix, "/");
  return responseTopic === root || responseTopic.startsWith(`${root}/`) ? responseTopic : beside;
}

const besideOf = ({ topic }: Pick<ReplyRequest, "topic">) => `${topic}/result`;

export function replyTo(request: ReplyRequest, result: object, prefix: string | null): Message {
  const { correlationData } = request;
  const topic = replyTopic(request, prefix);
  const beside = besideOf(request);
  return {
    topic,
    ...(topic === beside ? {} : { fallbackTopic: beside }),
    payload: JSON.stringify(result),
    qos: 1,
    retain: false,
    contentType: "application/json",
    ...(correlationData === undefined ? {} : { correlationData }),
  };
}
