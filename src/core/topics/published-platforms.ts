/** Topics of platforms and formats with their own rules: Home Assistant, ThingsBoard, clouds, Sparkplug. */

import { publishedChannels } from "../../pipeline/convert/accel.ts";
import { readingKinds, type Sensor } from "../sensor.ts";
import type { Site } from "../site.ts";
import { machineDevice, selectsMachine, siteMachines } from "../site-machines.ts";
import { topicLevel } from "../topic-level.ts";
import { createSelector, type Selector, type Uplink } from "../uplink.ts";
import {
  AGENT_ENTITIES,
  componentOf,
  type DiscoveryComponent,
  discoveryId,
  discoveryNode,
  discoveryTopic,
} from "./discovery.ts";
import { described, type PublishedTopic, row, type TopicPlan } from "./published-row.ts";

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

export function sparkplugTopics(
  plan: TopicPlan,
  { group, node }: NonNullable<Uplink["sparkplug"]>,
  site: Site,
  sensors: readonly Sensor[],
): PublishedTopic[] {
  const select = createSelector(plan.select, site.sensors);
  const of = { format: "sparkplug", type: "bytes", qos: 0 } as const;
  const nodeTopics = ["NBIRTH", "NDATA", "NDEATH"].map((verb) =>
    row({ ...of, topic: `spBv1.0/${group}/${verb}/${node}`, stream: `${verb} of ${node}` }),
  );
  const deviceTopics = sensors.flatMap((sensor) => {
    const topicOf = (verb: string) =>
      `spBv1.0/${group}/${verb}/${node}/${topicLevel(sensor.code.trim())}`;
    const messages = ["DBIRTH", "DDATA", "DDEATH"].map((verb) =>
      row({
        ...of,
        topic: topicOf(verb),
        stream: `${verb} of ${sensor.code}`,
        sensor: sensor.code,
      }),
    );
    const ddata = {
      ...of,
      topic: topicOf("DDATA"),
      stream: `DDATA of ${sensor.code}`,
      sensor: sensor.code,
    };
    const metrics = readingKinds(sensor)
      .filter((kind) => select.includes(sensor.code, kind))
      .flatMap((kind) =>
        described(sensor, kind, select).map((value) =>
          row({ ...ddata, kind, ...value, path: `${kind}/${value.value}` }),
        ),
      );
    const hasWaveforms = sensor.kinds.includes("accel") && plan.waveforms !== "never";
    const waveforms = hasWaveforms ? publishedChannels(sensor, true) : [];
    return [
      ...messages,
      ...metrics,
      ...waveforms.map(({ number, axis }) =>
        row({
          ...ddata,
          kind: "accel",
          path: `accel/waveform/channel${number}`,
          value: `channel${number}`,
          axis,
          unit: "G",
        }),
      ),
    ];
  });
  const machines =
    plan.alarms !== false && plan.sparkplug?.machines === true
      ? siteMachines(site).filter((machine) => selectsMachine(plan.select, machine))
      : [];
  const machineTopics = machines.flatMap(({ id }) =>
    ["DBIRTH", "DDATA", "DDEATH"].map((verb) =>
      row({
        ...of,
        topic: `spBv1.0/${group}/${verb}/${node}/${machineDevice(id)}`,
        stream: `${verb} of machine ${id}`,
      }),
    ),
  );
  return [...nodeTopics, ...deviceTopics, ...machineTopics];
}
