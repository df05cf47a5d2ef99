import { KINDS } from "../core/sensor.ts";

/** JSON Schema pieces of the API's inputs: they validate requests and are shown in the OpenAPI document. */
export interface Schema {
  readonly [keyword: string]: unknown;
}

export function integer(minimum: number, maximum: number, fallback?: number): Schema {
  return fallback === undefined
    ? { type: "integer", minimum, maximum }
    : { type: "integer", minimum, maximum, default: fallback };
}
export function text(maxLength: number, description?: string): Schema {
  return { type: "string", minLength: 1, maxLength, ...(description && { description }) };
}
export function choice(values: readonly (string | number)[], fallback?: string | number): Schema {
  const type = typeof values[0] === "number" ? "integer" : "string";
  return { type, enum: values, ...(fallback !== undefined && { default: fallback }) };
}
/** Unknown parameters are errors: a mistyped name must not silently widen a query. */
export function objectOf(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
): Schema {
  return { type: "object", additionalProperties: false, properties, required };
}

export const SENSOR = text(64, "Sensor code as in the site file.");
export const KIND = choice(KINDS);
/** ISO 8601 with zone, or ms since 1970. */
export const INSTANT: Schema = {
  type: "string",
  maxLength: 40,
  pattern:
    "^(-?\\d{1,15}|\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2}))$",
  description: "ISO 8601 with zone (2026-11-20T15:04:05Z), or milliseconds since 1970 UTC.",
};
export const DAY: Schema = {
  type: "string",
  pattern: "^\\d{4}-\\d{2}-\\d{2}$",
  description: "A calendar day of the gateway's zone, yyyy-MM-dd.",
};
export const GAPS_QUERY = objectOf({ limit: integer(1, 1000, 100) });
export const FILE_ID = objectOf({ fileId: integer(1, 2_147_483_647) }, ["fileId"]);

/** Ms of an INSTANT that the schema accepted; null if that time does not exist. */
export function instantMs(value: string | undefined, fallback: number): number | null {
  if (value === undefined) return fallback;
  const ms = /^-?\d+$/.test(value) ? Number(value) : Date.parse(value);
  return Number.isFinite(ms) && Math.abs(ms) <= 8.64e15 ? ms : null;
}
