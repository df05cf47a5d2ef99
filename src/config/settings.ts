/**
 * Process settings (contract section 3): collected, coerced by env-schema, cross-checked, and renamed for the program.
 */
import { basename } from "node:path";
import envSchema from "env-schema";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import { byName } from "../core/lists/by-name.ts";
import { topicLevel } from "../core/topics/topic-level.ts";
import { type GivenSettings, gatherSettings, isTlsFile, type Origin } from "./environment.ts";
import { type Environment } from "./environment-type.ts";
import { shown } from "./fault.ts";
import { expectation, memberOf, type SettingSpec } from "./setting-spec.ts";
import { refineSettings } from "./settings-refine.ts";
import type { Settings, UnboundSettings } from "./settings-shape.ts";
import {
  bySite,
  isSettingName,
  type RawSettings,
  SETTING_NAMES,
  SETTINGS,
  type SettingName,
  settingsSchema,
} from "./settings-table.ts";

export type { Settings, UnboundSettings } from "./settings-shape.ts";

export interface LoadOptions {
  readonly cwd: string;
  /** Read instead of `.env`; must exist. */
  readonly envFile?: string | null;
  /** Commands that contact neither gateway nor broker do not require their addresses, which are then empty. */
  readonly linksOptional?: boolean;
}

export interface LoadedSettings {
  /** Null if there are faults. */
  readonly settings: UnboundSettings | null;
  readonly faults: readonly ConfigurationFault[];
  readonly warnings: readonly ConfigurationFault[];
  readonly origins: Readonly<Record<SettingName, Origin>>;
  /** Absolute paths behind NAME_FILE, for those that are set. */
  readonly secretFiles: Readonly<Partial<Record<SettingName, string>>>;
  /** For `check`: value in effect as text, secrets masked; empty if there is none. */
  readonly shown: Readonly<Record<SettingName, string>>;
  /** Value in effect as text, including secrets: for comparison only, never shown. */
  readonly valueOf: (name: SettingName) => string;
}

/** The process' own environment: nothing else reads it. */
export function processEnvironment(): Environment {
  return process.env;
}

export function loadSettings(environment: Environment, options: LoadOptions): LoadedSettings {
  return settingsOf(gatherSettings(environment, options.cwd, options.envFile ?? null), options);
}

/** The same for whoever asks every minute: they are worked out again only if something else is given. */
export function watchSettings(options: LoadOptions): (environment: Environment) => LoadedSettings {
  let last: { readonly text: string; readonly loaded: LoadedSettings } | null = null;
  return (environment) => {
    const given = gatherSettings(environment, options.cwd, options.envFile ?? null);
    const text = JSON.stringify(given);
    if (last?.text !== text) last = { text, loaded: settingsOf(given, options) };
    return last.loaded;
  };
}

function settingsOf(given: GivenSettings, options: LoadOptions): LoadedSettings {
  const faults = [...given.faults];
  const warnings = [...given.warnings];
  const values: Record<string, string> = { ...given.values };
  normaliseBooleans(values);
  if (options.linksOptional) {
    values["GATEWAY_URL"] ??= "";
    values["MQTT_URL"] ??= "";
  }

  const raw = coerce(values, faults);
  if (values["MQTT_URL"] === undefined && raw.UPLINKS_FILE === undefined)
    faults.push(schemaFault("MQTT_URL", "required", undefined));
  const settings = refineSettings(raw, options.cwd, faults, warnings);
  const origins = byName(SETTING_NAMES, (name): Origin => given.origins[name] ?? "default");
  // As set: a default yields, where what is kept of readings is long enough for it.
  const keptDays = origins.WAVEFORM_DAYS === "default" ? settings.historyDays : raw.HISTORY_DAYS;
  if (raw.WAVEFORM_DAYS > keptDays)
    faults.push({
      place: "WAVEFORM_DAYS",
      problem: `${raw.WAVEFORM_DAYS} is more than HISTORY_DAYS, ${raw.HISTORY_DAYS}: samples go with their readings`,
      remedy: "set HISTORY_DAYS to at least that, or WAVEFORM_DAYS to less",
    });
  if (raw.MQTT_USERNAME === undefined && settings.mqttUsername !== null)
    origins.MQTT_USERNAME = "MQTT_URL";
  if (raw.MQTT_PASSWORD === undefined && settings.mqttPassword !== null)
    origins.MQTT_PASSWORD = "MQTT_URL";
  const shownValues = { ...show(raw, settings), ...namesOfCredentials(values, origins) };
  const files = given.secretFiles;
  const { MQTT_USERNAME: username, MQTT_PASSWORD: password, MQTT_PROXY: proxy } = files;
  const mqttSecretFiles = {
    ...(username && { username }),
    ...(password && { password }),
    ...(proxy && { proxy }),
  };
  const hasFiles = Object.keys(mqttSecretFiles).length > 0;
  return {
    valueOf: (name) => (SETTINGS[name].secret ? String(raw[name] ?? "") : shownValues[name]),
    settings: faults.length === 0 ? { ...settings, ...(hasFiles && { mqttSecretFiles }) } : null,
    secretFiles: files,
    faults,
    warnings,
    origins,
    shown: shownValues,
  };
}

