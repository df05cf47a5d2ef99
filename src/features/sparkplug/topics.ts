/** Topics of an edge node: those of its messages, and a list of all for a site. */

import { readingKinds, type Sensor } from "../../core/sensor.ts";
import type { Site } from "../../core/site.ts";
import { machineDevice, selectsMachine, siteMachines } from "../../core/site-machines.ts";
import {
  described,
  type PublishedTopic,
  row,
  type TopicPlan,
} from "../../core/topics/published-row.ts";
import { topicLevel } from "../../core/topics/topic-level.ts";
import { createSelector } from "../../core/uplink.ts";
import { publishedChannels } from "../../pipeline/convert/accel.ts";

/** Message types of an edge node; the D types have a device level. */
const NODE_VERBS = ["NBIRTH", "NDATA", "NDEATH"] as const;
const DEVICE_VERBS = ["DBIRTH", "DDATA", "DDEATH"] as const;
type NodeVerb = (typeof NODE_VERBS)[number];
type DeviceVerb = (typeof DEVICE_VERBS)[number];

const NAMESPACE = "spBv1.0";

/** Inbound: a command to the node, a command to a device, a state of some host, or a topic that is not ours. */
export type Incoming =
  | { readonly what: "ncmd" }
  | { readonly what: "dcmd"; readonly device: string }
  | { readonly what: "state"; readonly host: string }
  | { readonly what: "other" };

/** Names of one edge node (`SPARKPLUG_GROUP_ID`/`SPARKPLUG_NODE_ID`). */
export class NodeTopics {
  readonly group: string;
  readonly node: string;

  constructor(group: string, node: string) {
    this.group = group;
    this.node = node;
  }
  ofNode(verb: NodeVerb): string {
    return `${NAMESPACE}/${this.group}/${verb}/${this.node}`;
  }
  ofDevice(verb: DeviceVerb, device: string): string {
    return `${NAMESPACE}/${this.group}/${verb}/${this.node}/${device}`;
  }
  /** Filters to subscribe with QoS 1, before any birth. */
  filters(hostId: string | null): string[] {
    const commands = [
      `${NAMESPACE}/${this.group}/NCMD/${this.node}`,
      `${NAMESPACE}/${this.group}/DCMD/${this.node}/#`,
    ];
    // STATE last: its retained message may start the births, and the commands must be subscribed by then.
    return hostId === null ? commands : [...commands, stateTopic(hostId)];
  }
  parse(topic: string): Incoming {
    const [namespace, group, verb, node, device, ...rest] = topic.split("/");
    if (namespace !== NAMESPACE || rest.length > 0) return { what: "other" };
    if (group === "STATE" && verb !== undefined && node === undefined) {
      return { what: "state", host: verb };
    }
    if (group !== this.group || node !== this.node) return { what: "other" };
    if (verb === "NCMD" && device === undefined) return { what: "ncmd" };
    if (verb === "DCMD" && device !== undefined) return { what: "dcmd", device };
    return { what: "other" };
  }
}

/** Capital B, host after STATE; the form of 2.2 (`STATE/<id>`) is another protocol. */
export function stateTopic(hostId: string): string {
  return `${NAMESPACE}/STATE/${hostId}`;
}

/** A sensor code as device id. */
export function deviceId(code: string): string {
  return topicLevel(code.trim());
}

/** Births, data and deaths of the node and its devices, with a row for each metric. @param sensors those that are selected */
export function sparkplugTopics(
  plan: TopicPlan,
  site: Site,
  sensors: readonly Sensor[],
): PublishedTopic[] {
  if (plan.sparkplug === null) return [];
  const { group, node } = plan.sparkplug;
  const topics = new NodeTopics(group, node);
  const select = createSelector(plan.select, site.sensors);
  const of = { format: "sparkplug", type: "bytes", qos: 0 } as const;
  const nodeTopics = NODE_VERBS.map((verb) =>
    row({ ...of, topic: topics.ofNode(verb), stream: `${verb} of ${node}` }),
  );
  const deviceTopics = sensors.flatMap((sensor) => {
    const device = deviceId(sensor.code);
    const messages = DEVICE_VERBS.map((verb) =>
      row({
        ...of,
        topic: topics.ofDevice(verb, device),
        stream: `${verb} of ${sensor.code}`,
        sensor: sensor.code,
      }),
    );
    const ddata = {
      ...of,
      topic: topics.ofDevice("DDATA", device),
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
    plan.alarms !== false && plan.sparkplug.machines === true
      ? siteMachines(site).filter((machine) => selectsMachine(plan.select, machine))
      : [];
  const machineTopics = machines.flatMap(({ id }) =>
    DEVICE_VERBS.map((verb) =>
      row({
        ...of,
        topic: topics.ofDevice(verb, machineDevice(id)),
        stream: `${verb} of machine ${id}`,
      }),
    ),
  );
  return [...nodeTopics, ...deviceTopics, ...machineTopics];
}
