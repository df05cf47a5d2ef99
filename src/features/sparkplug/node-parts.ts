import type { LinkNeeds, SessionLink } from "../../core/delivery/link.ts";
import type { WaveformReader } from "../../core/ports.ts";
import type { Select } from "../../core/uplink.ts";
import type { BdSeqStore } from "./bd-seq.ts";
import type { DevicesOptions, DevicesParts, MachineSource } from "./devices.ts";
import type { NodeValue } from "./node-metrics.ts";
import type { SettlementsParts } from "./settlements.ts";

export interface SparkplugNodeParts extends DevicesParts, SettlementsParts {
  /** Makes the node's own link; it opens with `run`. */
  readonly createLink: (needs: LinkNeeds) => SessionLink;
  readonly waveforms: WaveformReader;
  readonly bdSeq: BdSeqStore;
  readonly nodeValues: () => readonly NodeValue[];
  /** Machines as devices; absent = none. */
  readonly machines?: MachineSource;
  /** A DCMD with settings; resolves with the outcome in words. Absent: commands are disabled. */
  readonly onDeviceCommand?: (
    sensor: string,
    settings: Readonly<Record<string, number>>,
  ) => Promise<string>;
}

export interface SparkplugNodeOptions extends Pick<DevicesOptions, "site"> {
  /** Messages written before a proof is required. */
  readonly inflight: number;
  readonly group: string;
  readonly node: string;
  readonly hostId: string | null;
  /** MQTT_BACKLOG_RATE, messages per second; 0 = as fast as the broker answers. */
  readonly backlogRatePerS: number;
  /** The uplink's selection; by default everything. */
  readonly select?: Select;
  /** PUBLISH_WAVEFORMS. */
  readonly waveforms: "always" | "alarm" | "never";
  /** SPARKPLUG_HISTORY_BATCH: maximum records in one historical message; by default as many as are leased. */
  readonly historyBatch?: number;
  /** How long a proven message is kept in case the primary host died unnoticed, ms. */
  readonly hostHoldMs?: number;
  /** With several servers: how long the first session waits for the host before the next one is tried, ms. */
  readonly hostWaitMinMs?: number;
  /** How often births are sent on request at most, ms. */
  readonly rebirthMs?: number;
  /** How long data waits after a broken session, ms, if no primary host reports its return. */
  readonly reconnectGraceMs?: number;
}
