/**
 * Every process setting once (contract section 3): name, type, default, limits, whether it is a secret, and its
 * meaning. The JSON Schema for env-schema, the types, the `check` command and the documentation are derived from it.
 */

import { resolve } from "node:path";
import { placed } from "../core/lists/placed.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS as FEATURES } from "../features/specs.ts";
import {
  type Member,
  memberOf,
  type OrNull,
  type RawOf,
  type SettingSpec,
} from "./setting-spec.ts";
import { BROKER_SETTINGS } from "./settings-broker.ts";
import { GATEWAY_SETTINGS } from "./settings-gateway.ts";
import { SERVICE_SETTINGS } from "./settings-services.ts";

const OWN = { ...GATEWAY_SETTINGS, ...BROKER_SETTINGS, ...SERVICE_SETTINGS } as const;

/** The settings of these features, as one table. */
type SettingsOf<S> = S extends readonly [infer First, ...infer Others]
  ? (First extends { readonly settings: infer T } ? T : object) & SettingsOf<Others>
  : object;
type Table = typeof OWN & SettingsOf<typeof FEATURES>;

const SPECS = Object.fromEntries(
  placed(
    Object.entries<SettingSpec>(OWN),
    FEATURES.map(({ after, settings = {} }: FeatureSpec) => ({
      after: after?.settings,
      entries: Object.entries(settings),
    })),
    ([name]) => name,
  ),
) as unknown as Table;

export type SettingName = keyof typeof SPECS;

/** Values by environment name, coerced and range-checked, before cross checks. */
export type RawSettings = RawOf<typeof SPECS>;

/** The program knows several in the place of one. */
const OWN_REPLACED = [
  "HTTP_PUBLIC_URL",
  "HTTP_TRUSTED_PROXY",
] as const satisfies readonly (keyof typeof OWN)[];
type ReplacedBy<S> = S extends readonly [infer First, ...infer Others]
  ?
      | (First extends { readonly replaced: readonly (infer Name)[] } ? Name : never)
      | ReplacedBy<Others>
  : never;
type KeptName = Exclude<SettingName, (typeof OWN_REPLACED)[number] | ReplacedBy<typeof FEATURES>>;
const REPLACED = new Set<string>([
  ...OWN_REPLACED,
  ...FEATURES.flatMap(({ replaced = [] }: FeatureSpec) => replaced),
]);
const isKept = (name: SettingName): name is KeptName => !REPLACED.has(name);
/** Settings as the program names them, paths resolved. */
export type PlainSettings = { readonly [N in KeptName as Member<N>]: OrNull<RawSettings[N]> };

export const SETTINGS: Readonly<Record<SettingName, SettingSpec>> = SPECS;
export const SETTING_NAMES = Object.keys(SPECS).filter(isSettingName);

/** Members of settings that have `bySite`. */
export type NamedBySite = {
  [N in SettingName]: Table[N] extends { readonly bySite: string } ? Member<N> : never;
}[SettingName];
/** What a setting is where none is given. @param site the site's name as a topic level */
export function bySite(name: SettingName, site: string): string | null {
  const spec = SETTINGS[name];
  const named = spec.type === "text" ? spec.bySite : undefined;
  return named?.replace("{site}", () => site) ?? null;
}

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(SPECS, name);
}

export function plainSettings(raw: RawSettings, cwd: string): PlainSettings {
  const members = SETTING_NAMES.filter(isKept).map((name) => {
    const value = raw[name] ?? null;
    const isPath = SETTINGS[name].type === "path" && typeof value === "string";
    return [memberOf(name), isPath ? resolve(cwd, value) : value] as const;
  });
  return Object.fromEntries(members) as PlainSettings;
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
    case "path":
      return { type: "string", ...(spec.default === undefined ? {} : { default: spec.default }) };
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
