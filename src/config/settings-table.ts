/**
 * Every process setting once (contract section 3): name, type, default, limits, whether it is a secret, and its
 * meaning. The JSON Schema for env-schema, the types, the `check` command and the documentation are derived from it.
 */

import type { SettingSpec } from "./setting-spec.ts";
import { BROKER_SETTINGS } from "./settings-broker.ts";
import { GATEWAY_SETTINGS } from "./settings-gateway.ts";
import { SERVICE_SETTINGS } from "./settings-services.ts";

const SPECS = { ...GATEWAY_SETTINGS, ...BROKER_SETTINGS, ...SERVICE_SETTINGS } as const;

export type SettingName = keyof typeof SPECS;

type ValueOf<S> = S extends { type: "integer" | "number" }
  ? S extends { default: number }
    ? number
    : number | undefined
  : S extends { type: "boolean" }
    ? boolean
    : S extends { choices: readonly (infer C)[] }
      ? C
      : S extends { default: string } | { required: true }
        ? string
        : string | undefined;
/** Values by environment name, coerced and range-checked, before cross checks. */
export type RawSettings = { readonly [N in SettingName]: ValueOf<(typeof SPECS)[N]> };

export const SETTINGS: Readonly<Record<SettingName, SettingSpec>> = SPECS;
export const SETTING_NAMES = Object.keys(SPECS) as SettingName[];

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(SPECS, name);
}

/** The table as JSON Schema, for env-schema. */
export function settingsSchema(): object {
  const properties: Record<string, object> = {};
  const required: string[] = [];
  for (const name of SETTING_NAMES) {
    const spec = SETTINGS[name];
    properties[name] = property(spec);
    if (spec.type === "text" && spec.required) required.push(name);
  }
  return { type: "object", properties, required };
}

function property(spec: SettingSpec): object {
  switch (spec.type) {
    case "text":
      return {
        type: "string",
        ...(spec.default === undefined ? {} : { default: spec.default }),
        ...(spec.pattern === undefined ? {} : { pattern: spec.pattern }),
      };
    case "choice":
      return { type: "string", enum: spec.choices, default: spec.default };
    case "boolean":
      return { type: "boolean", default: spec.default };
    case "integer":
    case "number":
      return {
        type: spec.type,
        minimum: spec.minimum,
        maximum: spec.maximum,
        default: spec.default,
      };
  }
}
