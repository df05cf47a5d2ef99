/** JSON Schema pieces of requests: they validate them, type them, and are shown in the OpenAPI document. */
import { input, type Schema } from "../core/schema.ts";
import { KINDS } from "../core/sensor.ts";

type Defaulted<T> = Schema<T> & { readonly default: T };

export function integer(minimum: number, maximum: number): Schema<number>;
export function integer(minimum: number, maximum: number, fallback: number): Defaulted<number>;
export function integer(minimum: number, maximum: number, fallback?: number): Schema<number> {
  const range = { type: "integer", minimum, maximum };
  return fallback === undefined ? range : { ...range, default: fallback };
}
export function text(maxLength: number, description?: string): Schema<string> {
  return { type: "string", minLength: 1, maxLength, ...(description && { description }) };
}
export function choice<const T extends string | number>(values: readonly T[]): Schema<T>;
export function choice<const T extends string | number>(
  values: readonly T[],
  fallback: NoInfer<T>,
): Defaulted<T>;
export function choice<T extends string | number>(values: readonly T[], fallback?: T): Schema<T> {
  const type = typeof values[0] === "number" ? "integer" : "string";
  return { type, enum: values, ...(fallback !== undefined && { default: fallback }) };
}
/** False by default. */
export function flag(description: string): Defaulted<boolean> {
  return { type: "boolean", default: false, description };
}
/** A body that may be left out. */
export function orNone<T>(body: Schema<T>): Schema<T | null> {
  return { ...body, type: ["object", "null"] };
}

export const SENSOR = text(64, "Sensor code as in the site file.");
export const KIND = choice(KINDS);
/** ISO 8601 with zone, or ms since 1970. */
export const INSTANT: Schema<string> = {
  type: "string",
  maxLength: 40,
  pattern:
    "^(-?\\d{1,15}|\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2}))$",
  description: "ISO 8601 with zone (2026-11-20T15:04:05Z), or milliseconds since 1970 UTC.",
};
export const DAY: Schema<string> = {
  type: "string",
  pattern: "^\\d{4}-\\d{2}-\\d{2}$",
  description: "A calendar day of the gateway's zone, yyyy-MM-dd.",
};
export const SENSOR_CODE = input({ code: SENSOR }, ["code"]);
export const MEASUREMENT_ID = input({ code: SENSOR, reading: text(64, "Id of its reading.") }, [
  "code",
  "reading",
]);
/** What has another form is no reading's id: unknown, like any other. */
export const IS_READING_ID = /^[0-9a-f]{32}$/;

/** Ms of an INSTANT that the schema accepted; null if that time does not exist. */
export function instantMs(value: string | undefined, fallback: number): number | null {
  if (value === undefined) return fallback;
  const ms = /^-?\d+$/.test(value) ? Number(value) : isDay(value) ? Date.parse(value) : Number.NaN;
  return Number.isFinite(ms) && Math.abs(ms) <= 8.64e15 ? ms : null;
}

/** `Date.parse` takes 31 February for 3 March. */
function isDay(value: string): boolean {
  const [year = 0, month = 0, day = 0] = value.slice(0, 10).split("-").map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
