/**
 * Rules of an uplinks file that the schema cannot express. They are checked even if the schema found faults; parts of
 * the wrong shape are left to the schema.
 */
import { resolve } from "node:path";
import { topicLevel } from "../core/topic-level.ts";
import { templateFaults } from "../core/topics/template.ts";
import {
  clientIdsOf,
  MAIN_UPLINK,
  PROFILES,
  type Profile,
  UPLINK_FORMATS,
} from "../core/uplink.ts";
import { checkTlsFiles, isLoopback, parseBrokers } from "./checks.ts";
import type { Note } from "./fault.ts";
import { allOf, type Fault, shown } from "./fault.ts";
import { fileWord } from "./secret-file.ts";
import type { UplinksContext } from "./uplinks-context.ts";
import { readCredentials } from "./uplinks-secrets.ts";
import { checkSelect } from "./uplinks-select.ts";

type Dict = Readonly<Record<string, unknown>>;
type Report = { readonly fault: Note; readonly warn: Note };

function dict(value: unknown): Dict | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Dict)
    : null;
}
const text = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;
const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];

export function checkUplinks(
  written: unknown,
  directory: string,
  context: UplinksContext,
): { readonly faults: readonly Fault[]; readonly warnings: readonly Fault[] } {
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  const report: Report = {
    fault: (fault) => void faults.push(fault),
    warn: (fault) => void warnings.push(fault),
  };
  const list: unknown = dict(written)?.["uplinks"];
  const uplinks = Array.isArray(list) ? list.map(dict) : [];
  const sessions = mainSessions(context);
  checkNames(uplinks, report);
  for (const [i, uplink] of uplinks.entries()) {
    if (uplink === null) continue;
    const place = `uplinks[${i}]`;
    const urls = checkAddress(uplink, place, report);
    checkLogin(uplink, place, directory, report, context);
    checkTls(uplink, place, directory, urls, report);
    checkCombinations(uplink, place, context, report);
    checkSelect(dict(uplink["select"]), place, context.site, report.warn);
    if (urls !== null) checkSessions(sessions, sessionsOf(uplink, place, urls, context), report);
  }
  checkPrefixes(sessions, report);
  const hasMain = context.main !== null || context.hasMainUrl === true;
  if (uplinks.length === 0 && Array.isArray(list) && !hasMain)
    report[context.mayBeEmpty ? "warn" : "fault"]({
      place: "uplinks",
      problem: "is empty, and there is no MQTT_URL: nothing would be published",
      remedy: "add an uplink, or set MQTT_URL",
    });
  return { faults, warnings };
}

function checkNames(uplinks: readonly (Dict | null)[], { fault }: Report): void {
  const seen = new Map<string, number>();
  for (const [i, uplink] of uplinks.entries()) {
    const name = text(uplink?.["name"]);
    if (name === undefined) continue;
    const place = `uplinks[${i}].name`;
    const folded = name.toLowerCase();
    const other = seen.get(folded);
    if (folded === MAIN_UPLINK)
      fault({
        place,
        problem: `${shown(name)} is the uplink that MQTT_URL describes`,
        remedy: "use another name",
      });
    else if (other !== undefined)
      fault({
        place,
        problem: `${shown(name)} is also the name of uplinks[${other}]`,
        remedy: "use a different name for each uplink (letter case does not count)",
      });
    else seen.set(folded, i);
  }
}

/** Its addresses; null if there is a fault. Their text is never repeated: it may contain a password. */
function checkAddress(uplink: Dict, place: string, { fault }: Report): readonly string[] | null {
  const url = text(uplink["url"]);
  if (!url) return null;
  const brokers = parseBrokers(`${place}.url`, url, fault);
  if (brokers === null) return null;
  if (brokers.username !== null || brokers.password !== null) {
    fault({
      place: `${place}.url`,
      problem: "contains a user name or password",
      remedy: "use username and passwordFile instead",
    });
  }
  return brokers.urls;
}

