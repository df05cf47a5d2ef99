/** Selects the sensors to show. */
import type { ShownSensor } from "../core/query/shown.ts";

export interface Filter {
  text: string;
  state: string;
  kind: string;
  area: string;
  zone: string;
}

export const FILTERS = ["text", "state", "kind", "area", "zone"] as const;

export const noFilter = (): Filter => ({ text: "", state: "", kind: "", area: "", zone: "" });

export function isShown(sensor: ShownSensor, filter: Filter): boolean {
  if (filter.state !== "" && sensor.state !== filter.state) return false;
  if (filter.kind !== "" && !sensor.kinds.some((kind) => kind === filter.kind)) return false;
  if (filter.area !== "" && areaName(sensor) !== filter.area) return false;
  if (filter.zone !== "" && (sensor.zone ?? "none") !== filter.zone) return false;
  if (filter.text === "") return true;
  const names = [
    sensor.code,
    sensor.name,
    sensor.description,
    ...Object.values(sensor.location?.names ?? {}),
  ];
  // Every word must occur in one of the names.
  const text = names.join(" ").toLowerCase();
  return filter.text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export function areaName({ location, state }: ShownSensor): string {
  if (state === "removed") return "Removed from the site file";
  return location === null ? "No location" : (location.names?.area ?? `Area ${location.area}`);
}
export function machineName({ location }: ShownSensor): string {
  return location === null ? "" : (location.names?.machine ?? `Machine ${location.machine}`);
}
export function sensorName(sensor: ShownSensor): string {
  return sensor.name ?? sensor.location?.names?.point ?? `Sensor ${sensor.code}`;
}
/** The measuring point, by the name that the site file gives it. */
export function pointName({ location }: ShownSensor): string | null {
  return location?.names?.point ?? null;
}
