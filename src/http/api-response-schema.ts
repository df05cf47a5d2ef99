/** The vocabulary of the response schemas. */
import type { Schema } from "./api-schemas.ts";

export const TEXT: Schema = { type: "string" };
export const INTEGER: Schema = { type: "integer" };
export const NUMBER: Schema = { type: "number" };
export const YES_NO: Schema = { type: "boolean" };
export const MS: Schema = { type: "number", description: "Milliseconds since 1970 UTC." };
export const ISO: Schema = { type: "string", format: "date-time" };

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const list = (items: Schema): Schema => ({ type: "array", items });
export const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] });
export const oneOf = (values: readonly (string | number)[]): Schema => ({ enum: values });
export const map = (values: Schema): Schema => ({ type: "object", additionalProperties: values });
/** Every member is always present, except those named after it. */
export function object(
  properties: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required };
}