function checkLogin(
  uplink: Dict,
  place: string,
  directory: string,
  { fault }: Report,
  { pending }: UplinksContext,
): void {
  const given = (key: string) => uplink[key] !== undefined;
  if (given("username") && given("usernameFile"))
    fault({
      place: `${place}.usernameFile`,
      problem: "is set in addition to username",
      remedy: "keep one of the two",
    });
  if (
    uplink["version"] === 4 &&
    given("passwordFile") &&
    !given("username") &&
    !given("usernameFile")
  )
    fault({
      place: `${place}.passwordFile`,
      problem: "is set without a user name, which MQTT 3.1.1 does not allow",
      remedy: "set username too",
    });
  if (given("sasKeyFile") && uplink["profile"] !== "azure-iot")
    fault({
      place: `${place}.sasKeyFile`,
      problem: "has no effect without the profile azure-iot",
      remedy: "remove it",
    });
  else if (given("sasKeyFile") && given("passwordFile"))
    fault({
      place: `${place}.passwordFile`,
      problem: "is set in addition to sasKeyFile, from which the password is derived",
      remedy: "keep one of the two",
    });
  const file = (key: string) => {
    const path = text(uplink[key]);
    return path === undefined || path === "" ? {} : { [key]: path };
  };
  const files = { ...file("usernameFile"), ...file("passwordFile"), ...file("sasKeyFile") };
  readCredentials(files, place, directory, fault, pending);
}

function checkTls(
  uplink: Dict,
  place: string,
  directory: string,
  urls: readonly string[] | null,
  { fault, warn }: Report,
): void {
  const file = (key: string) => {
    const written = text(uplink[key]);
    if (!written) return undefined;
    const path = resolve(directory, written);
    return { name: `${place}.${key}`, path, word: fileWord(written, path) };
  };
  const ca = file("caFile");
  const cert = file("certFile");
  const key = file("keyFile");
  if ((cert === undefined) !== (key === undefined))
    fault({
      place: `${place}.${cert ? "keyFile" : "certFile"}`,
      problem: "is missing, but the other half of the client certificate is set",
      remedy: "set both certFile and keyFile, or neither",
    });
  checkTlsFiles({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }, fault);
  const readable = urls?.filter((url) => !/^(mqtts|wss):/.test(url)) ?? [];
  if (readable.length === 0) return;
  if (ca || cert)
    warn({
      place: `${place}.url`,
      problem: "is not a TLS address, so certificates have no effect",
      remedy: "use mqtts://",
    });
  else if (
    uplink["passwordFile"] !== undefined &&
    readable.some((url) => !isLoopback(new URL(url).hostname))
  )
    warn({
      place: `${place}.url`,
      problem: "sends the password unencrypted over the network",
      remedy: "use mqtts://",
    });
}

function checkCombinations(
  uplink: Dict,
  place: string,
  context: UplinksContext,
  { fault, warn }: Report,
): void {
  const formats = Array.isArray(uplink["formats"]) ? texts(uplink["formats"]) : ["json"];
  const has = (format: string) => formats.includes(format);
  const profile = text(uplink["profile"]) ?? "gateside";
  if (profile !== "gateside" && PROFILES.includes(profile as Profile) && !has("json"))
    fault({
      place: `${place}.profile`,
      problem: `${shown(profile)} is a profile of the format json, which is not among the formats`,
      remedy: "add json to the formats, or remove the profile",
    });
  const idle = (key: string, problem: string) =>
    warn({ place: `${place}.${key}`, problem, remedy: "remove it" });
  if (uplink["sparkplug"] !== undefined && !has("sparkplug"))
    idle("sparkplug", "has no effect without the format sparkplug");
  const topics = dict(uplink["topics"]) ?? {};
  for (const key of Object.keys(topics)) {
    if (key === "value" ? !has("plain") : !has("json") && !(key === "state" && has("plain")))
      idle(
        `topics.${key}`,
        `has no effect without the format ${key === "value" ? "plain" : "json"}`,
      );
  }
  if ((profile === "thingsboard" || profile === "azure-iot") && Object.keys(topics).length > 0)
    idle("topics", `has no effect with the profile ${profile}, whose platform names the topics`);
  const templates = Object.fromEntries(
    Object.entries(topics).filter(([, value]) => typeof value === "string"),
  );
  for (const { name, ...faulty } of templateFaults(templates))
    fault({ place: `${place}.topics.${name}`, ...faulty });
  if (profile === "azure-iot" && uplink["version"] === 5)
    fault({
      place: `${place}.version`,
      problem: "Azure IoT Hub does not support MQTT 5",
      remedy: "use 4, or remove it",
    });
  if (profile === "azure-iot" && has("plain"))
    fault({
      place: `${place}.formats`,
      problem: "plain values need topics of their own, which Azure IoT Hub does not have",
      remedy: "remove plain",
    });
  if (uplink["requireSubscriber"] === true && uplink["version"] === 4)
    idle("requireSubscriber", "has no effect with MQTT 3.1.1");
  if (uplink["commands"] === true && !context.commandsEnabled)
    warn({
      place: `${place}.commands`,
      problem: "has no effect while COMMANDS_ENABLED is false",
      remedy: "set COMMANDS_ENABLED=true, or remove it",
    });
  if (dict(uplink["sparkplug"])?.["group"] === "STATE")
    fault({
      place: `${place}.sparkplug.group`,
      problem: "STATE is a topic level that Sparkplug reserves for hosts",
      remedy: "choose another group",
    });
}

