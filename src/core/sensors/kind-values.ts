import { ACCEL_VALUES, hasZone, publishedChannels } from "../../pipeline/convert/accel.ts";
import { currentChannels, isPublished, loopChannels } from "../../pipeline/convert/channels.ts";
import { loopReach } from "../../pipeline/convert/loop.ts";
import { bandUnit } from "../bands/definition.ts";
import type { ChannelConfig, Kind, Sensor } from "../sensor.ts";

/** A value that readings of a sensor's kind can contain. */
export interface KindValue {
  readonly name: string;
  /** Null for booleans and texts, which have none. */
  readonly unit: string | null;
  readonly type: "number" | "boolean" | "string";
  /** Lowest and highest value of the configured range, if there is one. */
  readonly range?: readonly [number, number];
  /** The same of what is not bad: a signal goes a little beyond its range. */
  readonly reach?: readonly [number, number];
}

const number = (name: string, unit: string): KindValue => ({ name, unit, type: "number" });

const HEALTH: readonly KindValue[] = [number("battery", "V"), number("module_temperature", "degC")];

const FOUR = [1, 2, 3, 4] as const;

/** Every value a configured sensor can publish for a kind, in the order readings have them. */
export function kindValues(sensor: Sensor, kind: Kind): KindValue[] {
  switch (kind) {
    case "accel":
      return accelValues(sensor);
    case "current":
      return [...currentChannels(sensor, 3).map(({ name }) => number(name, "A")), ...HEALTH];
    case "currentV2":
      return [
        ...currentChannels(sensor, 4).flatMap(({ name }) =>
          ["min", "max", "avg"].map((part) => number(`${name}_${part}`, "A")),
        ),
        ...HEALTH,
      ];
    case "accCurrent":
      return publishedOfFour(sensor, "current").map((n) => number(`accumulated_current${n}`, "Ah"));
    case "loop":
      return [
        ...loopChannels(sensor).flatMap(({ name, config }) => [
          { ...number(name, config.unit ?? "1"), ...rangeOf(config) },
          number(`${name}_ma`, "mA"),
        ]),
        ...HEALTH,
      ];
    case "dryContact":
      return [
        ...publishedOfFour(sensor, "input").map(
          (n): KindValue => ({ name: `input${n}`, unit: null, type: "boolean" }),
        ),
        ...HEALTH,
      ];
    case "rpm":
      return [number("rpm", "rpm"), ...HEALTH];
    case "node":
      return nodeValues(sensor);
    case "bands":
      return bandValues(sensor);
    default:
      return kind satisfies never;
  }
}

/** Which of four channels a kind without required channels publishes. */
function publishedOfFour(sensor: Sensor, prefix: "current" | "input"): number[] {
  return FOUR.filter((n) => isPublished(sensor, prefix, n));
}

/**
 * As the site file maps them. Values without a unit may be numbers, booleans or texts: only the response shows which.
 */
function nodeValues(sensor: Sensor): KindValue[] {
  const mapped = (sensor.stateReads ?? []).flatMap((read) =>
    "registers" in read
      ? read.registers.map(({ value, unit }): [string, string] => [value, unit ?? "1"])
      : Object.entries(read.fields).map(([name, { unit }]): [string, string | undefined] => [
          name,
          unit,
        ]),
  );
  return mapped.map(([name, unit]) =>
    unit === undefined ? { name, unit: null, type: "string" } : number(name, unit),
  );
}

/** Of each channel in turn, and the speed at which they were measured. */
function bandValues(sensor: Sensor): KindValue[] {
  const { bands = [], hasSpeed = false } = sensor.bands ?? {};
  const values = publishedChannels(sensor, true).flatMap((channel) =>
    bands.map((band) => number(`channel${channel.number}_${band.name}`, bandUnit(band))),
  );
  return hasSpeed ? [...values, number("speed_rpm", "rpm")] : values;
}

/** `low` may be the larger one. */
function rangeOf(config: ChannelConfig): Pick<KindValue, "range" | "reach"> {
  const { low, high } = config;
  if (low === undefined || high === undefined) return {};
  const [from, to] = loopReach(low, high, config);
  return {
    range: [Math.min(low, high), Math.max(low, high)],
    reach: [Math.min(from, to), Math.max(from, to)],
  };
}

function accelValues(sensor: Sensor): KindValue[] {
  const values = publishedChannels(sensor, true).flatMap((channel): KindValue[] => {
    const numbers = ACCEL_VALUES.map(([suffix, unit]) =>
      number(`channel${channel.number}_${suffix}`, unit),
    );
    if (!hasZone(sensor)) return numbers;
    return [...numbers, { name: `channel${channel.number}_zone`, unit: null, type: "string" }];
  });
  return [...values, number("temperature", "degC")];
}
