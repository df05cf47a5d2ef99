/**
 * An uplink: one destination of readings, with its own session, selection of readings and pace. `main` is configured by
 * the settings MQTT_*, PUBLISH_* and SPARKPLUG_*; others by the uplinks file.
 */

import type { OnChange } from "./delivery/thinning.ts";
import { type Kind, normalCode, readingKinds, type Sensor, type SensorLocation } from "./sensor.ts";
import { anyGlob } from "./text/glob.ts";
import type { TopicTemplates } from "./topics/template.ts";

export const MAIN_UPLINK = "main";

/** Those of the published schema; features bring some of them. */
export const UPLINK_FORMATS = ["json", "plain", "sparkplug"] as const;
export type UplinkFormat = (typeof UPLINK_FORMATS)[number];

/** Those of the published schema; features bring all but the first. */
export const PROFILES = [
  "gateside",
  "homeassistant",
  "thingsboard",
  "aws-iot",
  "azure-iot",
] as const;
export type Profile = (typeof PROFILES)[number];

/** Whether something is said there of machines. */
export const hasMachines = ({ machines, sparkplug }: Pick<Uplink, "machines" | "sparkplug">) =>
  machines || sparkplug?.machines === true;

const WAVEFORM_POLICIES = ["always", "alarm", "never"] as const;
export type WaveformPolicy = (typeof WAVEFORM_POLICIES)[number];

/** Which readings, and which of their values. An empty list selects everything; several lists must all agree. */
export interface Select {
  readonly kinds: readonly Kind[];
  /** Globs over sensor codes. */
  readonly sensors: readonly string[];
  /** Ids of the site file's `location`. A sensor without a location is in no area and on no machine. */
  readonly areas: readonly number[];
  readonly machines: readonly number[];
  /** Globs over value names. */
  readonly values: readonly string[];
}

export const SELECT_ALL: Select = { kinds: [], sensors: [], areas: [], machines: [], values: [] };

export interface UplinkSparkplug {
  readonly group: string;
  readonly node: string;
  readonly host: string | null;
  /** Maximum records in one historical message. */
  readonly historyBatch: number;
  /** A device for each machine; absent = none. */
  readonly machines?: boolean;
}

export interface SecretFiles {
  readonly username?: string;
  readonly password?: string;
  readonly sasKey?: string;
  /** Of `main` the whole address; of others the proxy's user:password. */
  readonly proxy?: string;
}

export interface Uplink {
  readonly name: string;
  /** Addresses of one broker cluster, tried in turn; without credentials. */
  readonly urls: readonly string[];
  readonly version: 4 | 5;
  readonly clientId: string;
  /** Secret: some brokers expect a token here. */
  readonly username: string | null;
  /** Secret. */
  readonly password: string | null;
  /** Absolute paths of PEM files, read before each connection attempt. */
  readonly tls: {
    readonly caFile: string | null;
    readonly certFile: string | null;
    readonly keyFile: string | null;
    /** Of their content when the configuration was read: a reload sees by it that they were renewed. */
    readonly digest?: string;
  };
  /** http://[user:password@]host:port of an HTTP proxy in front of the broker. Secret. */
  readonly proxy: string | null;
  /** Protocols that are offered in the TLS handshake. */
  readonly alpn: readonly string[];
  /** Where the secrets come from files, their absolute paths; they too are read before each attempt. */
  readonly secretFiles?: SecretFiles;
  /** Secret: the key that signs SAS tokens (profile azure-iot). */
  readonly sasKey: string | null;
  readonly formats: readonly UplinkFormat[];
  readonly profile: Profile;
  readonly topicPrefix: string;
  readonly topics: TopicTemplates;
  readonly select: Select;
  /** False: only live readings. */
  readonly history: boolean;
  readonly waveforms: WaveformPolicy;
  /** Older backlog is dropped, h; null keeps all. */
  readonly maxAgeHours: number | null;
  /** Which readings make no difference and are left out; null: none. */
  readonly onChange: OnChange | null;
  /** Of each period of this length the newest goes, s; null: all do. */
  readonly everyS: number | null;
  /** Readings without units, names and location, which their sensor's description has. */
  readonly compact: boolean;
  /** Conditions of machines are published too. */
  readonly machines: boolean;
  /** What a later-added uplink starts with: everything stored, or its first new reading. */
  readonly startFrom: "stored" | "now";
  readonly inflight: number;
  /** Maximum backlog messages per second; 0 = as fast as the broker acknowledges. */
  readonly backlogRatePerS: number;
  readonly requireSubscriber: boolean;
  readonly retain: boolean;
  readonly withRaw: boolean;
  /** Whether commands to sensors are accepted from this broker. */
  readonly commands: boolean;
  /** Null if the format is off. */
  readonly sparkplug: UplinkSparkplug | null;
}

/** `alarm` means: recorded for an alarm, or because somebody requested it. */
export function isWaveformWanted(policy: WaveformPolicy, recordingReason: number | null): boolean {
  return (
    policy === "always" || (policy === "alarm" && (recordingReason === 3 || recordingReason === 1))
  );
}

/** A selection of readings, evaluated for each of them. */
export interface Selector {
  /** Whether readings of this sensor and kind are selected at all. */
  includes(sensor: string, kind: string): boolean;
  /** Which values are selected; null: all. */
  readonly value: ((name: string) => boolean) | null;
}

/** What a selection asks of a sensor. */
export type SelectedSensor = Pick<Sensor, "code" | "stateReads" | "bands"> & {
  readonly kinds: readonly Kind[];
  readonly location?: Pick<SensorLocation, "area" | "machine">;
};

/** A sensor that is not among these has no area and no machine, and its events have any kind. */
export function createSelector(select: Select, sensors: readonly SelectedSensor[]): Selector {
  const { kinds, areas, machines, values } = select;
  const codes = select.sensors.length === 0 ? null : anyGlob(select.sensors);
  // Most uplinks select nothing by what a sensor is, and there may be thousands.
  const isByCode = kinds.length + areas.length + machines.length === 0;
  const known = new Map(isByCode ? [] : sensors.map((sensor) => [sensor.code, sensor]));
  const isKind = (kind: string) => kinds.length === 0 || kinds.some((one) => one === kind);
  // Events of a selected sensor are published whichever kind of reading caused them.
  const mayHaveEvents = (sensor: SelectedSensor | undefined) =>
    sensor === undefined || readingKinds(sensor).some(isKind);
  const isIn = (ids: readonly number[], id: number | undefined) =>
    ids.length === 0 || (id !== undefined && ids.includes(id));
  return {
    includes(sensor, kind) {
      const found = known.get(sensor);
      const place = found?.location;
      return (
        (kind === "event" ? mayHaveEvents(found) : isKind(kind)) &&
        (codes === null || codes(sensor) || codes(normalCode(sensor))) &&
        isIn(areas, place?.area) &&
        isIn(machines, place?.machine)
      );
    },
    value: values.length === 0 ? null : anyGlob(values),
  };
}

/**
 * Client ids of an uplink's sessions: the one for JSON and plain, and the edge node's. The configured id is used
 * unchanged if there is only one.
 */
export function clientIdsOf({ clientId, formats }: Pick<Uplink, "clientId" | "formats">): {
  readonly mqtt: string | null;
  readonly sparkplug: string | null;
} {
  const hasNode = formats.includes("sparkplug");
  const isAlone = formats.every((format) => format === "sparkplug");
  if (isAlone) return { mqtt: null, sparkplug: clientId };
  return { mqtt: clientId, sparkplug: hasNode ? `${clientId}-sparkplug` : null };
}
