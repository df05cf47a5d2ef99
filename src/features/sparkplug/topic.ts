import { topicLevel } from "../../core/topic-level.ts";

/** Message types of an edge node; the D types have a device level. */
export type NodeVerb = "NBIRTH" | "NDATA" | "NDEATH";
export type DeviceVerb = "DBIRTH" | "DDATA" | "DDEATH";

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
