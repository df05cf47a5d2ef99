/** What the rules of a site file reach: sensors, kinds, values. */

import { matchesCode, matchesGlob } from "../core/alarm/rule.ts";
import { possibleRange } from "../core/alarm/values.ts";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import type { JsonObject } from "../core/record.ts";
import { formerCodes } from "../core/replacement.ts";
import { type Kind, readingKinds, type Sensor } from "../core/sensor.ts";
import type { KindValue } from "../core/sensors/kind-values.ts";
import { likely } from "../lib/nearest.ts";
import { shown } from "./fault.ts";
import { anyKindsIn, dict, list, numbers, texts } from "./written-parts.ts";

/** One value that a rule evaluates. */
export interface Target {
  readonly sensor: Sensor;
  readonly kind: Kind;
  readonly value: KindValue;
}

export function targetsOf(
  patterns: readonly string[],
  place: string,
  reachable: readonly Target[],
  warnings: ConfigurationFault[],
): readonly Target[] {
  for (const [i, pattern] of patterns.entries()) {
    const matched = reachable.filter(({ value }) => matchesGlob(pattern, value.name));
    if (matched.some(({ value }) => value.type !== "string")) continue;
    const known = [...new Set(reachable.map(({ value }) => value.name))];
    const closest = likely(pattern, known);
    warnings.push({
      place: `${place}.values[${i}]`,
      problem:
        matched.length > 0
          ? `${shown(pattern)} is text, and limits apply only to numbers`
          : `${shown(pattern)} is not a value of the readings that the rule selects`,
      remedy:
        matched.length > 0
          ? "select a number; zones C and D have their own alarm"
          : closest === null
            ? `use values such as ${known.slice(0, 5).join(", ")}`
            : `did you mean ${closest}?`,
    });
  }
  return reachable.filter(
    ({ value }) =>
      value.type !== "string" &&
      (patterns.length === 0 || patterns.some((pattern) => matchesGlob(pattern, value.name))),
  );
}

/** By which a rule may name a sensor: a rule goes on with the one that replaces another. */
export function codesOf(sensor: Sensor, sensors: readonly Sensor[]): readonly string[] {
  return [sensor.code, ...formerCodes(sensors, sensor)];
}

/** Codes, areas and machines that are not in the file, and kinds that no sensor has. */
export function checkNamed(
  written: JsonObject,
  place: string,
  sensors: readonly Sensor[],
  machines: readonly unknown[],
  warnings: ConfigurationFault[],
): void {
  for (const [i, pattern] of texts(written["sensors"]).entries()) {
    if (
      sensors.some((sensor) => codesOf(sensor, sensors).some((code) => matchesCode(pattern, code)))
    )
      continue;
    const closest = likely(
      pattern,
      sensors.map(({ code }) => code),
    );
    warnings.push({
      place: `${place}.sensors[${i}]`,
      problem: `${shown(pattern)} is not a sensor of this file`,
      remedy: closest === null ? "use the code of one of the sensors" : `did you mean ${closest}?`,
    });
  }
  const known = new Set(sensors.map(({ location }) => location?.machine));
  for (const machine of machines) known.add(Number(dict(machine)?.["id"]));
  for (const [i, id] of numbers(written["machines"]).entries()) {
    if (known.has(id)) continue;
    warnings.push({
      place: `${place}.machines[${i}]`,
      problem: `${id} is not a machine of this file`,
      remedy: "use the machine of a sensor's location",
    });
  }
  for (const [i, id] of numbers(written["areas"]).entries()) {
    if (sensors.some(({ location }) => location?.area === id)) continue;
    warnings.push({
      place: `${place}.areas[${i}]`,
      problem: `${id} is not an area of this file`,
      remedy: "use the area of a sensor's location",
    });
  }
  for (const [i, kind] of list(written["kinds"]).entries()) {
    const [real] = anyKindsIn([kind]);
    if (real === undefined || sensors.some((sensor) => readingKinds(sensor).includes(real)))
      continue;
    warnings.push({
      place: `${place}.kinds[${i}]`,
      problem: `no sensor has the kind ${real}`,
      remedy: "leave it out, or add the kind to a sensor",
    });
  }
}

/** A limit that none of the values can exceed. */
export function checkReach(
  limits: readonly [LimitName, number][],
  place: string,
  targets: readonly Target[],
  warnings: ConfigurationFault[],
): void {
  for (const [name, limit] of limits) {
    const isHigh = name === "high" || name === "highHigh";
    const ranges = targets.map(({ kind, value }) => possibleRange(value, kind));
    const bound = isHigh
      ? Math.max(...ranges.map(([, high]) => high))
      : Math.min(...ranges.map(([low]) => low));
    if (isHigh ? limit < bound : limit > bound) continue;
    warnings.push({
      place: `${place}.${name}`,
      problem: `${limit} can never be exceeded: the ${isHigh ? "highest" : "lowest"} value is ${Number(bound.toPrecision(6))}`,
      remedy: `use a limit ${isHigh ? "below" : "above"} it, or remove it`,
    });
  }
}

export const LIMITS = ["lowLow", "low", "high", "highHigh"] as const;

export type LimitName = (typeof LIMITS)[number];
