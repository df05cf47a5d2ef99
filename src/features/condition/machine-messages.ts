/** The messages about machines in each profile (plant sections 25 and 28). */
import type { Message } from "../../core/message.ts";
import { machineArea, type SiteMachine } from "../../core/site-machines.ts";
import type { SiteSource } from "../../core/site-source.ts";
import {
  discoveryId,
  discoveryNode,
  discoveryTopic,
  MACHINE_ENTITIES,
  machineNode,
} from "../../core/topics/discovery.ts";
import type { Topics } from "../../core/topics/topics.ts";
import type { Uplink } from "../../core/uplink.ts";
import { azureTopic } from "../../pipeline/publish/formats/azure-iot.ts";
import { machinePayload, type PublishedMachine } from "./rules/machine-payload.ts";
import { CONDITIONS } from "./rules/words.ts";

export interface MachineMessages {
  /** Sent once per session and when it changes. */
  describe(machine: SiteMachine): readonly Message[];
  state(machine: PublishedMachine, timeMs: number): readonly Message[];
  /** Where it is told: at another place it is told anew. */
  place(machine: SiteMachine): string;
  /** After it has gone. */
  farewell(id: number): readonly Message[];
  /** Topics at which something of it is retained, or of which others have made something. */
  retained(machine: SiteMachine): readonly string[];
}

interface MessageParts {
  readonly topics: Topics;
  readonly site: SiteSource;
  readonly version: string;
}

type MachineUplink = Pick<Uplink, "clientId" | "compact" | "formats" | "profile" | "retain">;

const PLAIN = ["condition", "zone", "running", "stage"] as const;

export function createMachineMessages(uplink: MachineUplink, parts: MessageParts): MachineMessages {
  switch (uplink.profile) {
    case "thingsboard":
      return thingsBoard(parts);
    case "azure-iot":
      return azure(uplink, parts);
    case "homeassistant":
      return homeAssistant(uplink, parts);
    case "gateside":
    case "aws-iot":
      return gateside(uplink, parts);
  }
}

const json = (topic: string, payload: string, retain: boolean): Message => ({
  topic,
  payload,
  qos: 1,
  retain,
  contentType: "application/json",
});

function gateside(
  { compact, formats, retain }: MachineUplink,
  { topics, site }: MessageParts,
): MachineMessages {
  const hasJson = formats.includes("json");
  const hasPlain = formats.includes("plain");
  return {
    describe: () => [],
    state(published, timeMs) {
      const topic = topics.machine(published.machine);
      const payload = () => machinePayload(site.current.site, published, timeMs, compact);
      const { members } = published;
      return [
        ...(hasJson ? [json(topic, payload(), retain)] : []),
        ...(hasPlain ? PLAIN : []).map(
          (name): Message => ({
            topic: `${topic}/${name}`,
            payload: String(members[name] ?? (name === "stage" ? 0 : "")),
            qos: 1,
            retain,
          }),
        ),
      ];
    },
    place: (machine) => topics.machine(machine),
    farewell: () => [],
    retained(machine) {
      if (!retain) return [];
      const topic = topics.machine(machine);
      return [
        ...(hasJson ? [topic] : []),
        ...(hasPlain ? PLAIN.map((name) => `${topic}/${name}`) : []),
      ];
    },
  };
}

function azure({ clientId, compact }: MachineUplink, { site }: MessageParts): MachineMessages {
  return {
    describe: () => [],
    state: (published, timeMs) => [
      {
        topic: azureTopic(clientId, { kind: "machine", machine: `${published.machine.id}` }),
        payload: machinePayload(site.current.site, published, timeMs, compact),
        qos: 1,
        retain: false,
      },
    ],
    place: ({ id }) => `${id}`,
    farewell: () => [],
    retained: () => [],
  };
}

/** Home Assistant's discovery: one device per machine, behind the box. */
function homeAssistant(uplink: MachineUplink, parts: MessageParts): MachineMessages {
  const own = gateside(uplink, parts);
  const { topics, site, version } = parts;
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
        return json(
          topic,
          JSON.stringify({ ...ENTITY_CONFIGS[objectId], unique_id, ...common }),
          uplink.retain,
        );
      });
    },
    retained: (machine) => [
      ...own.retained(machine),
      ...configs(machine).map(({ topic }) => topic),
    ],
  };
}

/** `None` is Home Assistant's word for unknown. */
const ENTITY_CONFIGS: Readonly<Record<string, object>> = {
  condition: {
    name: "Condition",
    value_template: "{{ value_json['condition'] }}",
    device_class: "enum",
    options: CONDITIONS,
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
};

/** Devices behind the gateway, as sensors are. Null is not accepted. */
function thingsBoard({ site }: MessageParts): MachineMessages {
  const deviceOf = (id: number) => `${site.current.site} machine ${id}`;
  const known = (content: object) =>
    Object.fromEntries(Object.entries(content).filter(([, value]) => value !== null));
  const send = (topic: string, content: object) =>
    json(`v1/gateway/${topic}`, JSON.stringify(content), false);
  return {
    describe(machine) {
      const { id, name } = machine;
      const attributes = { site: site.current.site, machine: id, name, area: machineArea(machine) };
      return [
        send("connect", { device: deviceOf(id) }),
        send("attributes", { [deviceOf(id)]: known(attributes) }),
      ];
    },
    state({ machine, members }, timeMs) {
      const { condition, zone, running, stage, alarmCount } = members;
      const { alarm: alarms, warning: warnings } = alarmCount;
      const values = known({ condition, zone, running, stage, alarms, warnings });
      return [send("telemetry", { [deviceOf(machine.id)]: [{ ts: timeMs, values }] })];
    },
    place: ({ id }) => deviceOf(id),
    farewell: (id) => [send("disconnect", { device: deviceOf(id) })],
    retained: () => [],
  };
}
