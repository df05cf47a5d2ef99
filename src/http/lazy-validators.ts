import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { FastifyInstance, FastifySchemaValidationError } from "fastify";
import { isJsonObject } from "../core/record.ts";

const OPTIONS = {
  removeAdditional: false,
  useDefaults: true,
  allErrors: true,
  addUsedSchema: false,
  // Some members of ours are a number or a text. Ajv would say on standard error that this is unusual.
  allowUnionTypes: true,
  // The description of what was refused.
  verbose: true,
} as const;

/** Of a name that a client sent, this much is repeated to it, characters. */
const NAME_MAX = 64;

/** Called by fastify: false if the data are invalid, with the errors as a property of the function. */
interface Validator {
  (data: unknown): boolean;
  errors?: FastifySchemaValidationError[] | null;
}

interface RequestSchema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

/**
 * Compiles a route's schema on its first request: compiling all of them at the start took a tenth of its CPU time, and
 * most boxes never get most requests. Paths and queries are text, from which numbers are read; a JSON body has types.
 */
export function validateLazily(app: FastifyInstance): void {
  let ofText: Ajv | null = null;
  let ofJson: Ajv | null = null;
  app.setValidatorCompiler<RequestSchema>(({ schema, httpPart }) => {
    const isBody = httpPart === "body";
    const compile = () =>
      isBody
        ? (ofJson ??= new Ajv(OPTIONS)).compile(schema)
        : (ofText ??= new Ajv({ ...OPTIONS, coerceTypes: true })).compile(schema);
    let compiled: ValidateFunction | null = null;
    const validate: Validator = (data) => {
      if (isBody) leaveOutNulls(data, schema);
      compiled ??= compile();
      compiled(data);
      const refused = (compiled.errors ?? []).map((error) => told(error, schema));
      const errors = [...refused, ...endless(data)];
      validate.errors = errors.length === 0 ? null : errors;
      return errors.length === 0;
    };
    return validate;
  });
}

/** Ajv's own messages name neither what is unknown, nor the values that are allowed, nor what a time looks like. */
function told(
  error: ErrorObject,
  { properties = {} }: RequestSchema,
): FastifySchemaValidationError {
  const { instancePath, keyword, params, parentSchema, schemaPath, message = "" } = error;
  return { keyword, instancePath, schemaPath, params, message: inWords() };

  function inWords(): string {
    if (keyword === "additionalProperties") {
      const name = JSON.stringify(String(params["additionalProperty"]).slice(0, NAME_MAX));
      const known = instancePath === "" ? Object.keys(properties) : [];
      return `has no ${name}${known.length === 0 ? "" : `, only ${known.join(", ")}`}`;
    }
    if (keyword === "enum") return `must be one of ${params["allowedValues"].join(", ")}`;
    const description: unknown = parentSchema?.["description"];
    if (keyword === "pattern" && typeof description === "string")
      return `has an invalid format: ${description.replace(/\.$/, "")}`;
    return message;
  }
}

/** An optional member of a body that is null is not given. */
function leaveOutNulls(data: unknown, { properties = {}, required = [] }: RequestSchema): void {
  if (!isJsonObject(data)) return;
  for (const name of Object.keys(properties))
    if (data[name] === null && !required.includes(name)) Reflect.deleteProperty(data, name);
}

/** Ajv turns the text `1e999` into an infinite number, to which it then applies no limit of the schema. */
function endless(data: unknown) {
  return Object.entries(data ?? {})
    .filter(([, value]) => typeof value === "number" && !Number.isFinite(value))
    .map(([name]) => ({
      keyword: "type",
      instancePath: `/${name}`,
      schemaPath: "",
      params: {},
      message: "must be a finite number",
    }));
}