/** Conflicts between uplinks on one broker. */
interface Session {
  readonly place: string;
  readonly urls: readonly string[];
  readonly clientIds: readonly string[];
  readonly node: string | null;
  /** Null if it publishes no topics of ours. */
  readonly prefix: string | null;
}

function mainSessions({ main }: UplinksContext): Session[] {
  if (main === null) return [];
  const { urls, formats, clientId, sparkplug, topicPrefix } = main;
  return [
    {
      place: MAIN_UPLINK,
      urls,
      clientIds: idsOf(clientId, formats),
      node: sparkplug && `${sparkplug.group}/${sparkplug.node}`,
      prefix: formats.some((format) => format !== "sparkplug") ? topicPrefix : null,
    },
  ];
}

function sessionsOf(
  uplink: Dict,
  place: string,
  urls: readonly string[],
  { site }: UplinksContext,
): Session {
  const formats = Array.isArray(uplink["formats"]) ? texts(uplink["formats"]) : ["json"];
  const name = topicLevel(site?.site ?? "");
  const clientId = text(uplink["clientId"]) ?? `gateside-${name}-${String(uplink["name"])}`;
  const sparkplug = dict(uplink["sparkplug"]);
  const group = text(sparkplug?.["group"]) ?? name;
  const node = text(sparkplug?.["node"]) ?? "gateside";
  const hasTopics = formats.some((format) => format !== "sparkplug");
  return {
    place,
    urls,
    clientIds: idsOf(clientId, formats),
    node: formats.includes("sparkplug") ? `${group}/${node}` : null,
    prefix: hasTopics ? (text(uplink["topicPrefix"]) ?? "gateside") : null,
  };
}

function idsOf(clientId: string, formats: readonly string[]): string[] {
  const known = UPLINK_FORMATS.filter((format) => formats.includes(format));
  return Object.values(clientIdsOf({ clientId, formats: known })).filter((id) => id !== null);
}

/** The broker of a URL in any spelling: host and port, the default port filled in. */
function brokerOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  const ports: Readonly<Record<string, string>> = {
    "mqtt:": "1883",
    "mqtts:": "8883",
    "ws:": "80",
    "wss:": "443",
  };
  return `${hostname.toLowerCase()}:${port || ports[protocol]}`;
}

function checkSessions(others: Session[], own: Session, { fault }: Report): void {
  for (const other of others) {
    if (!shareBroker(own, other)) continue;
    const id = own.clientIds.find((clientId) => other.clientIds.includes(clientId));
    if (id !== undefined)
      fault({
        place: `${own.place}.clientId`,
        problem: `${shown(id)} is also a client id of ${other.place} at the same broker, so each session would end the other`,
        remedy: "use a different client id for each",
      });
    if (own.node !== null && own.node === other.node)
      fault({
        place: `${own.place}.sparkplug`,
        problem: `${shown(own.node)} is also the edge node of ${other.place} at the same broker`,
        remedy: "use a different group or node for each",
      });
  }
  others.push(own);
}

const shareBroker = (a: Session, b: Session) => {
  const brokers = new Set(a.urls.map(brokerOf));
  return b.urls.some((url) => brokers.has(brokerOf(url)));
};

/** One warning for all uplinks that share a broker and prefix. */
function checkPrefixes(sessions: readonly Session[], { warn }: Report): void {
  const warned = new Set<Session>();
  for (const [i, first] of sessions.entries()) {
    if (first.prefix === null || warned.has(first)) continue;
    const others = sessions
      .slice(i + 1)
      .filter((one) => one.prefix === first.prefix && !warned.has(one) && shareBroker(first, one));
    const [second] = others;
    if (second === undefined) continue;
    for (const one of others) warned.add(one);
    const places = [first, ...others.slice(1)].map(({ place }) => place);
    warn({
      place: `${second.place}.topicPrefix`,
      problem: `${shown(first.prefix)} is also the prefix of ${allOf(places)} at the same broker, so ${others.length === 1 ? "both" : "all"} publish agent/state and the like there`,
      remedy: "use a different topicPrefix for each",
    });
  }
}
