import type { Sensor } from "./sensor.ts";

/** Where a value is measured, as a text: what must stay the same while its days belong to one row of an outlook. */
export function valueMount(sensor: Sensor, value: string): string {
  const { location, machineClass, limits, sampleRateFactor = 1 } = sensor;
  const channel = value.slice(0, value.indexOf("_"));
  const axis = sensor.channels[channel]?.axis ?? null;
  const mount = [location?.machine, location?.point, machineClass, limits, axis];
  return JSON.stringify(sampleRateFactor === 1 ? mount : [...mount, sampleRateFactor]);
}
