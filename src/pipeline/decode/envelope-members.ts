import { isJsonObject, type JsonValue } from "../../core/record.ts";
import { type Oddities, readNumber } from "./scalars.ts";

/** A member in any letter case, the exact name first. */
export function memberOf(value: JsonValue, name: string): JsonValue | undefined {
  if (!isJsonObject(value)) return undefined;
  if (Object.hasOwn(value, name)) return value[name];
  const found = Object.keys(value).find((key) => key.toLowerCase() === name.toLowerCase());
  return found === undefined ? undefined : value[found];
}

/** The text of an error object of WCF: the error itself if the server tells it, which is in `ExceptionDetail`. */
export function errorOf(value: JsonValue): string | null {
  const inner = memberOf(value, "ExceptionDetail");
  const message = (inner === undefined ? null : errorOf(inner)) ?? memberOf(value, "Message");
  return typeof message === "string" && message.trim() !== "" ? message.slice(0, ERROR_MAX) : null;
}

/** Characters. */
const ERROR_MAX = 500;

/** A status number, also as text; null if it is not one. */
export function readStatus(value: JsonValue | undefined, oddities: Oddities): number | null {
  if (typeof value === "string") oddities.add("status_as_text");
  const status = readNumber(value, oddities);
  return status !== undefined && Number.isInteger(status) ? status : null;
}
