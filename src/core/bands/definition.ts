/** The bands of a sensor (plant section 18): which numbers an analyst trends, by the rotating parts of its machine. */
import { bearingOrders } from "../bearing-orders.ts";
import type { Bearing, Machine } from "../machine.ts";
import type { Sensor, SensorLocation } from "../sensor.ts";
import { machineAt, shaftAt } from "../shaft.ts";
import type { Band, SensorBands } from "./band.ts";

/** Below this a shaft turns too slowly to be measured, r/min. */
export const SPEED_MIN_RPM = 30;

const BEARING_PARTS = ["bpfo", "bpfi", "bsf", "ftf"] as const;

/** Whether the band lies elsewhere at another speed. */
export function followsShaft(band: Band): boolean {
  return !("unit" in band) || band.unit === "order";
}

export function bandUnit(band: Band): "mm/s" | "GE" | "G" {
  if ("bearing" in band) return "GE";
  return "of" in band && band.of === "accel" ? "G" : "mm/s";
}

/** The bearings at a sensor's point; none without a location. */
export function bearingsAt(
  machine: Pick<Machine, "bearings">,
  location: Pick<SensorLocation, "point"> | undefined,
): Bearing[] {
  return (machine.bearings ?? []).filter(({ point }) => point === location?.point);
}

/**
 * Names that the values of a point's bearings begin with: none for the first in file order, the name for each further one.
 * Null: a further one without a name, which the check of the site file refuses.
 */
export function bearingPrefix(bearing: Pick<Bearing, "name">, at: number): string | null {
  if (at === 0) return "";
  return bearing.name === undefined ? null : `${bearing.name.replace(/[^A-Za-z0-9_-]/g, "_")}_`;
}

/** The bands of a sensor at this location, in the order of the site file; empty where its machine asks for none. */
export function bandsOf(
  whole: Omit<Machine, "id">,
  location: Pick<SensorLocation, "point"> | undefined,
): Band[] {
  const machine = machineAt(whole, location);
  const { speedRatio = 1 } = shaftAt(whole, location) ?? {};
  const { orders = [], bearings, blades, teeth, custom = [] } = machine.bands ?? {};
  const bands: Band[] = orders.map((order) => ({ name: `${order}x`, order }));
  if (bearings === true) bands.push(...bearingBands(bearingsAt(machine, location)));
  if (blades === true && machine.blades !== undefined)
    bands.push({ name: "blade", order: machine.blades });
  if (teeth === true)
    for (const count of machine.teeth ?? []) bands.push({ name: `mesh_${count}`, order: count });
  for (const { name, from, to, unit, of } of custom)
    bands.push({ name: `band_${name}`, from, to, unit, of });
  return speedRatio === 1 ? bands : bands.map((band) => ({ ...band, speedRatio }));
}

/** What a sensor has of its machine's bands; null without any. */
export function sensorBands(
  { kinds, location }: Pick<Sensor, "kinds" | "location">,
  machines: readonly Machine[],
): SensorBands | null {
  const machine = machines.find(({ id }) => id === location?.machine);
  if (machine?.bands === undefined || !kinds.includes("accel")) return null;
  const bands = bandsOf(machine, location);
  if (bands.length === 0) return null;
  const shaft = shaftAt(machine, location);
  const hasSpeed = machine.speed !== undefined;
  return { bands, hasSpeed, ...(shaft === null ? {} : { shaft }) };
}

function bearingBands(bearings: readonly Bearing[]): Band[] {
  return bearings.flatMap((bearing, at) => {
    const prefix = bearingPrefix(bearing, at);
    if (prefix === null) return [];
    const orders = bearingOrders(bearing);
    return BEARING_PARTS.flatMap((part) => {
      const order = orders[part];
      return order === null ? [] : [{ name: `${prefix}${part}`, bearing: order }];
    });
  });
}
