/**
 * Sources of settings: the environment, a `.env` file, the NAME_FILE form of secrets, and systemd's credentials. The
 * environment takes precedence over the file. An empty value counts as not set, like the EnvironmentFile line
 * `NAME=`.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import { codeOrMessage } from "../core/thrown.ts";
import { fileTrouble, readRemedy } from "../lib/file-trouble.ts";
import { editDistance, nearest } from "../lib/nearest.ts";
import { COLLECT_ENVIRONMENT } from "./collect-names.ts";
import { type EnvironmentLines, parseEnvironmentLines } from "./environment-lines.ts";
import type { Environment } from "./environment-type.ts";
import { readSecretFile } from "./secret-file.ts";
import { isSettingName, SETTING_NAMES, SETTINGS, type SettingName } from "./settings-table.ts";

/** `default`, `environment`, `credential`, `MQTT_URL`, a NAME_FILE, or the path of the file with NAME=value lines. */
export type Origin = string;

export interface GivenSettings {
  readonly values: Partial<Record<SettingName, string>>;
  readonly origins: Partial<Record<SettingName, Origin>>;
  /** Absolute paths behind NAME_FILE. */
  readonly secretFiles: Partial<Record<SettingName, string>>;
  readonly faults: readonly ConfigurationFault[];
  readonly warnings: readonly ConfigurationFault[];
}

/**
 * Set by the command line of the package, which passes on the service's settings: NAME=origin, a line each. Without it,
 * what came from its file or a credential would be told as the environment.
 */
const ORIGINS_NAME = "GATESIDE_ORIGINS";

/** The `.env` file in place of the working directory's: the package's command runs anywhere, with the service's settings. */
const DOTENV_NAME = "GATESIDE_DOTENV";

/** `_FILE` names of secrets, e.g. MQTT_PASSWORD_FILE. */
const FILE_NAMES = SETTING_NAMES.filter((name) => SETTINGS[name].secret).map((n) => `${n}_FILE`);

/** What other programs call it, and no typing error leads to. */
const OTHER_WORDS: Readonly<Record<string, SettingName>> = {
  MQTT_HOST: "MQTT_URL",
  MQTT_BROKER: "MQTT_URL",
  MQTT_SERVER: "MQTT_URL",
  MQTT_ADDRESS: "MQTT_URL",
  MQTT_PORT: "MQTT_URL",
  MQTT_USER: "MQTT_USERNAME",
  MQTT_PASS: "MQTT_PASSWORD",
  GATEWAY_HOST: "GATEWAY_URL",
  GATEWAY_IP: "GATEWAY_URL",
  GATEWAY_ADDRESS: "GATEWAY_URL",
  GATEWAY_PORT: "GATEWAY_URL",
};

/** Usual guesses that have no prefix of ours: in the environment they may be another program's, in our file they are meant for us. */
const GUESSES: Readonly<Record<string, SettingName>> = {
  BROKER: "MQTT_URL",
  BROKER_URL: "MQTT_URL",
  DATA_PATH: "DATA_DIR",
  STORE_DIR: "DATA_DIR",
  STORE_PATH: "DATA_DIR",
  LOG: "LOG_LEVEL",
  LOGLEVEL: "LOG_LEVEL",
  PORT: "HTTP_PORT",
  SITE: "SITE_FILE",
  SITE_PATH: "SITE_FILE",
  TIMEZONE: "GATEWAY_TIMEZONE",
};

/** Prefixes that only we use: any unknown name with one is worth a warning. */
const OUR_PREFIXES = ["GATEWAY_", "MQTT_", "SPARKPLUG_", "MODBUS_", "HTTP_", "ALARM_", "COLLECT_"];
/** What other programs read begins with one of them, too. */
const OTHERS_NAMES = ["HTTP_PROXY"];

