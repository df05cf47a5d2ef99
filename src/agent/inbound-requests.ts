import type { InboundMessage } from "../core/delivery/link.ts";
import { outsideOf } from "../core/topics/request.ts";
import { MAIN_UPLINK } from "../core/uplink.ts";
import { CommandGate } from "../lib/command-gate.ts";
import type { MqttLink } from "../pipeline/link/mqtt-link.ts";
import { createRespond } from "../pipeline/publish/respond.ts";
import type { SharedUplinkParts } from "./uplink-parts.ts";

/** What is received from the broker besides our own retained state: the topics, and the handling of their messages. */
export function inboundRequests(
  { uplink, parts, own, profile }: SharedUplinkParts,
  redact: (text: string) => string,
  send: MqttLink["publish"],
) {
  const { clock } = parts;
  const { logger, metrics } = own;
  const { topics } = profile;
  const publish = createRespond(send, { clock, logger, metrics });
  // On `main`, and on uplinks that enable commands.
  const isTrusted = uplink.name === MAIN_UPLINK || uplink.commands;
  const intake = parts.features().find((feature) => feature.documents)?.documents ?? null;
  const documents = isTrusted && profile.takesCommands ? intake : null;
  const session = { uplink, topics, publish };
  documents?.open(session);
  const documentPace = new CommandGate(clock, logger);
  const takesCommands = own.takesCommands && profile.takesCommands;
  const requests = takesCommands
    ? parts.features().flatMap((feature) => feature.requests ?? [])
    : [];
  const from = { logger, pace: new CommandGate(clock, logger), redact };
  return {
    documents,
    session,
    topics: [
      ...(documents === null ? [] : [topics.siteDocument]),
      ...requests.map(({ topic }) => topics[topic]),
    ],
    handle(inbound: InboundMessage): void {
      const message = outsideOf(parts.uplinks(), parts.site.current, inbound);
      if (documents !== null && message.topic === topics.siteDocument) {
        // A signature of a megabyte takes a small box a tenth of a second.
        if (documentPace.pass()) documents.handle(message, session);
        return;
      }
      const request = requests.find(({ topic }) => topics[topic] === message.topic);
      void request?.handle({ ...message, uplink: uplink.name }, publish, from);
    },
  };
}
