/** The Sparkplug B edge node of an uplink: its own session and will over the same buffer. */

import type { SettingsRequests } from "../../core/command.ts";
import { mqttActor } from "../../core/topics/request.ts";
import { MAIN_UPLINK, type Uplink, type UplinkSparkplug } from "../../core/uplink.ts";
import type { FeatureHost } from "../host.ts";
import type { Destination, Lane } from "../sessions.ts";
import { SparkplugNode } from "./node.ts";
import { nodeValues } from "./node-metrics.ts";
import type { SparkplugNodeParts } from "./node-parts.ts";

export type SparkplugHost = Pick<FeatureHost, "memory" | "status">;

/** What others bring to it. */
export interface SparkplugPorts {
  /** Takes settings for sensors. */
  readonly settings: SettingsRequests | null;
  /** The alarms of an uplink, and the limits that judge values; null while alarms are off. */
  readonly alarms:
    | ((
        isChosen: (sensor: string) => boolean,
      ) => Required<Pick<SparkplugNodeParts, "alarms" | "limits">>)
    | null;
  /** Machines as devices of an uplink's node, and names of places; null while nothing is said of machines. */
  readonly machines:
    | ((uplink: Uplink) => Pick<SparkplugNodeParts, "machines" | "names"> | null)
    | null;
}

/** Where the store keeps the bdSeq of the last CONNECT; that of `main` as in 0.1. */
const bdSeqKey = (uplink: string) =>
  uplink === MAIN_UPLINK ? "sparkplug_bd_seq" : `sparkplug_bd_seq:${uplink}`;

export function sparkplugDestination(
  sparkplug: UplinkSparkplug,
  lane: Lane,
  host: SparkplugHost,
  ports: SparkplugPorts,
): Destination {
  const { uplink, clock, logger, metrics, isChosen, outbox, waveforms } = lane;
  const alarms = ports.alarms?.(isChosen) ?? null;
  const machines = sparkplug.machines === true ? (ports.machines?.(uplink) ?? null) : null;
  const settings = lane.takesCommands ? ports.settings : null;
  const key = bdSeqKey(uplink.name);
  const node = new SparkplugNode(
    {
      createLink: lane.createLink,
      newest: lane.newest,
      sensors: lane.sensors,
      ...(alarms === null ? {} : { alarms: alarms.alarms }),
      ...(machines === null
        ? {}
        : { ...machines, ...(alarms === null ? {} : { limits: alarms.limits }) }),
      outbox,
      waveforms,
      bdSeq: {
        load: () => {
          const text = host.memory.get(key);
          return text === null ? null : Number(text);
        },
        save: (bdSeq) => host.memory.secure(key, String(bdSeq)),
      },
      nodeValues: () => nodeValues(host.status.status()),
      clock,
      logger,
      metrics,
      ...(settings === null
        ? {}
        : {
            onDeviceCommand: async (sensor, values) => {
              const actor = { who: mqttActor(uplink.name), what: "DCMD" };
              const request = { sensor, ...values };
              const { outcome, description } = await settings.execute(request, "mqtt", actor);
              return `${outcome}: ${description}`;
            },
          }),
    },
    {
      inflight: uplink.inflight,
      site: lane.site,
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
