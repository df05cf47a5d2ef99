/**
 * Rules of an uplinks file that the schema cannot express. They are checked even if the schema found faults; parts of
 * the wrong shape are left to the schema.
 */
import { resolve } from "node:path";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import type { JsonObject } from "../core/record.ts";
import { templateFaults } from "../core/topics/template.ts";
import { MAIN_UPLINK, PROFILES, UPLINK_FORMATS } from "../core/uplink.ts";
import { isLoopback, parseBrokers, parseProxy } from "./checks.ts";
import { shown } from "./fault.ts";
import { FORMATS } from "./formats.ts";
import { BUILT_PROFILES, hasFixedTopics, profileOf } from "./profiles.ts";
import { fileWord } from "./secret-file.ts";
import { checkTlsFiles } from "./tls-files.ts";
import { type ReportFault, type UplinksContext } from "./uplinks-context.ts";
import { checkLogin } from "./uplinks-identity.ts";
import { checkSelect } from "./uplinks-select.ts";
import { checkPrefixes, checkSessions, mainSessions, sessionsOf } from "./uplinks-sessions.ts";
import { dict, formatsOf, text } from "./written-parts.ts";

export function checkUplinks(
  written: unknown,
  directory: string,
  context: UplinksContext,
): {
  readonly faults: readonly ConfigurationFault[];
  readonly warnings: readonly ConfigurationFault[];
} {
  const faults: ConfigurationFault[] = [];
  const warnings: ConfigurationFault[] = [];
  const report: ReportFault = {
    fault: (fault) => void faults.push(fault),
    warn: (fault) => void warnings.push(fault),
  };
  const list: unknown = dict(written)?.["uplinks"];
  // One that is not used may lack what it needs.
  const used = (uplink: JsonObject | null) => (uplink?.["enabled"] === false ? null : uplink);
  const uplinks = Array.isArray(list) ? list.map((one) => used(dict(one))) : [];
  const sessions = mainSessions(context);
  checkNames(uplinks, report);
  for (const [i, uplink] of uplinks.entries()) {
    if (uplink === null) continue;
    const place = `uplinks[${i}]`;
    const urls = checkAddress(uplink, place, report);
    checkLogin(uplink, place, directory, report, context);
    checkTls(uplink, place, directory, urls, report);
    checkWay(uplink, place, urls, report);
    checkCombinations(uplink, place, context, report);
    checkSelect(dict(uplink["select"]), place, context.site, report.warn);
    if (urls !== null) checkSessions(sessions, sessionsOf(uplink, place, urls, context), report);
  }
  checkPrefixes(sessions, report.warn);
  const hasMain = context.main !== null || context.hasMainUrl === true;
  if (uplinks.length === 0 && Array.isArray(list) && !hasMain)
    report[context.mayBeEmpty ? "warn" : "fault"]({
      place: "uplinks",
      problem: "is empty, and there is no MQTT_URL: nothing would be published",
      remedy: "add an uplink, or set MQTT_URL",
    });
  return { faults, warnings };
}

function checkNames(uplinks: readonly (JsonObject | null)[], { fault }: ReportFault): void {
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
function checkAddress(
  uplink: JsonObject,
  place: string,
  { fault }: ReportFault,
): readonly string[] | null {
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

/** What stands between the box and the broker. */
function checkWay(
  uplink: JsonObject,
  place: string,
  urls: readonly string[] | null,
  { fault, warn }: ReportFault,
): void {
  const proxy = text(uplink["proxy"]);
  const parsed = proxy ? parseProxy(`${place}.proxy`, proxy, fault) : null;
  if (parsed !== null && (parsed.username !== null || parsed.password !== null))
    fault({
      place: `${place}.proxy`,
      problem: "contains a user name or password",
      remedy: "use proxyAuthFile instead",
    });
  if (uplink["proxyAuthFile"] !== undefined && uplink["proxy"] === undefined)
    fault({
      place: `${place}.proxyAuthFile`,
      problem: "has no effect without proxy",
      remedy: "set proxy too, or remove it",
    });
  if (uplink["alpn"] !== undefined && urls?.every((url) => !url.startsWith("mqtts:")))
    warn({
      place: `${place}.alpn`,
      problem: "has no effect on an address other than mqtts://",
      remedy: "remove it",
    });
}

function checkTls(
  uplink: JsonObject,
  place: string,
  directory: string,
  urls: readonly string[] | null,
  { fault, warn }: ReportFault,
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
  uplink: JsonObject,
  place: string,
  context: UplinksContext,
  { fault, warn }: ReportFault,
): void {
  const formats = formatsOf(uplink);
  const has = (format: string) => formats.includes(format);
  for (const format of UPLINK_FORMATS.filter((one) => has(one) && !FORMATS.includes(one)))
    fault({
      place: `${place}.formats`,
      problem: `${shown(format)} is not built into this agent`,
      remedy: `use one or more of ${FORMATS.join(", ")}`,
    });
  const profile = text(uplink["profile"]) ?? "gateside";
  if (PROFILES.some((one) => one === profile) && !BUILT_PROFILES.some((one) => one === profile))
    fault({
      place: `${place}.profile`,
      problem: `${shown(profile)} is not built into this agent`,
      remedy: `use one of ${BUILT_PROFILES.join(", ")}`,
    });
  if (profile !== "gateside" && PROFILES.some((one) => one === profile) && !has("json"))
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
    if (key === "machine" && uplink["machines"] !== true)
      idle("topics.machine", "has no effect without machines");
    else if (
      key === "value"
        ? !has("plain")
        : !has("json") && !(["state", "machine"].includes(key) && has("plain"))
    )
      idle(
        `topics.${key}`,
        `has no effect without the format ${key === "value" ? "plain" : "json"}`,
      );
  }
  if (hasFixedTopics(profile) && Object.keys(topics).length > 0)
    idle("topics", `has no effect with the profile ${profile}, whose platform names the topics`);
  const templates = Object.fromEntries(
    Object.entries(topics).filter(([, value]) => typeof value === "string"),
  );
  for (const { name, ...faulty } of templateFaults(templates))
    fault({ place: `${place}.topics.${name}`, ...faulty });
  const { clientIds } = sessionsOf(uplink, place, [], context);
  profileOf(profile)?.check?.(uplink, place, clientIds, fault);
  const select = dict(uplink["select"]) ?? {};
  const beside = ["kinds", "sensors", "values"].find((key) => {
    const list = select[key];
    return Array.isArray(list) && list.length > 0;
  });
  if (uplink["machines"] === true && beside !== undefined)
    idle("machines", `has no effect with select.${beside}: machines have none`);
  if (uplink["machines"] === true && formats.every((format) => format === "sparkplug"))
    warn({
      place: `${place}.machines`,
      problem: "has no effect with the format sparkplug alone",
      remedy: "use sparkplug.machines",
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
