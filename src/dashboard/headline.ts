/** The few values of a sensor that its row shows. */

import type { Doubt } from "../core/quality.ts";
import type { ShownReading, ShownSensor } from "../core/query/shown.ts";
import type { Value } from "../core/reading.ts";
import type { Kind } from "../core/sensor.ts";
import { valueWords } from "./words.ts";

export interface ShownValue {
  readonly kind: Kind;
  readonly name: string;
  readonly label: string;
  readonly value: Value;
  readonly unit: string | null;
  readonly doubt: Doubt | null;
}

/** The most informative quantity of each kind. */
const MAIN: Readonly<Record<Kind, readonly string[]>> = {
  accel: ["vel_rms", "temperature"],
  current: ["current"],
  currentV2: ["avg"],
  accCurrent: ["accumulated"],
  loop: ["value"],
  dryContact: ["state"],
  rpm: ["rpm"],
  node: [],
  bands: [],
};

export function headline(sensor: ShownSensor): ShownValue[] {
  return sensor.kinds.flatMap((kind) => {
    const reading = sensor.latest[kind];
    if (reading === undefined) return [];
    return valuesOf(sensor, reading).filter(({ name }) =>
      MAIN[kind].includes(valueWords(sensor, kind, name).quantity),
    );
  });
}

export interface HeadlineLine {
  /** What the value measures, if the channel names do not say so; otherwise empty. */
  readonly heading: string;
  readonly values: readonly ShownValue[];
}

/** The same by kind, with a heading if two kinds have channels with the same name (amperes and ampere-hours of L1). */
export function headlineLines(sensor: ShownSensor): HeadlineLine[] {
  const all = headline(sensor);
  const kindsOf = new Map<string, Set<Kind>>();
  for (const { label, kind } of all)
    if (label !== "") kindsOf.set(label, (kindsOf.get(label) ?? new Set()).add(kind));
  return sensor.kinds.flatMap((kind) => {
    const values = all.filter((value) => value.kind === kind);
    const [first] = values;
    if (first === undefined) return [];
    const isAmbiguous = values.some(({ label }) => (kindsOf.get(label)?.size ?? 0) > 1);
    const heading = isAmbiguous ? valueWords(sensor, kind, first.name).quantityLabel : "";
    return [{ heading, values }];
  });
}

/** Every value of a reading, including bad ones, which are null. */
export function valuesOf(sensor: ShownSensor, reading: ShownReading): ShownValue[] {
  return Object.entries(reading.values).map(([name, value]) => {
    const words = valueWords(sensor, reading.kind, name);
    return {
      kind: reading.kind,
      name,
      label: words.channelLabel,
      value,
      unit: reading.units[name] ?? null,
      doubt: reading.quality[name] ?? null,
    };
  });
}
