/** Topics of platforms with their own rules: Home Assistant, ThingsBoard, clouds. */

import { readingKinds, type Sensor } from "../../core/sensor.ts";
import type { Site } from "../../core/site.ts";
import type { SiteMachine } from "../../core/site-machines.ts";
import { MACHINE_VALUES } from "../../core/topics/published-machines.ts";
import { described, type PublishedTopic, row } from "../../core/topics/published-row.ts";
import type { Selector } from "../../core/uplink.ts";
import {
  AGENT_ENTITIES,
  componentOf,
  type DiscoveryComponent,
  discoveryId,
  discoveryNode,
  discoveryTopic,
  MACHINE_ENTITIES,
  machineNode,
} from "./discovery.ts";

/** The messages that announce the box and every value to Home Assistant. */
export function discoveryTopics(
  { site }: Site,
  sensors: readonly Sensor[],
  select: Selector,
): PublishedTopic[] {
  const agent = Object.entries(AGENT_ENTITIES).map(
    ([objectId, component]: [string, DiscoveryComponent]) =>
      row({
        format: "json",
        topic: discoveryTopic(component, discoveryNode(site), objectId),
        stream: `discovery of the agent's ${objectId}`,
        retained: true,
      }),
  );
  const values = sensors.flatMap((sensor) =>
    readingKinds(sensor)
      .filter((kind) => select.includes(sensor.code, kind))
      .flatMap((kind) =>
        described(sensor, kind, select).map(({ value, type }) =>
          row({
            format: "json",
            topic: discoveryTopic(
              componentOf(type),
              discoveryNode(site, sensor.code),
              discoveryId(kind, value),
            ),
            stream: `discovery of ${value} of ${sensor.code} ${kind}`,
            sensor: sensor.code,
            kind,
            retained: true,
          }),
        ),
      ),
  );
  return [...agent, ...values];
}

/** The messages that announce a machine. */
export const machineDiscoveryTopics = ({ site }: Site, { id }: SiteMachine): PublishedTopic[] =>
  Object.entries(MACHINE_ENTITIES).map(([objectId, component]) =>
    row({
      format: "json",
      topic: discoveryTopic(component, machineNode(site, id), objectId),
      stream: `discovery of ${objectId} of machine ${id}`,
      retained: true,
    }),
  );

/** docs/mqtt.md "Profiles" cites their documentation. */
export const THINGSBOARD: readonly (readonly [topic: string, stream: string])[] = [
  ["v1/gateway/connect", "sensors that are connected"],
  ["v1/gateway/disconnect", "sensors that are disconnected"],
  ["v1/gateway/attributes", "descriptions and states of the sensors"],
  ["v1/gateway/telemetry", "readings"],
  ["v1/devices/me/attributes", "the agent's state"],
  ["v1/devices/me/telemetry", "the agent's statistics, gaps"],
];

/** Platforms with fixed topics; their messages contain the sensor. */
export function fixedTopics(
  topics: readonly (readonly [topic: string, stream: string])[],
  sensors: readonly Sensor[],
  select: Selector,
): PublishedTopic[] {
  const readings = sensors.flatMap((sensor) =>
    readingKinds(sensor)
      .filter((kind) => select.includes(sensor.code, kind))
      .flatMap((kind) =>
        described(sensor, kind, select).map((value) =>
          row({
            format: "json",
            topic: "v1/gateway/telemetry",
            stream: "readings",
            sensor: sensor.code,
            kind,
            ...value,
            path: `${sensor.code}[].values.${value.value}`,
          }),
        ),
      ),
  );
  return [...topics.map(([topic, stream]) => row({ format: "json", topic, stream })), ...readings];
}

/** Machines as devices behind the gateway. */
export const fixedMachineTopics = (
  { site }: Site,
  machines: readonly SiteMachine[],
): PublishedTopic[] =>
  machines.flatMap(({ id }) =>
    [
      ...Object.entries(MACHINE_VALUES),
      ["alarms", "number"] as const,
      ["warnings", "number"] as const,
    ].map(([value, type]) =>
      row({
        format: "json",
        topic: "v1/gateway/telemetry",
        stream: "readings",
        value,
        type,
        path: `${site} machine ${id}[].values.${value}`,
      }),
    ),
  );
