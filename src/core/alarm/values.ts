import { type KindValue, kindValues } from "../kind-values.ts";
import type { Kind, Sensor } from "../sensor.ts";

/** What the transmitter says of itself, where a record of any kind carries it. */
const HEALTH: readonly KindValue[] = [
  { name: "battery", unit: "V", type: "number" },
  { name: "module_temperature", unit: "degC", type: "number" },
];

/** Every value that a rule can look at in readings of a sensor's kind. */
export function alarmValues(sensor: Sensor, kind: Kind): readonly KindValue[] {
  const values = kindValues(sensor, kind);
  const missing = HEALTH.filter(({ name }) => !values.some((value) => value.name === name));
  return [...values, ...missing];
}

/** Current beyond which a loop value is bad and has no number (signal-definitions 9), mA. */
const LOOP_MA: readonly [number, number] = [3.6, 21];

/** Lowest and highest number a value can have; infinite where nothing is known of it. */
export function possibleRange(value: KindValue): readonly [number, number] {
  if (value.type === "boolean") return [0, 1];
  if (value.range !== undefined) {
    const [low, high] = value.range;
    const perMa = (high - low) / 16;
    return [low - (4 - LOOP_MA[0]) * perMa, high + (LOOP_MA[1] - 20) * perMa];
  }
  const isSigned = value.unit === "degC" || /_(kurtosis|ma)$/.test(value.name);
  return [isSigned ? Number.NEGATIVE_INFINITY : 0, Number.POSITIVE_INFINITY];
}
