/**
 * Settings of `gateside collect` and `gateside fleet`: flags first, then COLLECT_* from the environment, secrets also
 * by NAME_FILE.
 */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { withSchema } from "../core/addresses/database-url.ts";
import type { CollectOptions } from "../core/collect-options.ts";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import { fileTrouble } from "../lib/file-trouble.ts";
import { checkFrom, checkTo } from "./collect-addresses.ts";
import {
  COLLECT_FILES,
  COLLECT_NAMES,
  COLLECT_SCHEMA,
  COLLECT_SECRETS,
  type CollectFlag,
} from "./collect-names.ts";
import { unknownName } from "./environment.ts";
import { type Environment } from "./environment-type.ts";
import { shown } from "./fault.ts";
import { expectation, type NumberSpec } from "./setting-spec.ts";
import { BROKER_SETTINGS } from "./settings-broker.ts";
import { SERVICE_SETTINGS } from "./settings-services.ts";

export interface CollectSettings extends CollectOptions {
  readonly logLevel: string;
}

/** As a box has them. */
const { RECONNECT_SPREAD_S } = BROKER_SETTINGS;
const { LOG_LEVEL } = SERVICE_SETTINGS;
const KEEP_DAYS = {
  type: "integer",
  minimum: 1,
  maximum: 36_525,
  doc: "Days to keep; without it, everything is kept.",
} as const;
const KEEP_HOURS_DAYS = 3650;
/** The host may be omitted: then only this machine can read the metrics. */
const METRICS = /^(?:(?<host>\[[0-9a-f:.]+\]|[^:[\]]+):)?(?<port>\d{1,5})$/i;

export interface CollectPlace {
  readonly env: Environment;
  readonly cwd: string;
  /** The flag's value, or null if it is not set. */
  flag(name: CollectFlag): string | null;
  /** The command's own name for the database flag, if it differs. */
  readonly databaseFlag?: string;
  /** Settings that this command requires. */
  readonly required: readonly ("from" | "to")[];
}

