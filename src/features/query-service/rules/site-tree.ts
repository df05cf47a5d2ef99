/** The site file as the query service shows it: company > area > machine > point > axis. */

import { isInternalRms } from "../../../core/query/node-facts.ts";
import { normalCode, type Sensor, type SensorLocation } from "../../../core/sensor.ts";
import { kindValues } from "../../../core/sensors/kind-values.ts";
import { type Site } from "../../../core/site.ts";
import { AXIS_CODES } from "../../../core/unit.ts";
import { accelChannels } from "../../../pipeline/convert/channels.ts";

const AXIS_NAMES = { 1: ["H", "Horizontal"], 2: ["V", "Vertical"], 3: ["A", "Axial"] } as const;
const DEFAULT_AXES = ["H", "V", "A"] as const;

export type AxisCode = 1 | 2 | 3;
/** A level that is null is not filtered. */
export interface TreeFilter {
  readonly company?: number | null;
  readonly area?: number | null;
  readonly machine?: number | null;
  readonly point?: number | null;
}
export interface AxisPlace {
  readonly sensor: Sensor;
  readonly machine: number;
  readonly point: number;
  readonly axis: AxisCode;
  /** 1…3, as in channel{n}. */
  readonly channel: number;
}
export interface TreeNode {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly type: "Company" | "Area" | "Machine" | "Point" | "Axis";
}
type TreeLevel = "company" | "area" | "machine" | "point";
const LEVEL_TYPES = {
  company: "Company",
  area: "Area",
  machine: "Machine",
  point: "Point",
} as const;

/**
 * Channels of an acceleration sensor with their axes: those listed, or H, V, A if none is (contract section 4). Of a
 * sensor without records, those whose own RMS its state reads supply.
 */
export function axisChannels(sensor: Sensor): { channel: number; axis: AxisCode }[] {
  const listed = accelChannels(sensor).map(({ number, config }) => ({ number, axis: config.axis }));
  const axisOf = (channel: number) => listed.find(({ number }) => number === channel)?.axis;
  const all = [1, 2, 3].map((number) => ({ number, axis: axisOf(number) }));
  const measured = listed.length > 0 ? listed : all;
  const names = kindValues(sensor, "node").map(({ name }) => name);
  const channels = sensor.kinds.includes("accel")
    ? measured
    : all.filter(({ number }) => names.some((name) => isInternalRms(name, number)));
  return channels.map(({ number, axis }) => ({
    channel: number,
    axis: AXIS_CODES[axis ?? DEFAULT_AXES[number - 1] ?? "A"],
  }));
}

/** The nodes of these axes, each once. */
export function axisNodes(axes: Iterable<AxisCode>): TreeNode[] {
  return [...new Set(axes)]
    .sort((a, b) => a - b)
    .map((axis) => ({
      id: axis,
      name: AXIS_NAMES[axis][0],
      description: AXIS_NAMES[axis][1],
      type: "Axis",
    }));
}

export class SiteTree {
  readonly #sensors: readonly Sensor[];
  readonly #byCode: ReadonlyMap<string, Sensor>;

  constructor(site: Site) {
    this.#sensors = site.sensors;
    this.#byCode = new Map(site.sensors.map((sensor) => [normalCode(sensor.code), sensor]));
  }

  sensor(code: string): Sensor | null {
    return this.#byCode.get(normalCode(code)) ?? null;
  }

  /** Sensors whose location passes the filter; those without a location only if nothing is filtered. */
  sensors(filter: TreeFilter): Sensor[] {
    return this.#sensors.filter(({ location }) => passes(location, filter));
  }

  /** The nodes of a level, each once, by id. */
  nodes(level: TreeLevel, filter: TreeFilter): TreeNode[] {
    const nodes = new Map<string, TreeNode>();
    for (const { location } of this.sensors(filter)) {
      if (location === undefined) continue;
      const id = location[level];
      const given = location.names?.[level];
      // Points are numbered separately on every machine; the other levels' numbers are unique within the site.
      const key = level === "point" ? `${location.machine}/${id}` : `${id}`;
      const known = nodes.get(key);
      // Any sensor at the location may be the one that names it.
      if (known !== undefined && (known.description !== "" || given === undefined)) continue;
      const type = LEVEL_TYPES[level];
      nodes.set(key, { id, name: given ?? `${type} ${id}`, description: given ?? "", type });
    }
    return [...nodes.values()].sort((a, b) => a.id - b.id);
  }

  /** The name of that level of a sensor's location; empty if it has none. */
  nameOf({ location }: Sensor, level: "machine" | "point"): string {
    if (location === undefined) return "";
    const { machine, point } = location;
    return this.nodes(level, level === "point" ? { machine, point } : { machine })[0]?.name ?? "";
  }

  /** Where vibration is measured, by machine, point and axis. */
  places(filter: TreeFilter, axis: number | null): AxisPlace[] {
    const places: AxisPlace[] = [];
    for (const sensor of this.sensors(filter)) {
      const { location } = sensor;
      if (location === undefined) continue;
      const { machine, point } = location;
      for (const channel of axisChannels(sensor)) {
        if (axis === null || channel.axis === axis) {
          places.push({ sensor, machine, point, ...channel });
        }
      }
    }
    return places.sort((a, b) => a.machine - b.machine || a.point - b.point || a.axis - b.axis);
  }
}

function passes(location: SensorLocation | undefined, filter: TreeFilter): boolean {
  const levels = ["company", "area", "machine", "point"] as const;
  return levels.every((level) => {
    const wanted = filter[level] ?? null;
    return wanted === null || location?.[level] === wanted;
  });
}
