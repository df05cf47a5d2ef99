import { isJsonObject, type JsonValue } from "../../core/record.ts";
import { type Oddities, readNumber } from "./scalars.ts";

/** A member in any letter case, the exact name first. */
export function memberOf(value: JsonValue, name: string): JsonValue | undefined {
  if (!isJsonObject(value)) return undefined;
  if (Object.hasOwn(value, name)) return value[name];
  const found = Object.keys(value).find((key) => key.toLowerCase() === name.toLowerCase());
  return found === undefined ? undefined : value[found];
}

/** A status number, also as text; null if it is not one. */
export function readStatus(value: JsonValue | undefined, oddities: Oddities): number | null {
  if (typeof value === "string") oddities.add("status_as_text");
  const status = readNumber(value, oddities);
  return status !== undefined && Number.isInteger(status) ? status : null;
}
