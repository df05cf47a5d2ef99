/**
 * Information that subscribers would otherwise have to retype: the site file's description of one sensor (plant section
 * 16).
 */

import { type ChannelConfig, readingKinds, type Sensor } from "../../../core/sensor.ts";
import { channelOfValue, listedChannels } from "../../../core/sensors/channel-labels.ts";
import { kindValues } from "../../../core/sensors/kind-values.ts";
import { publishedChannels } from "../../convert/accel.ts";

/** One channel as it is published, with the members that apply to it. */
interface AboutChannel {
  readonly name?: string;
  readonly axis?: string;
  readonly unit?: string;
  /** Values at 4 mA and at 20 mA. */
  readonly range?: readonly [number, number];
  /** A. */
  readonly clamp?: number;
}

/**
 * The payload of `{code}/about`; null if the site file says nothing.
 * @param withUnits by kind and value, for readings that carry none
 */
export function aboutPayload(site: string, sensor: Sensor, withUnits = false): string {
  return JSON.stringify({
    v: 1,
    site,
    sensor: sensor.code,
    name: sensor.name ?? null,
    kinds: readingKinds(sensor),
    location: sensor.location ?? null,
    channels: channelsOf(sensor),
    machineClass: sensor.machineClass ?? null,
    ...(withUnits ? { units: describedUnits(sensor) } : {}),
  });
}

/** By kind and value. */
export function describedUnits(
  sensor: Sensor,
): Readonly<Record<string, Readonly<Record<string, string>>>> {
  return Object.fromEntries(
    readingKinds(sensor).map((kind) => [
      kind,
      Object.fromEntries(
        kindValues(sensor, kind).flatMap(({ name, unit }) => (unit === null ? [] : [[name, unit]])),
      ),
    ]),
  );
}

/** Every channel that the sensor publishes, listed or by default, by its name in the site file. */
function channelsOf(sensor: Sensor): Readonly<Record<string, AboutChannel>> {
  const channels: Record<string, AboutChannel> = {};
  for (const kind of sensor.kinds) {
    const listed = listedChannels(sensor, kind);
    const names = new Set(Object.keys(listed));
    for (const { name } of kindValues(sensor, kind)) {
      const channel = channelOfValue(kind, name);
      if (channel !== null) names.add(channel);
    }
    for (const name of names) {
      channels[name] = { ...channels[name], ...about(sensor, kind, name, listed[name] ?? {}) };
    }
  }
  return channels;
}

function about(
  sensor: Sensor,
  kind: Sensor["kinds"][number],
  channel: string,
  config: ChannelConfig,
): AboutChannel {
  const { name, clamp, low, high } = config;
  const axis =
    kind === "accel"
      ? publishedChannels(sensor, true).find(({ number }) => `channel${number}` === channel)?.axis
      : undefined;
  const unit = unitOf(kind, sensor, config);
  return {
    ...(name === undefined ? {} : { name }),
    ...(axis === undefined ? {} : { axis }),
    ...(unit === undefined ? {} : { unit }),
    ...(kind !== "loop" || low === undefined || high === undefined ? {} : { range: [low, high] }),
    ...(clamp === undefined ? {} : { clamp }),
  };
}

/**
 * The channel's unit, whichever kind is named first: what the clamp measures comes before its sum, and the site file's
 * own unit before G. Vibration values have their own units in addition.
 */
function unitOf(
  kind: Sensor["kinds"][number],
  { kinds }: Sensor,
  { unit }: ChannelConfig,
): string | undefined {
  switch (kind) {
    case "accel":
      return unit ?? "G";
    case "current":
    case "currentV2":
      return "A";
    case "accCurrent":
      return kinds.includes("current") || kinds.includes("currentV2") ? "A" : "Ah";
    case "loop":
      return unit;
    case "dryContact":
    case "rpm":
      return undefined;
  }
}
