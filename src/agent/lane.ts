import { brokerOptions } from "../config/broker-options.ts";
import { clientIdsOf, type Uplink } from "../core/uplink.ts";
import type { Lane } from "../features/sessions.ts";
import { MqttLink } from "../pipeline/link/mqtt-link.ts";
import { chosenSensors, chosenSite, chosenValues } from "../pipeline/publish/chosen.ts";
import { type DestinationParts, ownParts, reconnectDelays } from "./destination.ts";

/** An uplink as a format with a session of its own is given it. */
export function createLane(uplink: Uplink, parts: DestinationParts): Lane {
  const { store, clock } = parts;
  const { logger, metrics, takesCommands } = ownParts(uplink, parts);
  const isChosen = chosenSensors(uplink, parts.site);
  const clientId = clientIdsOf(uplink).sparkplug ?? uplink.clientId;
  return {
    uplink,
    site: chosenSite(uplink, parts.site),
    isChosen,
    newest: (sensor, kind) => chosenValues(uplink, store.history.latest(sensor, kind)),
    sensors: () => parts.sensors().filter(({ code }) => isChosen(code)),
    outbox: store.outboxOf(uplink.name),
    waveforms: store.waveforms,
    clock,
    logger,
    metrics,
    takesCommands,
    createLink: ({ hooks, will, subscriptions }) =>
      new MqttLink(
        { clock, logger, metrics, hooks },
        {
          ...brokerOptions(uplink, clientId, parts.credentialsDirectory),
          ...reconnectDelays(parts),
          name: "sparkplug",
          will,
          subscriptions,
          needsSubscriptions: true,
        },
      ),
  };
}
