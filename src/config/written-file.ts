/** A file that people write: strict JSON of its published schema. Its own rules say what the schema cannot. */
import { Ajv, type AnySchema, type ErrorObject } from "ajv";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import { parseJsonText, undecodedWarnings } from "./json-text.ts";
import { misspeltMember, type SchemaWords, schemaFault } from "./schema-fault.ts";

/** The bundle holds the schemas compiled with these (scripts/compiled-schemas.ts). */
export const FILE_SCHEMA_OPTIONS = {
  allErrors: true,
  verbose: true,
  strict: true,
  allowUnionTypes: true,
} as const;

export interface WrittenFileRules extends SchemaWords {
  readonly schema: AnySchema;
  /** A warning in the place of a fault; null if it is one. */
  readonly excuse?: (error: ErrorObject) => ConfigurationFault | null;
}

/** Its own rules add to the faults and warnings; `placedIn` names the file in each. */
export interface ReadFile {
  /** Undefined if it is not JSON. */
  readonly value: unknown;
  readonly faults: ConfigurationFault[];
  readonly warnings: ConfigurationFault[];
}

export function readWrittenFile(text: string, path: string, rules: WrittenFileRules): ReadFile {
  const parsed = parseJsonText(text.replace(/^\uFEFF/, ""));
  if ("fault" in parsed) {
    const { line, column, problem, remedy } = parsed.fault;
    const fault = { place: `${path}:${line}:${column}`, problem, remedy };
    return { value: undefined, faults: [fault], warnings: [] };
  }
  const faults: ConfigurationFault[] = parsed.doubles.map(({ line, column, problem }) => ({
    place: `${path}:${line}:${column}`,
    problem,
    remedy: "keep one",
  }));
  const warnings = undecodedWarnings(parsed.undecoded, path);
  const validate = new Ajv(FILE_SCHEMA_OPTIONS).compile(rules.schema);
  if (!validate(parsed.value)) {
    const errors = validate.errors ?? [];
    const misspelt = new Set(errors.map(misspeltMember));
    for (const error of errors) {
      // Told with the misspelt name.
      if (error.keyword === "required" && misspelt.has(missingMember(error))) continue;
      const excused = rules.excuse?.(error) ?? null;
      if (excused === null) faults.push(schemaFault(error, rules));
      else warnings.push(excused);
    }
  }
  return { value: parsed.value, faults, warnings };
}

function missingMember({ instancePath, params }: ErrorObject): string {
  return `${instancePath}/${params["missingProperty"]}`;
}

/** The path before the place, unless it is there. */
export function placedIn(
  path: string,
  faults: readonly ConfigurationFault[],
): ConfigurationFault[] {
  return faults.map((fault) => {
    if (fault.place.startsWith(path)) return fault;
    return { ...fault, place: fault.place === "" ? path : `${path}: ${fault.place}` };
  });
}
