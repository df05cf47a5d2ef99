/** A request over MQTT, and the response to it: its topic and message. */

import type { Message } from "../message.ts";
import type { Site } from "../site.ts";
import { withoutTrailing } from "../text/text-ends.ts";
import type { Uplink } from "../uplink.ts";
import { isOfTemplates } from "./template.ts";
import { topicLevel } from "./topic-level.ts";

/** A larger request is not parsed, bytes. */
export const REQUEST_BYTES_MAX = 16_384;

/** The sender of a command over an uplink, as the audit log calls it. */
export function mqttActor(uplink = ""): string {
  return `MQTT ${uplink}`.trim();
}

/** An MQTT request as it arrived. */
export interface CommandMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly responseTopic?: string;
  readonly correlationData?: Uint8Array;
  /** The broker retained it from earlier: it would act again on every connection. */
  readonly retain?: boolean;
  /** Name of the uplink it arrived on. */
  readonly uplink?: string;
}

interface ReplyRequest {
  readonly topic: string;
  readonly responseTopic?: string;
  readonly correlationData?: Uint8Array;
}

/** Topics of Sparkplug, of Home Assistant and of the broker itself: a response there would be taken for theirs. */
const RESERVED = /^(spBv1\.0\/|STATE\/|homeassistant\/|\$)/;
/** A broker ends the session of whoever publishes these, though it passes them on as a property of a request. */
const UNUSABLE = /[+#\p{Cc}\p{Noncharacter_Code_Point}]/u;
/** mosquitto takes 200 levels, EMQX 128. */
const LEVELS_MAX = 100;
const TOPIC_LENGTH_MAX = 1_024;

type PublishingUplink = Pick<Uplink, "topicPrefix" | "topics">;

/** A request as it is without a response topic to which one of the uplinks publishes: below its root, or by a template of its own. */
export function outsideOf<T extends Pick<ReplyRequest, "responseTopic">>(
  uplinks: readonly PublishingUplink[],
  site: Pick<Site, "site" | "sensors">,
  request: T,
): T {
  const { responseTopic: wanted = "" } = request;
  if (wanted === "") return request;
  const level = topicLevel(site.site);
  const isTaken = ({ topicPrefix: prefix, topics }: PublishingUplink) =>
    `${wanted}/`.startsWith(`${prefix}/${level}/`) ||
    isOfTemplates(topics, wanted, { ...site, prefix });
  const isUsable = wanted.length <= TOPIC_LENGTH_MAX && !uplinks.some(isTaken);
  return isUsable ? request : { ...request, responseTopic: "" };
}

/**
 * The topic of a response: the requested one, if it can be published to, is outside everything that this agent
 * publishes, and is below COMMAND_RESPONSE_PREFIX if one is set. Otherwise beside the command.
 */
function replyTopic(
  { topic, responseTopic }: Pick<ReplyRequest, "topic" | "responseTopic">,
  prefix: string | null,
): string {
  const beside = besideOf({ topic });
  if (!responseTopic || responseTopic.length > TOPIC_LENGTH_MAX) return beside;
  if (UNUSABLE.test(responseTopic) || RESERVED.test(responseTopic)) return beside;
  if (responseTopic.split("/").length > LEVELS_MAX) return beside;
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
