import { Ajv, type ValidateFunction } from "ajv";
import type { FastifyInstance, FastifySchemaValidationError } from "fastify";

const OPTIONS = {
  removeAdditional: false,
  coerceTypes: true,
  useDefaults: true,
  allErrors: true,
  addUsedSchema: false,
} as const;

/** Called by fastify: false if the data are invalid, with the errors as a property of the function. */
interface Validator {
  (data: unknown): boolean;
  errors?: FastifySchemaValidationError[] | null;
}

/**
 * Compiles a route's schema on its first request: compiling all of them at the start took a tenth of its CPU time, and
 * most boxes never get most requests.
 */
export function validateLazily(app: FastifyInstance): void {
  let ajv: Ajv | null = null;
  app.setValidatorCompiler<object>(({ schema }) => {
    let compiled: ValidateFunction | null = null;
    const validate: Validator = (data) => {
      compiled ??= (ajv ??= new Ajv(OPTIONS)).compile(schema);
      compiled(data);
      const errors = [...(compiled.errors ?? []), ...endless(data)];
      validate.errors = errors.length === 0 ? null : (errors as FastifySchemaValidationError[]);
      return errors.length === 0;
    };
    return validate;
  });
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
