/**
 * Home Assistant's MQTT discovery (home-assistant.io, integrations/mqtt "MQTT Discovery", sensor.mqtt, binary_sensor.mqtt) over the
 * contract's topics: one device per sensor, one entity per value. Templates use brackets: `value_json.values` is a method of
 * the dictionary there, not our member.
 */

import type { Message } from "../../core/message.ts";
import { type Kind, readingKinds, type Sensor } from "../../core/sensor.ts";
import { channelLabels, channelOfValue } from "../../core/sensors/channel-labels.ts";
import { type KindValue, kindValues } from "../../core/sensors/kind-values.ts";
import { createGatesideProfile } from "../../pipeline/publish/formats/gateside.ts";
import type {
  PayloadProfile,
  ProfileOptions,
  ProfileParts,
} from "../../pipeline/publish/formats/profile.ts";
import {
  AGENT_ENTITIES,
  componentOf,
  DISCOVERY,
  type DiscoveryComponent,
  discoveryId,
  discoveryNode,
  discoveryTopic,
  machineNode,
} from "./discovery.ts";
import { homeAssistantMeaning } from "./homeassistant-units.ts";

/** Where Home Assistant announces that it has started. */
const STATUS_TOPIC = `${DISCOVERY}/status`;

/** Values about the node's condition rather than its measurements. */
const DIAGNOSTIC = new Set(["battery", "module_temperature"]);

interface Entity {
  readonly component: DiscoveryComponent;
  readonly objectId: string;
  readonly config: object;
}

export function createHomeAssistantProfile(
  parts: ProfileParts,
  options: ProfileOptions,
): PayloadProfile {
  const gateside = createGatesideProfile(parts, options);
  const { topics } = gateside;
  const { site, version, retain } = options;
  const agentNode = discoveryNode(site);
  const nodeOf = (sensor: Sensor) => discoveryNode(site, sensor.code);
  const origin = { name: "Gateside", sw_version: version };

  const topicOf = (node: string, { component, objectId }: Entity) =>
    discoveryTopic(component, node, objectId);
  const messages = (
    node: string,
    device: object,
    availability: object,
    entities: readonly Entity[],
  ) =>
    entities.map(
      (entity): Message => ({
        topic: topicOf(node, entity),
        payload: JSON.stringify({
          ...entity.config,
          unique_id: `${node}_${entity.objectId}`,
          ...availability,
          device,
          origin,
        }),
        qos: 1,
        retain,
        contentType: "application/json",
      }),
    );

  const entitiesOf = (sensor: Sensor): Entity[] =>
    readingKinds(sensor)
      .filter((kind) => options.isChosen?.(sensor.code, kind) ?? true)
      .flatMap((kind) =>
        kindValues(sensor, kind)
          .filter(({ name }) => options.isWanted === null || options.isWanted(name))
          .map((value) => entityOf(sensor, kind, value, topics.reading(sensor.code, kind))),
      );

  const agentAvailability = {
    topic: topics.agentState,
    value_template: "{{ value_json['state'] }}",
    payload_available: "online",
    payload_not_available: "offline",
  };
  const viaOf = ({ location }: Sensor) =>
    location !== undefined && options.hasMachine?.(location.machine) === true
      ? machineNode(site, location.machine)
      : agentNode;
  const describe = (sensor: Sensor): Message[] => {
    const place = sensor.location?.names;
    const device = {
      identifiers: [nodeOf(sensor)],
      name: sensor.name ?? sensor.code,
      serial_number: sensor.code,
      ...(sensor.model === undefined ? {} : { model: sensor.model }),
      ...(place?.area === undefined ? {} : { suggested_area: place.area }),
      via_device: viaOf(sensor),
    };
    const availability = {
      availability: [
        agentAvailability,
        {
          topic: topics.sensorState(sensor.code),
          value_template: "{{ 'online' if value_json['state'] == 'online' else 'offline' }}",
          payload_available: "online",
          payload_not_available: "offline",
        },
      ],
      availability_mode: "all",
    };
    return messages(nodeOf(sensor), device, availability, entitiesOf(sensor));
  };

  return {
    ...gateside,
    describe: (sensor) => [...gateside.describe(sensor), ...describe(sensor)],
    describeAgent: () =>
      messages(
        agentNode,
        {
          identifiers: [agentNode],
          name: `Gateside ${site}`,
          model: "Gateside",
          sw_version: version,
        },
        {},
        agentEntities(topics.agentState, topics.agentStats),
      ),
    retainedTopics: (sensor) => {
      const own = gateside.retainedTopics(sensor);
      // Home Assistant keeps an entity until it is told that it has gone, also where the broker keeps nothing.
      const discovery = entitiesOf(sensor).map((entity) => topicOf(nodeOf(sensor), entity));
      return { ...own, descriptions: [...own.descriptions, ...discovery] };
    },
    isEntity: (topic) => topic.startsWith(`${DISCOVERY}/`),
    subscriptions: [...gateside.subscriptions, STATUS_TOPIC],
    wantsDescriptions: (topic, payload) =>
      topic === STATUS_TOPIC && Buffer.from(payload).toString() === "online",
  };
}

