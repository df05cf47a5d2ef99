/** Topics of Home Assistant's MQTT discovery (home-assistant.io, integrations/mqtt "MQTT Discovery"). Pure. */

/** Home Assistant's default discovery prefix. */
export const DISCOVERY = "homeassistant";

export type DiscoveryComponent = "sensor" | "binary_sensor";

/** Entities of the box itself. */
export const AGENT_ENTITIES = {
  connection: "binary_sensor",
  backlog: "sensor",
} as const satisfies Readonly<Record<string, DiscoveryComponent>>;

/** Of a machine. */
export const MACHINE_ENTITIES = {
  condition: "sensor",
  zone: "sensor",
  stage: "sensor",
  running: "binary_sensor",
} as const satisfies Readonly<Record<string, DiscoveryComponent>>;

/** Allowed in a discovery topic's levels and ids: letters, digits, `_` and `-`. */
export function discoveryId(...parts: readonly string[]): string {
  return parts.join("_").replace(/[^A-Za-z0-9_-]/g, "_");
}

/** @param node id of the device: the box without a code, otherwise the sensor */
export function discoveryNode(site: string, code?: string): string {
  return code === undefined ? discoveryId("gateside", site) : discoveryId("gateside", site, code);
}

export const machineNode = (site: string, id: number) =>
  discoveryId("gateside", site, "machine", `${id}`);

export function componentOf(type: "number" | "boolean" | "string"): DiscoveryComponent {
  return type === "boolean" ? "binary_sensor" : "sensor";
}

export function discoveryTopic(
  component: DiscoveryComponent,
  node: string,
  objectId: string,
): string {
  return `${DISCOVERY}/${component}/${node}/${objectId}/config`;
}
