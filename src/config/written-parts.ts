/** Parts of a site or uplinks file that may have faults: what has the right shape is used, the rest skipped. */
import { isJsonObject, type JsonObject } from "../core/record.ts";
import { KINDS, type Kind, POLLED_KINDS, type PolledKind } from "../core/sensor.ts";

export function dict(value: unknown): JsonObject | null {
  return isJsonObject(value) ? value : null;
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function texts(value: unknown): readonly string[] {
  return list(value).filter((item) => typeof item === "string");
}

export function numbers(value: unknown): readonly number[] {
  return list(value).filter((item) => typeof item === "number");
}

const isKind = (name: unknown): name is Kind => KINDS.some((kind) => kind === name);

/** The kinds of reading that a selection names. */
export const anyKindsIn = (value: unknown): readonly Kind[] => list(value).filter(isKind);

/** The kinds that a sensor names. */
export function kindsIn(value: unknown): readonly PolledKind[] {
  const named = texts(value);
  return POLLED_KINDS.filter((kind) => named.includes(kind));
}

export const text = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

/** The formats of an uplink. */
export const formatsOf = (uplink: JsonObject): readonly string[] =>
  Array.isArray(uplink["formats"]) ? texts(uplink["formats"]) : ["json"];