function entityOf(sensor: Sensor, kind: Kind, value: KindValue, topic: string): Entity {
  const { name, type, unit } = value;
  const member = `value_json['values']['${name}']`;
  const common = {
    name: nameOf(sensor, kind, name),
    state_topic: topic,
    ...(DIAGNOSTIC.has(name) ? { entity_category: "diagnostic" } : {}),
  };
  const objectId = discoveryId(kind, name);
  if (type === "boolean") {
    // `None` is Home Assistant's word for unknown: a contact that cannot be read is neither on nor off.
    const value_template = `{{ 'None' if ${member} is none else ('ON' if ${member} else 'OFF') }}`;
    return { component: componentOf(type), objectId, config: { ...common, value_template } };
  }
  // An optional value that a record lacks leaves the last state unchanged: an empty text is ignored.
  const value_template = DIAGNOSTIC.has(name) ? `{{ ${member} | default('') }}` : `{{ ${member} }}`;
  const meaning =
    type === "string"
      ? name.endsWith("_zone")
        ? { device_class: "enum", options: ["A", "B", "C", "D"] }
        : {}
      : { ...homeAssistantMeaning(unit), state_class: "measurement" };
  return {
    component: componentOf(type),
    objectId,
    config: { ...common, value_template, ...meaning },
  };
}

/** `Drive end vel rms`: the channel's name in the site file; the kind if several of the sensor's kinds have the value. */
function nameOf(sensor: Sensor, kind: Kind, value: string): string {
  const channel = channelOfValue(kind, value);
  const label = channel === null ? undefined : channelLabels(sensor, kind)?.[channel];
  const called = label?.name ?? label?.axis;
  const words =
    channel === null || called === undefined ? value : value.replace(channel, `${called} `);
  const text = words.replaceAll("_", " ").replace(/ +/g, " ").replace(/ ma$/, " mA").trim();
  const isShared = sensor.kinds.some(
    (other) => other !== kind && kindValues(sensor, other).some(({ name }) => name === value),
  );
  return isShared ? `${text} (${kind})` : text;
}

/** The box itself: whether it is connected, and its pending readings. */
function agentEntities(stateTopic: string, statsTopic: string): Entity[] {
  return [
    {
      component: AGENT_ENTITIES.connection,
      objectId: "connection",
      config: {
        name: "Connection",
        device_class: "connectivity",
        entity_category: "diagnostic",
        state_topic: stateTopic,
        value_template: "{{ 'ON' if value_json['state'] == 'online' else 'OFF' }}",
      },
    },
    {
      component: AGENT_ENTITIES.backlog,
      objectId: "backlog",
      config: {
        name: "Backlog",
        entity_category: "diagnostic",
        state_class: "measurement",
        state_topic: statsTopic,
        value_template: "{{ value_json['buffer']['depth'] }}",
      },
    },
  ];
}