/** Every fault at once; settings are null if there are any. No fault repeats a secret. */
export function loadCollectSettings(place: CollectPlace): {
  readonly settings: CollectSettings | null;
  readonly faults: readonly ConfigurationFault[];
  /** Misspelt names, and a queue's name that another group might have. */
  readonly warnings: readonly ConfigurationFault[];
} {
  const faults: ConfigurationFault[] = [];
  const warnings = Object.keys(place.env)
    .filter((name) => name.startsWith("COLLECT_"))
    .map(unknownName)
    .filter((warning) => warning !== null);
  const text = (name: CollectFlag): string | null =>
    place.flag(name) ?? fromEnvironment(place, name, faults);
  const from = (text("from") ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  checkFrom(from, place.required.includes("from"), faults);
  const to = text("to") ?? "";
  const isRequired = place.required.includes("to");
  checkTo(
    to,
    { flag: place.databaseFlag ?? "to", place: placeOf(place, "to"), isRequired },
    faults,
  );
  const group = text("group") ?? "gateside";
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(group))
    faults.push({
      place: placeOf(place, "group"),
      problem: "is not a name of letters, digits, _ . and - (64 at most)",
      remedy: "use a short name such as gateside",
    });
  const prefix = text("prefix") ?? "gateside";
  if (prefix === "" || /[+#\0]|^\/|\/$|\/\/|^\$/.test(prefix))
    faults.push({
      place: placeOf(place, "prefix"),
      problem: "is not the beginning of a topic",
      remedy: "use the boxes' MQTT_TOPIC_PREFIX, such as gateside or plants/gateside",
    });
  checkQueue(group, prefix, from, place, faults, warnings);
  const topic = text("topic") ?? "{prefix}/{site}/#";
  if (!isTopicPattern(topic))
    faults.push({
      place: placeOf(place, "topic"),
      problem: `${JSON.stringify(topic)} is not a pattern of the boxes' topics`,
      remedy:
        "use levels of text, + and {prefix}, {site} once as its own level, and # at the end, such as {prefix}/+/{site}/#",
    });
  const days = (flag: "keep-days" | "keep-hours-days") =>
    numberOf(placeOf(place, flag), text(flag) ?? String(KEEP_HOURS_DAYS), KEEP_DAYS, faults);
  const settings: CollectSettings = {
    from,
    to: withSchema(to, place.env[COLLECT_SCHEMA]?.trim()),
    group,
    prefix,
    topic,
    metrics: metricsOf(text("metrics"), place, faults),
    keepDays: text("keep-days") === null ? null : days("keep-days"),
    keepHoursDays: days("keep-hours-days"),
    reconnectSpreadS: numberOf(
      "RECONNECT_SPREAD_S",
      place.env["RECONNECT_SPREAD_S"]?.trim() || String(RECONNECT_SPREAD_S.default),
      RECONNECT_SPREAD_S,
      faults,
    ),
    tls: {
      ca: file(place, COLLECT_FILES.ca, faults),
      cert: file(place, COLLECT_FILES.cert, faults),
      key: file(place, COLLECT_FILES.key, faults),
    },
    logLevel: logLevel(place.env, faults),
  };
  return { settings: faults.length === 0 ? settings : null, faults, warnings };
}

/**
 * Over AMQP, group and prefix are the queue's name, joined by a hyphen, without the prefix `gateside`: collectors of
 * group `a-b` and prefix `c` and those of group `a` and prefix `b-c` would take each other's messages.
 */
function checkQueue(
  group: string,
  prefix: string,
  from: readonly string[],
  place: CollectPlace,
  faults: ConfigurationFault[],
  warnings: ConfigurationFault[],
): void {
  const at = group.indexOf("-");
  if (at < 0 || !from.some((url) => /^amqps?:/i.test(url))) return;
  const hasOwnPrefix = prefix !== "gateside";
  const otherPrefix = group.slice(at + 1) + (hasOwnPrefix ? `-${prefix}` : "");
  const fault = {
    place: placeOf(place, "group"),
    problem: `over AMQP, group ${group} ${hasOwnPrefix ? `with prefix ${prefix} ` : ""}has the same queue as group ${group.slice(0, at)} with prefix ${otherPrefix}`,
    remedy: "use a group without -",
  };
  // With the default prefix such queues exist since 0.2.
  (hasOwnPrefix ? faults : warnings).push(fault);
}

function isTopicPattern(topic: string): boolean {
  const levels = topic.split("/");
  if (levels.length < 2 || levels.at(-1) !== "#" || /\0|^\$/.test(topic)) return false;
  const others = levels.slice(0, -1).map((level) => level.replace("{prefix}", "prefix"));
  if (others.filter((level) => level === "{site}").length > 1) return false;
  return others.every(
    (level) => level === "+" || level === "{site}" || (level !== "" && !/[+#{}]/.test(level)),
  );
}

function fromEnvironment(
  { env, cwd }: CollectPlace,
  flag: CollectFlag,
  faults: ConfigurationFault[],
): string | null {
  const name = COLLECT_NAMES[flag];
  const own = env[name]?.trim();
  const path = COLLECT_SECRETS.includes(flag) ? env[`${name}_FILE`]?.trim() : undefined;
  if (own && path) {
    faults.push({
      place: name,
      problem: `both ${name} and ${name}_FILE are set`,
      remedy: "keep one of the two",
    });
    return own;
  }
  if (path) return readText(`${name}_FILE`, resolve(cwd, path), faults)?.trim() ?? "";
  return own || null;
}

/** Where a value was given: the flag, or the name in the environment. */
function placeOf(place: CollectPlace, flag: CollectFlag): string {
  const given = flag === "to" ? (place.databaseFlag ?? flag) : flag;
  return place.flag(flag) === null ? COLLECT_NAMES[flag] : `--${given}`;
}

function metricsOf(
  text: string | null,
  place: CollectPlace,
  faults: ConfigurationFault[],
): CollectSettings["metrics"] {
  if (text === null || text === "off") return null;
  const { host, port } = METRICS.exec(text)?.groups ?? {};
  if (port !== undefined && Number(port) <= 65_535)
    return { host: host?.replace(/^\[(.*)\]$/, "$1") ?? "127.0.0.1", port: Number(port) };
  faults.push({
    place: placeOf(place, "metrics"),
    problem: `${JSON.stringify(text)} is not a port`,
    remedy: "use a port such as 9464 (this machine only), or a host and port such as 0.0.0.0:9464",
  });
  return null;
}

/** What is wrong is returned all the same: with a fault, no settings are. */
function numberOf(
  place: string,
  text: string,
  spec: NumberSpec,
  faults: ConfigurationFault[],
): number {
  const value = Number(text);
  const isWhole = spec.type === "number" || /^\d+$/.test(text);
  if (!(isWhole && value >= spec.minimum && value <= spec.maximum))
    faults.push({ place, problem: `${shown(text)} is not allowed`, remedy: expectation(spec) });
  return value;
}

function logLevel(env: Environment, faults: ConfigurationFault[]): string {
  const level = env["LOG_LEVEL"]?.trim() || LOG_LEVEL.default;
  const problem = `${shown(level)} is not allowed`;
  if (!LOG_LEVEL.choices.some((choice) => choice === level))
    faults.push({ place: "LOG_LEVEL", problem, remedy: expectation(LOG_LEVEL) });
  return level;
}

function file(
  { env, cwd }: CollectPlace,
  name: string,
  faults: ConfigurationFault[],
): string | null {
  const path = env[name]?.trim();
  return path ? readText(name, resolve(cwd, path), faults) : null;
}

function readText(place: string, path: string, faults: ConfigurationFault[]): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    faults.push({
      place,
      problem: `${path} ${fileTrouble(error)}`,
      remedy: "use a file that this user can read",
    });
    return null;
  }
}
