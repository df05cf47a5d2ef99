/** Machine severity zones (signal-definitions 8): ISO 10816-3:2009 groups and ISO 10816-1:1995 classes. */
import type { MachineClass, Sensor } from "../../core/sensor.ts";

export const ZONES = ["A", "B", "C", "D"] as const;
export type Zone = (typeof ZONES)[number];

/** Boundaries A/B, B/C, C/D, rising. A value on a boundary belongs to the better zone. */
export type ZoneLimits = readonly [number, number, number];

/** Velocity RMS, mm/s. */
export const VELOCITY_LIMITS: Readonly<Record<MachineClass, ZoneLimits>> = {
  "group1-rigid": [2.3, 4.5, 7.1],
  "group1-flexible": [3.5, 7.1, 11.0],
  "group2-rigid": [1.4, 2.8, 4.5],
  "group2-flexible": [2.3, 4.5, 7.1],
  class1: [0.71, 1.8, 4.5],
  class2: [1.12, 2.8, 7.1],
  class3: [1.8, 4.5, 11.2],
  class4: [2.8, 7.1, 18.0],
};

/** Boundaries of a sensor's velocity zones, mm/s: its own, else those of its class; null without either. */
export function zoneLimits({
  limits,
  machineClass,
}: Pick<Sensor, "limits" | "machineClass">): ZoneLimits | null {
  return limits ?? (machineClass === undefined ? null : VELOCITY_LIMITS[machineClass]);
}

/** Displacement RMS, um: the low-speed check of ISO 10816-3, for its groups only. */
export const DISPLACEMENT_LIMITS: Readonly<Partial<Record<MachineClass, ZoneLimits>>> = {
  "group1-rigid": [29, 57, 90],
  "group1-flexible": [45, 90, 140],
  "group2-rigid": [22, 45, 71],
  "group2-flexible": [37, 71, 113],
};

/** Zone of a value at full precision. */
export function zoneOf(value: number, limits: ZoneLimits): Zone {
  if (value <= limits[0]) return "A";
  if (value <= limits[1]) return "B";
  return value <= limits[2] ? "C" : "D";
}

/** The worst of several zones; null if there is none. A machine's zone is the worst of its axes. */
export function worstZone(zones: Iterable<Zone | null>): Zone | null {
  let worst: Zone | null = null;
  for (const zone of zones) if (zone !== null && (worst === null || zone > worst)) worst = zone;
  return worst;
}

export const isZone = (value: unknown): value is Zone => ZONES.some((zone) => zone === value);

/** 1–4 for A–D, as the query service counts severities; null for anything else. */
export function zoneNumber(value: unknown): number | null {
  return isZone(value) ? ZONES.indexOf(value) + 1 : null;
}
