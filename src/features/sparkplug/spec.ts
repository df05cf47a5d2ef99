/** Sparkplug B: an edge node with a session of its own, on each uplink that has the format. */
import type { Refining } from "../../config/refining.ts";
import type { RawOf, SettingSpec } from "../../config/setting-spec.ts";
import type { WrittenUplink } from "../../config/uplinks-written.ts";
import type { Message } from "../../core/message.ts";
import type { Reading } from "../../core/reading.ts";
import type { FeatureSpec } from "../feature.ts";
import type { FormatSpec } from "../formats.ts";
import { NodeTopics, sparkplugTopics } from "./topics.ts";

const ID = {
  type: "text",
  pattern: "^[^+#/\\u0000-\\u001f\\u007f-\\u009f]{1,128}$",
  form: "a name without + # / or control characters",
} as const;
/** Records in one historical message, as many as a lease contains. */
const HISTORY_BATCH_MAX = 256;

const SPARKPLUG_SETTINGS = {
  SPARKPLUG_GROUP_ID: { ...ID, bySite: "{site}", doc: "Sparkplug group; by default the site." },
  SPARKPLUG_NODE_ID: { ...ID, default: "gateside", doc: "Sparkplug edge node." },
  SPARKPLUG_HOST_ID: {
    ...ID,
    doc: "Sparkplug primary host; nothing is sent while it is offline.",
  },
  SPARKPLUG_HISTORY_BATCH: {
    type: "integer",
    default: HISTORY_BATCH_MAX,
    minimum: 1,
    maximum: HISTORY_BATCH_MAX,
    doc: "Maximum records in one historical message; 1 for hosts that keep only one value of each name per message.",
  },
  SPARKPLUG_MACHINES: {
    type: "boolean",
    default: false,
    doc: "A device machine-ID for each machine; names and limits with the devices of sensors.",
  },
} as const satisfies Record<string, SettingSpec>;

type Raw = RawOf<typeof SPARKPLUG_SETTINGS> & {
  readonly ALARMS_ENABLED: boolean;
  readonly PUBLISH_FORMATS: string;
};

function refine(raw: Raw, { note, warn }: Pick<Refining, "note" | "warn">) {
  if (raw.SPARKPLUG_GROUP_ID === "STATE")
    note({
      place: "SPARKPLUG_GROUP_ID",
      problem: "STATE is a topic level that Sparkplug reserves for hosts",
      remedy: "choose another group",
    });
  if (raw.SPARKPLUG_MACHINES && !raw.ALARMS_ENABLED)
    warn(
      "SPARKPLUG_MACHINES",
      "has no effect while ALARMS_ENABLED is false",
      "set ALARMS_ENABLED=true, or remove it",
    );
  if (raw.SPARKPLUG_MACHINES && !raw.PUBLISH_FORMATS.includes("sparkplug"))
    warn(
      "SPARKPLUG_MACHINES",
      "has no effect without the format sparkplug",
      "add sparkplug to PUBLISH_FORMATS, or remove it",
    );
  return {};
}

/** What the format reads of the settings. */
interface SparkplugSettings {
  readonly sparkplugGroupId: string;
  readonly sparkplugNodeId: string;
  readonly sparkplugHostId: string | null;
  readonly sparkplugHistoryBatch: number;
  readonly sparkplugMachines: boolean;
}

/** A metric of a message: alias, time, type and value, and the message around them. */
const METRIC_BYTES = 24;
const NODE_BYTES = 60;

const FORMAT = {
  name: "sparkplug",
  ofSettings: (settings: SparkplugSettings) => ({
    sparkplug: {
      group: settings.sparkplugGroupId,
      node: settings.sparkplugNodeId,
      host: settings.sparkplugHostId,
      historyBatch: settings.sparkplugHistoryBatch,
      machines: settings.sparkplugMachines,
    },
  }),
  ofFile: ({ sparkplug }: Pick<WrittenUplink, "sparkplug">, site: string) => ({
    sparkplug: {
      group: sparkplug?.group ?? site,
      node: sparkplug?.node ?? "gateside",
      host: sparkplug?.host ?? null,
      historyBatch: sparkplug?.historyBatch ?? HISTORY_BATCH_MAX,
      machines: sparkplug?.machines ?? false,
    },
  }),
  siteRules(
    main: Readonly<Record<"PUBLISH_FORMATS" | "SPARKPLUG_GROUP_ID", string>> | null,
    uplinks: readonly Partial<WrittenUplink>[],
  ) {
    const isMainNode = main?.PUBLISH_FORMATS.includes("sparkplug") === true;
    const nodes = uplinks.filter(
      (uplink) => Array.isArray(uplink?.formats) && uplink.formats.includes("sparkplug"),
    );
    return {
      sparkplug: isMainNode || nodes.length > 0,
      isSparkplugGroup:
        (isMainNode && main.SPARKPLUG_GROUP_ID === "") ||
        nodes.some((uplink) => uplink.sparkplug?.group === undefined),
    };
  },
  topics: sparkplugTopics,
  /** The payload is protobuf with the aliases of a birth; people can only check its metrics. */
  shown({ kind, sensor, values }: Reading, settings: SparkplugSettings): Message {
    const topics = new NodeTopics(settings.sparkplugGroupId, settings.sparkplugNodeId);
    const metrics = Object.entries(values).map(([name, value]) => [`${kind}/${name}`, value]);
    const payload = JSON.stringify(Object.fromEntries(metrics));
    return { topic: topics.ofDevice("DDATA", sensor), payload, qos: 0, retain: false };
  },
  messageBytes: (sensor: string, values: number) =>
    NODE_BYTES + sensor.length + METRIC_BYTES * values,
} as const satisfies FormatSpec;

export const SPARKPLUG_SPEC = {
  name: "sparkplug",
  settings: SPARKPLUG_SETTINGS,
  refine,
  formats: [FORMAT],
  after: { settings: "PUBLISH_WAVEFORMS" },
} as const satisfies FeatureSpec;
