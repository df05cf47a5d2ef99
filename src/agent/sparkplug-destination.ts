/** The Sparkplug B edge node: its own session and will over the same buffer. */

import { mqttActor } from "../core/topics/request.ts";
import { clientIdsOf, MAIN_UPLINK, type Uplink, type UplinkSparkplug } from "../core/uplink.ts";
import { placeNames, sparkplugMachines } from "../features/condition/sparkplug-port.ts";
import { SparkplugNode } from "../features/sparkplug/node.ts";
import { nodeValues } from "../features/sparkplug/node-metrics.ts";
import { MqttLink } from "../pipeline/link/mqtt-link.ts";
import { sparkplugAlarms } from "./alarms/sparkplug-alarms.ts";
import { sparkplugLimits } from "./alarms/sparkplug-limits.ts";
import { brokerOptions } from "./broker-options.ts";
import { chosenSensors, chosenSite, chosenValues } from "./chosen.ts";
import {
  type Destination,
  type DestinationParts,
  ownParts,
  reconnectDelays,
} from "./destination.ts";

/** Where the store keeps the bdSeq of the last CONNECT; that of `main` as in 0.1. */
const bdSeqKey = (uplink: string) =>
  uplink === MAIN_UPLINK ? "sparkplug_bd_seq" : `sparkplug_bd_seq:${uplink}`;

export function sparkplugDestination(
  uplink: Uplink,
  sparkplug: UplinkSparkplug,
  parts: DestinationParts,
): Destination {
  const { store, clock } = parts;
  const { logger, metrics, takesCommands } = ownParts(uplink, parts);
  const settings = takesCommands ? parts.sensorSettings() : null;
  const isChosen = chosenSensors(uplink, parts.site);
  const key = bdSeqKey(uplink.name);
  const node = new SparkplugNode(
    {
      createLink: ({ hooks, will, subscriptions }) =>
        new MqttLink(
          { clock, logger, metrics, hooks },
          {
            ...brokerOptions(
              uplink,
              clientIdsOf(uplink).sparkplug ?? uplink.clientId,
              parts.credentialsDirectory,
            ),
            ...reconnectDelays(parts),
            name: "sparkplug",
            will,
            subscriptions,
            needsSubscriptions: true,
          },
        ),
      newest: (sensor, kind) => chosenValues(uplink, store.history.latest(sensor, kind)),
      sensors: () => parts.sensors().filter(({ code }) => isChosen(code)),
      ...(parts.alarms === null
        ? {}
        : { alarms: sparkplugAlarms(parts.alarms.engines, isChosen, parts.gatewayNow) }),
      ...(sparkplug.machines === true && parts.alarms !== null
        ? {
            machines: sparkplugMachines(uplink, parts),
            names: placeNames(parts.site),
            limits: sparkplugLimits(
              parts.alarms.actions,
              (sensor) =>
                parts.alarms?.engines.alarms.wait.stateAt(sensor, parts.gatewayNow()) ===
                "standing",
            ),
          }
        : {}),
      outbox: store.outboxOf(uplink.name),
      waveforms: store.waveforms,
      bdSeq: {
        load: () => {
          const text = store.meta.get(key);
          return text === null ? null : Number(text);
        },
        save: (bdSeq) => store.meta.set(key, String(bdSeq)),
      },
      nodeValues: () => nodeValues(parts.status()),
      clock,
      logger,
      metrics,
      ...(settings === null
        ? {}
        : {
            onDeviceCommand: async (sensor, values) => {
              const actor = { who: mqttActor(uplink.name), what: "DCMD" };
              const request = { sensor, ...values };
              const { outcome, description } = await settings.execute(request, "http", actor);
              return `${outcome}: ${description}`;
            },
          }),
    },
    {
      inflight: uplink.inflight,
      site: chosenSite(uplink, parts.site),
      group: sparkplug.group,
      node: sparkplug.node,
      hostId: sparkplug.host,
      backlogRatePerS: uplink.backlogRatePerS,
      select: uplink.select,
      waveforms: uplink.waveforms,
      historyBatch: sparkplug.historyBatch,
    },
  );
  return {
    get state() {
      return node.state;
    },
    get delivered() {
      return node.delivered;
    },
    get failures() {
      return node.failures;
    },
    run: (signal) => node.run(signal),
    close: async () => {},
  };
}
