/** Faults of brokers and uplinks, each with what to do. */

import { type AgentStatus, type LinkStatus, NOT_RECEIVED } from "../agent-status.ts";
import { grouped } from "../lists/grouped.ts";
import { MAIN_UPLINK } from "../uplink.ts";
import type { Fault } from "./fault.ts";

const LINK_WORDS: Readonly<Record<LinkStatus["name"], string>> = {
  mqtt: "MQTT",
  sparkplug: "Sparkplug",
};

/** Those of main by their short names, others with their uplink. */
function wordOf({ uplink, name }: LinkStatus): string {
  return uplink === "main" ? LINK_WORDS[name] : `${uplink} ${LINK_WORDS[name]}`;
}

/** Links that are down for the same reason are one fault: it has one remedy. */
function brokerFaults(down: readonly LinkStatus[]): Fault[] {
  const byReason = grouped(down, ({ lastError }) => lastError);
  return [...byReason].map(([reason, links]) => {
    const names = links.map(wordOf).join(" and ");
    const sinces = links.map(({ since }) => since).filter((since) => since !== null);
    const subject = links.length > 1 ? `${names} sessions` : `${names} session`;
    const verb = links.length > 1 ? "are" : "is";
    return {
      code: "broker_down",
      severity: "error",
      subject: "broker",
      what: `The ${subject} with the broker ${verb} down${reason === null ? "" : `: ${reason}`}. Readings wait in the buffer.`,
      remedy: brokerRemedy(links),
      sinceMs: sinces.length === 0 ? null : Math.min(...sinces),
    };
  });
}

function brokerRemedy(links: AgentStatus["links"]): string {
  const isMain = links.every(({ uplink }) => uplink === MAIN_UPLINK);
  const [url, id] = isMain
    ? ["MQTT_URL", "MQTT_CLIENT_ID"]
    : ['"url" of the uplink in UPLINKS_FILE', '"clientId"'];
  return `Check that the broker is running and that ${url} is its address; then check user name, password, certificates, and that no other client uses the same ${id}.`;
}

export function linkFaults({ links }: AgentStatus): Fault[] {
  const faults = brokerFaults(links.filter(({ isConnected, stolen }) => !isConnected && !stolen));
  for (const link of links) {
    if (link.stolen)
      faults.push({
        code: "session_stolen",
        severity: "error",
        subject: "broker",
        what: `The ${wordOf(link)} session is ${link.stolen}.`,
        remedy: brokerRemedy([link]),
        sinceMs: link.since,
      });
    if (link.isConnected && link.refused) {
      const isInbound = link.refused.examples[0]?.reason === NOT_RECEIVED;
      const trouble = isInbound ? "does not receive everything" : "the broker refuses publishes";
      faults.push({
        code: "publishes_refused",
        severity: "error",
        subject: "broker",
        what: `The ${wordOf(link)} session lives, but ${trouble}: ${link.refused.text}`,
        remedy: isInbound
          ? "Clear the retained message there, and publish none as large."
          : "Let this client publish there, as the broker's list of rights must say.",
        sinceMs: null,
      });
    }
    if (link.isConnected && link.otherAgent)
      faults.push({
        code: "other_agent",
        severity: "error",
        subject: "broker",
        what: `The ${wordOf(link)} session is not the only one of its site: ${link.otherAgent}`,
        remedy: "Give each box its own site name.",
        sinceMs: null,
      });
    if (link.isConnected && link.hostOnline === false) {
      faults.push({
        code: "host_offline",
        severity: "warning",
        subject: "broker",
        what: `The ${wordOf(link)} primary host is offline${link.hostDoubt ? `: ${link.hostDoubt}` : ""}. Readings wait in the buffer.`,
        remedy: "Start the SCADA host, or check that SPARKPLUG_HOST_ID matches its id.",
        sinceMs: link.since,
      });
    }
  }
  return faults;
}
