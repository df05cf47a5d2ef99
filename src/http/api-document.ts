import { placed } from "../core/lists/placed.ts";
import { isJsonObject } from "../core/record.ts";
import { DEFINITION, type Schema } from "../core/schema.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { COMMANDS_OPERATIONS } from "./api-commands.ts";
import { CONFIGURATION_OPERATIONS } from "./api-configuration.ts";
import { LOG_OPERATIONS } from "./api-log.ts";
import { MEASUREMENTS_OPERATIONS } from "./api-measurements.ts";
import type { Operation } from "./api-operation.ts";
import { READINGS_OPERATIONS } from "./api-readings.ts";
import { SENSORS_OPERATIONS } from "./api-sensors.ts";
import { STATUS_OPERATIONS } from "./api-status.ts";
import { WAVEFORMS_OPERATIONS } from "./api-waveforms.ts";
import { AUDIT_OPERATIONS } from "./audit.ts";
import { accessOf } from "./change.ts";
import { HEALTH_OPERATIONS } from "./health.ts";
import { EVENTS_OPERATIONS } from "./live-events.ts";
import { METRICS_OPERATIONS } from "./metrics.ts";
import { PROBLEM } from "./problem.ts";

const OWN_OPERATIONS: readonly Operation[] = [
  ...STATUS_OPERATIONS,
  ...CONFIGURATION_OPERATIONS,
  ...SENSORS_OPERATIONS,
  ...READINGS_OPERATIONS,
  ...WAVEFORMS_OPERATIONS,
  ...MEASUREMENTS_OPERATIONS,
  ...COMMANDS_OPERATIONS,
  ...LOG_OPERATIONS,
  ...AUDIT_OPERATIONS,
  ...EVENTS_OPERATIONS,
  ...HEALTH_OPERATIONS,
  ...METRICS_OPERATIONS,
];
const OPERATIONS = placed(
  OWN_OPERATIONS,
  SPECS.map(({ after, operations = [] }: FeatureSpec) => ({
    after: after?.operations,
    entries: operations,
  })),
  ({ path }) => path,
);

/**
 * The OpenAPI 3.1 document. Inputs are the schemas that requests are validated with, except sensor settings, which the
 * command room checks.
 */
export function apiOperations(version: string): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of OPERATIONS) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: describe(operation) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Gateside local API",
      version,
      description:
        "JSON behind the dashboard. Times ending in Ms are milliseconds since 1970 UTC. If HTTP_TOKEN is set, every path except /healthz requires it as a bearer token.",
      contact: { name: "The operator of this box" },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    security: [{ bearer: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: componentsOf(OPERATIONS),
    },
  };
}

/** The named schemas of all responses, by name. */
function componentsOf(operations: readonly Operation[]): Record<string, Schema> {
  const found: Record<string, Schema> = {};
  const visit = (schema: unknown): void => {
    if (typeof schema !== "object" || schema === null) return;
    const { $ref: name, [DEFINITION]: definition } = schema as NamedSchema;
    const known = name?.replace(/^.*\//, "");
    if (known !== undefined && definition !== undefined && !(known in found)) {
      found[known] = definition;
      visit(definition);
    }
    for (const part of Object.values(schema)) visit(part);
  };
  for (const { schema } of operations) visit(schema);
  visit(PROBLEM);
  return found;
}
interface NamedSchema {
  readonly $ref?: string;
  readonly [DEFINITION]?: Schema;
}

const OTHER_ORIGIN =
  "The request comes from another origin, or uses a host name that is not allowed.";

/** What the audit log's hook answers to every change (`audit.ts`). */
const STORE_HELD = {
  503: "store_held: another program holds the store open, so no change can be stored.",
} as const;

function describe(operation: Operation): object {
  const { summary, query, params, body, also, alike, response, schema, status = 200 } = operation;
  const type = operation.contentType ?? "application/json";
  const content = {
    [type]: schema === null ? {} : { schema },
    ...(operation.otherType !== undefined && { [operation.otherType]: {} }),
  };
  const byStatus: Record<string, unknown> = {
    [status]: { description: response, content },
    ...((query ?? params ?? body) && {
      400: problemResponse("A parameter is invalid; the message names it."),
    }),
    403: problemResponse(
      operation.method === "get" ? OTHER_ORIGIN : `HTTP_VIEW_TOKEN is read-only. ${OTHER_ORIGIN}`,
    ),
    ...(operation.path !== "/healthz" && {
      401: problemResponse("Token missing or wrong."),
      429: {
        ...problemResponse("Too many wrong tokens from this address."),
        headers: {
          "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } },
        },
      },
    }),
  };
  const held: Readonly<Record<number, string>> =
    accessOf(operation).isChange && operation.path.startsWith("/api/") ? STORE_HELD : {};
  for (const [code, text] of Object.entries({ ...held, ...also }))
    byStatus[code] = problemResponse(text);
  for (const [code, text] of Object.entries(alike ?? {})) {
    byStatus[code] = { description: text, content };
  }
  return {
    operationId: operationIdOf(operation),
    summary,
    description: summary,
    tags: [operation.path.startsWith("/api/") ? "api" : "health"],
    ...(operation.path === "/healthz" && { security: [] }),
    parameters: [...parametersOf(params, "path"), ...parametersOf(query, "query")],
    ...(body && {
      requestBody: { required: true, content: { "application/json": { schema: body } } },
    }),
    responses: byStatus,
  };
}

const TAGS = {
  api: "The functions of the dashboard.",
  health: "Health checks and metrics.",
} as const;

/** `getWaveformFileId` for `GET /api/v1/waveform/{fileId}`: stable as long as the path is. */
function operationIdOf({ method, path }: Operation): string {
  const words = path.replace(/^\/api\/v1/, "").match(/[A-Za-z0-9]+/g) ?? [];
  return method + words.map((word) => (word[0] ?? "").toUpperCase() + word.slice(1)).join("");
}

function problemResponse(description: string): object {
  return {
    description,
    content: { "application/json": { schema: PROBLEM } },
  };
}

function parametersOf(schema: Schema | undefined, place: "path" | "query"): object[] {
  const { properties, required } = schema ?? {};
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([name, value]) => ({
    name,
    in: place,
    required: place === "path" || isRequired(name),
    schema: value,
  }));
}