/** Fills the settings that default to the site's name. */
export function bindSite(settings: UnboundSettings, site: string): Settings {
  const name = topicLevel(site);
  const given: Readonly<Record<string, unknown>> = { ...settings };
  const named = SETTING_NAMES.flatMap((setting) => {
    const value = bySite(setting, name);
    const member = memberOf(setting);
    return value === null ? [] : [[member, given[member] ?? value]];
  });
  return { ...settings, ...Object.fromEntries(named) };
}

function normaliseBooleans(values: Record<string, string>): void {
  const words: Record<string, string> = { 1: "true", yes: "true", on: "true" };
  Object.assign(words, { 0: "false", no: "false", off: "false" });
  for (const name of SETTING_NAMES) {
    const text = values[name]?.toLowerCase();
    if (SETTINGS[name].type === "boolean" && text !== undefined) values[name] = words[text] ?? text;
  }
}

interface SchemaError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** One object: ajv keeps what it compiled for each object that it was given. */
const SCHEMA = settingsSchema();

/** Types, defaults and ranges by env-schema. An invalid value is noted and replaced by its default from here on. */
function coerce(
  given: Readonly<Record<string, string>>,
  faults: ConfigurationFault[],
): RawSettings {
  const values = { ...given };
  for (const name of SETTING_NAMES) {
    const isNumeric = SETTINGS[name].type === "integer" || SETTINGS[name].type === "number";
    const number = Number(values[name]);
    // Infinity and 1e999 are numbers to ajv, and within every range.
    if (!isNumeric || Math.abs(number) !== Number.POSITIVE_INFINITY) continue;
    faults.push(schemaFault(name, number > 0 ? "maximum" : "minimum", values[name]));
    delete values[name];
  }
  try {
    return envSchema<RawSettings>({ schema: SCHEMA, data: values, env: false });
  } catch (error) {
    if (!(error instanceof Error && "errors" in error && Array.isArray(error.errors))) throw error;
    const errors: readonly SchemaError[] = error.errors;
    const faulty = new Set<SettingName>();
    for (const { instancePath, keyword, params } of errors) {
      const name = keyword === "required" ? params["missingProperty"] : instancePath.slice(1);
      if (typeof name !== "string" || !isSettingName(name) || faulty.has(name)) continue;
      faulty.add(name);
      // An empty placeholder means that NAME_FILE could not be read, which is already a fault.
      if (given[name] === "") continue;
      faults.push(schemaFault(name, keyword, given[name]));
    }
    const kept: Record<string, string> = {};
    for (const [name, value] of Object.entries(values)) {
      if (!isSettingName(name) || !faulty.has(name)) kept[name] = value;
    }
    kept["GATEWAY_URL"] ??= "";
    return envSchema<RawSettings>({ schema: SCHEMA, data: kept, env: false });
  }
}

const TYPE_WORDS: Readonly<Record<SettingSpec["type"], string>> = {
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  choice: "text",
  text: "text",
  path: "text",
};

function schemaFault(
  name: SettingName,
  keyword: string,
  value: string | undefined,
): ConfigurationFault {
  const spec = SETTINGS[name];
  if (keyword === "required")
    return {
      place: name,
      problem: "is required but not set",
      remedy: expectation(spec),
    };
  const seen = spec.secret ? "the value" : shown(value);
  const problems: Record<string, string> = {
    minimum: "is too small",
    maximum: "is too large",
    enum: "is not allowed",
    type: `is not ${TYPE_WORDS[spec.type]}`,
    pattern: "has an invalid format",
  };
  return {
    place: name,
    problem: `${seen} ${problems[keyword] ?? "is not valid"}`,
    remedy: expectation(spec),
  };
}

const MASK = "********";

/**
 * Files below $CREDENTIALS_DIRECTORY, by their names: the directory is another one for each unit and command, and the
 * setting is the same.
 */
function namesOfCredentials(
  values: Partial<Record<SettingName, string>>,
  origins: Readonly<Record<SettingName, Origin>>,
): Partial<Record<SettingName, string>> {
  return Object.fromEntries(
    SETTING_NAMES.filter((name) => isTlsFile(name) && origins[name] === "credential").map(
      (name) => [name, `$CREDENTIALS_DIRECTORY/${basename(values[name] ?? "")}`],
    ),
  );
}

function show(raw: RawSettings, settings: UnboundSettings): Record<SettingName, string> {
  const special: Partial<Record<SettingName, string>> = {
    GATEWAY_URL: settings.gatewayUrl,
    MQTT_URL: settings.mqttUrls.map((url) => url.replace(/\?.*$/, "?…")).join(","),
    GATEWAY_TIMEZONE: settings.gatewayTimezone,
    HISTORY_DAYS: String(settings.historyDays),
    // If they came with the URL they are in effect all the same, and masked like it.
    ...(settings.mqttUsername === null ? {} : { MQTT_USERNAME: MASK }),
    ...(settings.mqttPassword === null ? {} : { MQTT_PASSWORD: MASK }),
  };
  const inProgram: Readonly<Record<string, unknown>> = { ...settings };
  return byName(SETTING_NAMES, (name) => {
    const spec = SETTINGS[name];
    const own = spec.type === "path" && spec.isShownWhole ? inProgram[memberOf(name)] : null;
    const whole = typeof own === "string" ? own : null;
    const value = special[name] ?? whole ?? String(raw[name] ?? "");
    const isHidden = spec.secret && special[name] === undefined && value !== "";
    return isHidden ? MASK : value;
  });
}