export function gatherSettings(
  environment: Environment,
  cwd: string,
  envFile: string | null,
): GivenSettings {
  const faults: ConfigurationFault[] = [];
  const note = (fault: ConfigurationFault) => void faults.push(fault);
  const dotenv = environment[DOTENV_NAME] ?? ".env";
  const file = { path: resolve(cwd, envFile ?? dotenv), isNamed: envFile !== null };
  const { values: fromFile, warnings: lineWarnings } = readEnvFile(file, faults);
  const warnings: ConfigurationFault[] = [...lineWarnings];
  const values: Partial<Record<SettingName, string>> = {};
  const origins: Partial<Record<SettingName, Origin>> = {};
  const secretFiles: Partial<Record<SettingName, string>> = {};

  const lookUp = (name: string): { value: string; origin: Origin } | null => {
    const own = environment[name]?.trim();
    if (own) return { value: own, origin: "environment" };
    const fromEnvFile = fromFile[name]?.trim();
    return fromEnvFile ? { value: fromEnvFile, origin: envFile ?? dotenv } : null;
  };

  for (const name of SETTING_NAMES) {
    let direct = lookUp(name);
    let file = SETTINGS[name].secret ? lookUp(`${name}_FILE`) : null;
    // The environment takes precedence, in whichever of the two forms it has the secret.
    if (direct && file && direct.origin !== file.origin) {
      if (direct.origin === "environment") file = null;
      else direct = null;
    }
    const credential = SETTINGS[name].secret ? credentialPath(environment, name) : null;
    const tlsFile = isTlsFile(name)
      ? credentialPath(environment, name.replace(/_FILE$/, ""))
      : null;
    if (direct && file) {
      faults.push({
        place: name,
        problem: `both ${name} and ${name}_FILE are set`,
        remedy: "keep one of the two",
      });
      // So that nothing calls it missing as well.
      values[name] = direct.value;
      origins[name] = direct.origin;
    } else if (direct) {
      values[name] = direct.value;
      origins[name] = direct.origin;
    } else if (file) {
      const path = resolve(cwd, file.value);
      const secret = readSecretFile(`${name}_FILE`, path, name, note);
      secretFiles[name] = path;
      // A fault was noted; a placeholder keeps the missing-value fault from repeating it.
      values[name] = secret ?? "";
      origins[name] = `${name}_FILE`;
    } else if (credential) {
      values[name] = readSecretFile(`${name}_FILE`, credential, name, note) ?? "";
      secretFiles[name] = credential;
      origins[name] = "credential";
    } else if (tlsFile) {
      values[name] = tlsFile;
      origins[name] = "credential";
    }
  }
  for (const line of (environment[ORIGINS_NAME] ?? "").split("\n")) {
    const [, name = "", origin = ""] = /^([^=]+)=(.+)$/.exec(line) ?? [];
    if (isSettingName(name) && origins[name] === "environment") origins[name] = origin;
  }
  warnings.push(...strangeCredentials(environment));
  const names = new Set([...Object.keys(environment), ...Object.keys(fromFile)]);
  for (const name of [...names].sort()) {
    const warning =
      meantForUs(name, fromFile) ??
      unknownName(name) ??
      quoted(name, environment) ??
      commented(name, environment);
    if (warning) warnings.push(warning);
  }
  return { values, origins, secretFiles, faults, warnings };
}

/** Settings that are the path of a PEM file: the credential mqtt.key is MQTT_KEY_FILE. */
export function isTlsFile(name: string): boolean {
  return /_(CA|CERT|KEY)_FILE$/.test(name);
}

/**
 * MQTT_PASSWORD is the credential mqtt.password. Units name all of them; systemd creates files for those that exist.
 */
function credentialPath(environment: Environment, name: string): string | null {
  const directory = environment["CREDENTIALS_DIRECTORY"];
  if (!directory) return null;
  const path = join(directory, credentialName(name));
  return existsSync(path) ? path : null;
}

const credentialName = (setting: string) => setting.toLowerCase().replaceAll("_", ".");

/** The credential of every setting that has one, such as `mqtt.password` and `http.key`. */
export function credentialNames(): string[] {
  return SETTING_NAMES.flatMap((name) => {
    if (SETTINGS[name].secret) return [credentialName(name)];
    return isTlsFile(name) ? [credentialName(name.replace(/_FILE$/, ""))] : [];
  });
}

