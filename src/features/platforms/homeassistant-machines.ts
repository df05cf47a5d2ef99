/** Machines by Home Assistant's discovery: one device per machine, behind the box. */
import { machineArea, type SiteMachine } from "../../core/site-machines.ts";
import type { MachineMessageParts, MachineMessages, ToldMachine } from "../formats.ts";
import {
  discoveryId,
  discoveryNode,
  discoveryTopic,
  MACHINE_ENTITIES,
  machineNode,
} from "./discovery.ts";

/** Beside our own topics. */
export function homeAssistantMachines<T extends ToldMachine>(
  parts: MachineMessageParts<T>,
  own: MachineMessages<T>,
): MachineMessages<T> {
  const { conditions, topics, site, uplink, version } = parts;
  const entityConfigs = configsOf(conditions);
  const configs = (machine: SiteMachine) =>
    Object.entries(MACHINE_ENTITIES).map(([objectId, component]) => ({
      topic: discoveryTopic(component, machineNode(site.current.site, machine.id), objectId),
      objectId,
    }));
  return {
    ...own,
    describe(machine) {
      const node = machineNode(site.current.site, machine.id);
      const area = machineArea(machine);
      const common = {
        state_topic: topics.machine(machine),
        availability: [
          {
            topic: topics.agentState,
            value_template: "{{ value_json['state'] }}",
            payload_available: "online",
            payload_not_available: "offline",
          },
        ],
        device: {
          identifiers: [node],
          name: machine.name ?? `Machine ${machine.id}`,
          ...(area === null ? {} : { suggested_area: area }),
          via_device: discoveryNode(site.current.site),
        },
        origin: { name: "Gateside", sw_version: version },
      };
      return configs(machine).map(({ topic, objectId }) => {
        const unique_id = discoveryId(node, objectId);
        return {
          topic,
          payload: JSON.stringify({ ...entityConfigs[objectId], unique_id, ...common }),
          qos: 1,
          retain: uplink.retain,
          contentType: "application/json",
        };
      });
    },
    retained: (machine) => [
      ...own.retained(machine),
      ...configs(machine).map(({ topic }) => topic),
    ],
  };
}

/** `None` is Home Assistant's word for unknown. */
const configsOf = (conditions: readonly string[]): Readonly<Record<string, object>> => ({
  condition: {
    name: "Condition",
    value_template: "{{ value_json['condition'] }}",
    device_class: "enum",
    options: conditions,
  },
  zone: {
    name: "Zone",
    value_template: "{{ value_json['zone'] }}",
    device_class: "enum",
    options: ["A", "B", "C", "D"],
  },
  stage: { name: "Stage", value_template: "{{ value_json['stage'] }}" },
  running: {
    name: "Running",
    value_template:
      "{{ 'None' if value_json['running'] is none else ('ON' if value_json['running'] else 'OFF') }}",
    device_class: "running",
  },
});
