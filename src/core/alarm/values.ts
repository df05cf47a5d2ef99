import type { Kind, Sensor } from "../sensor.ts";
import { type KindValue, kindValues } from "../sensors/kind-values.ts";

/** Values of the transmitter itself, in records of any kind. */
const HEALTH: readonly KindValue[] = [
  { name: "battery", unit: "V", type: "number" },
  { name: "module_temperature", unit: "degC", type: "number" },
];

/** Every value that a rule can use in readings of a sensor's kind. */
export function alarmValues(sensor: Sensor, kind: Kind): readonly KindValue[] {
  const values = kindValues(sensor, kind);
  const missing = HEALTH.filter(({ name }) => !values.some((value) => value.name === name));
  return [...values, ...missing];
}

/** Lowest and highest possible value; infinite if nothing is known, as of what a node reports about itself. */
export function possibleRange(value: KindValue, kind: Kind): readonly [number, number] {
  if (kind === "node") return [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  if (value.type === "boolean") return [0, 1];
  if (value.reach !== undefined) return value.reach;
  const isSigned = value.unit === "degC" || /_(kurtosis|ma)$/.test(value.name);
  return [isSigned ? Number.NEGATIVE_INFINITY : 0, Number.POSITIVE_INFINITY];
}
