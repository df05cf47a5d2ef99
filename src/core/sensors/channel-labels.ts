import { accelChannels, loopChannels } from "../../pipeline/convert/channels.ts";
import type { ChannelConfig, Kind, Sensor } from "../sensor.ts";

/** The site file's names for a channel, if it has any. */
export interface ChannelLabel {
  readonly name?: string;
  /** Only for vibration. */
  readonly axis?: "H" | "V" | "A";
}

/** The site file's word for a kind's channels; kinds that are not here have none. */
const WORDS: Readonly<Partial<Record<Kind, string>>> = {
  current: "current",
  currentV2: "current",
  accCurrent: "current",
  dryContact: "input",
};

/** Kinds whose channels are those of the acceleration, with a direction. */
const isVibration = (kind: Kind): boolean => kind === "accel" || kind === "bands";

/** The channels of a kind that the site file lists, by their names there, in ascending order. */
export function listedChannels(
  sensor: Sensor,
  kind: Kind,
): Readonly<Record<string, ChannelConfig>> {
  if (isVibration(kind) || kind === "loop") {
    const listed = kind === "loop" ? loopChannels(sensor) : accelChannels(sensor);
    return Object.fromEntries(listed.map(({ name, config }) => [name, config]));
  }
  const word = WORDS[kind];
  if (word === undefined) return {};
  const names = Object.keys(sensor.channels).filter((name) => name.slice(0, -1) === word);
  return Object.fromEntries(names.sort().map((name) => [name, sensor.channels[name] ?? {}]));
}

/** Name and axis of each channel of a kind if the site file has either; null if it has neither for any channel. */
export function channelLabels(
  sensor: Sensor,
  kind: Kind,
): Readonly<Record<string, ChannelLabel>> | null {
  const labels = Object.entries(listedChannels(sensor, kind)).flatMap(
    ([channel, { name, axis }]): [string, ChannelLabel][] => {
      const label = {
        ...(name === undefined ? {} : { name }),
        ...(axis === undefined || !isVibration(kind) ? {} : { axis }),
      };
      return Object.keys(label).length === 0 ? [] : [[channel, label]];
    },
  );
  return labels.length === 0 ? null : Object.fromEntries(labels);
}

/** The site file's channel that a value of a reading is measured on; null for temperature, battery and the like. */
export function channelOfValue(kind: Kind, value: string): string | null {
  const match = /^(?:accumulated_)?((?:channel|current|input)[1-4])(?:_|$)/.exec(value);
  return match?.[1] === undefined || kind === "rpm" ? null : match[1];
}

/** True for what any record of the kind may carry, such as a battery: the site file lists no such value. */
export function isUnlistedValue(kind: Kind, value: string): boolean {
  return kind !== "node" && kind !== "bands" && channelOfValue(kind, value) === null;
}
