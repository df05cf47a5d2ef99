/**
 * JSON Schema that carries the type it describes: one declaration validates requests, is shown in the OpenAPI document,
 * and is the type that the agent sends and the dashboard reads (`Of`).
 */

declare const TYPE: unique symbol;

export interface Schema<T = unknown> {
  readonly [keyword: string]: unknown;
  readonly [TYPE]?: T;
}
export type Of<S> = S extends { readonly [TYPE]?: infer T } ? T : never;

/** The schema that a name of the document's components stands for. */
export const DEFINITION = Symbol("definition");
const OPTIONAL = Symbol("optional");
type Optional = { readonly [OPTIONAL]: true };

type SchemaMembers = Readonly<Record<string, Schema>>;
/** One object type of an intersection, for messages that people can read. */
type Flat<T> = { readonly [K in keyof T]: T[K] };
type ObjectOf<P> = Flat<
  { readonly [K in keyof P as P[K] extends Optional ? never : K]: Of<P[K]> } & {
    readonly [K in keyof P as P[K] extends Optional ? K : never]?: Of<P[K]>;
  }
>;
type InputOf<P, R> = Flat<
  { readonly [K in keyof P as K extends R ? K : never]: Of<P[K]> } & {
    readonly [K in keyof P as K extends R ? never : HasDefault<P[K]> extends true ? K : never]: Of<
      P[K]
    >;
  } & {
    readonly [K in keyof P as K extends R ? never : HasDefault<P[K]> extends true ? never : K]?: Of<
      P[K]
    >;
  }
>;
type HasDefault<S> = S extends { readonly default: unknown } ? true : false;

export const TEXT: Schema<string> = { type: "string" };
export const INTEGER: Schema<number> = { type: "integer" };
export const NUMBER: Schema<number> = { type: "number" };
export const YES_NO: Schema<boolean> = { type: "boolean" };
export const MS: Schema<number> = { type: "number", description: "Milliseconds since 1970 UTC." };
export const ISO: Schema<string> = { type: "string", format: "date-time" };
export const ANYTHING: Schema<unknown> = {};
export const OBJECT: Schema<object> = { type: "object" };
/** A schema of which the agent knows more than it promises. */
/* @__NO_SIDE_EFFECTS__ */
export function known<T>(schema: Readonly<Record<string, unknown>>): Schema<T> {
  return schema;
}

/** A component of the document: shown once, and named where it is used. */
/* @__NO_SIDE_EFFECTS__ */
export function named<T>(name: string, definition: Schema<T>): Schema<T> {
  return { $ref: `#/components/schemas/${name}`, [DEFINITION]: definition };
}
/* @__NO_SIDE_EFFECTS__ */
export function list<T>(items: Schema<T>): Schema<readonly T[]> {
  return { type: "array", items };
}
/* @__NO_SIDE_EFFECTS__ */
export function orNull<T>(schema: Schema<T>): Schema<T | null> {
  return { anyOf: [schema, { type: "null" }] };
}
/* @__NO_SIDE_EFFECTS__ */
export function oneOf<const T extends string | number>(values: readonly T[]): Schema<T> {
  return { enum: values };
}
/* @__NO_SIDE_EFFECTS__ */
export function map<T, K extends string = string>(
  values: Schema<T>,
): Schema<Readonly<Record<K, T>>> {
  return { type: "object", additionalProperties: values };
}
/** A member that may be absent. */
/* @__NO_SIDE_EFFECTS__ */
export function optional<T>(schema: Schema<T>): Schema<T> & Optional {
  return { ...schema, [OPTIONAL]: true };
}
/* @__NO_SIDE_EFFECTS__ */
export function object<const P extends SchemaMembers>(properties: P): Schema<ObjectOf<P>> {
  const required = Object.keys(properties).filter(
    (name) => !(OPTIONAL in (properties[name] ?? {})),
  );
  return { type: "object", properties, required };
}

/**
 * A request's parameters or body. Unknown members are errors: a mistyped name must not silently widen a query. Those with
 * a default are always present once it is validated.
 */
/* @__NO_SIDE_EFFECTS__ */
export function input<const P extends SchemaMembers, const R extends keyof P & string = never>(
  properties: P,
  required: readonly R[] = [],
): Schema<InputOf<P, R>> {
  return { type: "object", additionalProperties: false, properties, required };
}