/** Names that look like those of settings but are not, and so have no effect. */
function strangeCredentials(environment: Environment): ConfigurationFault[] {
  const directory = environment["CREDENTIALS_DIRECTORY"];
  if (!directory || !existsSync(directory)) return [];
  const known = credentialNames();
  return readdirSync(directory).flatMap((name) => {
    const closest = known.includes(name) ? null : nearest(name, known);
    if (closest === null || editDistance(name, closest) > 2) return [];
    const problem = "is a credential that no setting reads";
    return [{ place: name, problem, remedy: `did you mean ${closest}?` }];
  });
}

function readEnvFile(
  { path, isNamed }: { readonly path: string; readonly isNamed: boolean },
  faults: ConfigurationFault[],
): EnvironmentLines {
  try {
    return parseEnvironmentLines(readFileSync(path, "utf8"), path);
  } catch (error) {
    const code = codeOrMessage(error);
    if (isNamed || (code !== "ENOENT" && code !== "ENOTDIR")) {
      faults.push({
        place: path,
        problem: fileTrouble(error),
        remedy: readRemedy(error, path, "use a readable file of NAME=value lines"),
      });
    }
    return { values: {}, warnings: [] };
  }
}

/** Shells and files of NAME=value lines take quotation marks off; `docker run --env-file` leaves them in the value. */
function quoted(name: string, environment: Environment): ConfigurationFault | null {
  if (!isSettingName(name) || !/^(["']).*\1$/s.test(environment[name]?.trim() ?? "")) return null;
  return {
    place: name,
    problem: "begins and ends with a quotation mark, which is part of the value",
    remedy: "remove both if they were meant for a shell (docker's --env-file keeps them)",
  };
}

/** In a `.env` file a comment may follow a value; systemd and docker make it part of the value. */
function commented(name: string, environment: Environment): ConfigurationFault | null {
  if (!isSettingName(name) || !/\s#/.test(environment[name] ?? "")) return null;
  return {
    place: name,
    problem: 'contains " #": what was meant as a comment behind the value is part of it',
    remedy: "put the comment on its own line",
  };
}

/** Names are in capitals. In the environment, the same name in small letters, or a guess, may belong to another program. */
function meantForUs(name: string, fromFile: Environment): ConfigurationFault | null {
  const known = GUESSES[name.toUpperCase()] ?? name.toUpperCase();
  const isOurs = isSettingName(known) || FILE_NAMES.includes(known);
  if (name === known || !isOurs || fromFile[name] === undefined) return null;
  return {
    place: name,
    problem: "is an unknown setting and has no effect",
    remedy: `did you mean ${known}?`,
  };
}

/** A name that looks like one of ours but is not. */
export function unknownName(name: string): ConfigurationFault | null {
  const known = [...SETTING_NAMES, ...FILE_NAMES, ...COLLECT_ENVIRONMENT];
  if (known.includes(name) || OTHERS_NAMES.includes(name)) return null;
  const isOurs = OUR_PREFIXES.some((prefix) => name.startsWith(prefix));
  // Other prefixes (DATA_, LOG_ …) are common, so only a near match is taken for a typing error.
  const slips = name.length < 8 ? -1 : name.length >= 12 ? 2 : 1;
  // Lengths first: most of an environment is not ours, and the distances to all names took milliseconds of each start.
  const isNear = (other: string) =>
    Math.abs(other.length - name.length) <= slips && editDistance(name, other) <= slips;
  if (!isOurs && !known.some(isNear)) return null;
  const closest = OTHER_WORDS[name] ?? nearest(name, known);
  if (closest === null || !(isOurs || isNear(closest))) return null;
  const bare = name.endsWith("_FILE") ? name.slice(0, -"_FILE".length) : "";
  if (isSettingName(bare)) {
    return {
      place: name,
      problem: `${bare} is not a secret and has no _FILE form`,
      remedy: `set ${bare} itself`,
    };
  }
  return {
    place: name,
    problem: "is an unknown setting and has no effect",
    remedy: `did you mean ${closest}?`,
  };
}
