import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import type { JsonObject } from "../core/record.ts";
import { normalCode } from "../core/sensor.ts";
import { topicLevel } from "../core/topics/topic-level.ts";
import { shown } from "./fault.ts";

export function checkCodes(
  sensors: readonly (JsonObject | null)[],
  faults: ConfigurationFault[],
): void {
  const byCode = new Map<string, number>();
  const byLevel = new Map<string, number>();
  for (const [i, sensor] of sensors.entries()) {
    const code = sensor?.["code"];
    if (typeof code !== "string") continue;
    const place = `sensors[${i}].code`;
    const level = topicLevel(code.trim());
    if (level === "agent") {
      faults.push({
        place,
        problem: `${shown(code)} is the topic level of the agent itself`,
        remedy: "use the sensor's serial number",
      });
    }
    const twin = byCode.get(normalCode(code));
    const alias = byLevel.get(level);
    if (twin !== undefined) {
      faults.push({
        place,
        problem: `${shown(code)} is the same sensor as sensors[${twin}]${nameOf(sensors[twin])}`,
        remedy:
          "use another serial number, or keep one entry with all its kinds (leading zeros do not count)",
      });
    } else if (alias !== undefined) {
      faults.push({
        place,
        problem: `${shown(code)} would share the topic ${shown(level)} with sensors[${alias}]`,
        remedy: "use codes that differ in more than + # /",
      });
    }
    if (twin === undefined) byCode.set(normalCode(code), i);
    if (alias === undefined) byLevel.set(level, i);
  }
}

/** Its name, for people who do not count the entries of the file. */
function nameOf(sensor: JsonObject | null | undefined): string {
  const name = sensor?.["name"];
  return typeof name === "string" ? `, ${shown(name)}` : "";
}

/** Names that topics, or a broker, cannot carry unchanged: subscribers must know the other spelling. */
export function checkTopicLevels(
  site: unknown,
  sensors: readonly (JsonObject | null)[],
  warnings: ConfigurationFault[],
): void {
  checkDots(site, sensors, warnings);
  checkSigns(site, sensors, warnings);
  const isRespelled = (text: unknown): text is string =>
    typeof text === "string" && topicLevel(text) !== text;
  const respelled = (text: string) =>
    `${shown(text)} appears in topics as ${shown(topicLevel(text))}, because topic levels must not contain + # / or control characters`;
  const remedy = "subscribe to that, or use a name without these characters";
  if (isRespelled(site)) warnings.push({ place: "site", problem: respelled(site), remedy });
  const codes = sensors.map((sensor) => sensor?.["code"]);
  const first = codes.findIndex(isRespelled);
  const code = codes[first];
  if (!isRespelled(code)) return;
  const others = codes.filter(isRespelled).length - 1;
  const more = others === 0 ? "" : `; so do ${others} more`;
  warnings.push({ place: `sensors[${first}].code`, problem: `${respelled(code)}${more}`, remedy });
}

/** What looks like another name and is none: subscribers and the gateway compare the characters. */
function checkSigns(
  site: unknown,
  sensors: readonly (JsonObject | null)[],
  warnings: ConfigurationFault[],
): void {
  for (const [i, name] of [site, ...sensors.map((one) => one?.["code"])].entries()) {
    if (typeof name !== "string") continue;
    const isHidden = /[\p{Cf}\p{Zl}\p{Zp}]|[^\S ]/u.test(name.trim());
    if (!isHidden && name === name.normalize("NFC")) continue;
    warnings.push({
      place: i === 0 ? "site" : `sensors[${i - 1}].code`,
      problem: isHidden
        ? `${shown(name)} contains a character that cannot be seen`
        : `${shown(name)} is written with separate accents, which look the same and are not`,
      remedy: "type it anew instead of copying it",
    });
  }
}

/** RabbitMQ's routing keys separate levels by dots, and it turns every dot back into a slash. */
function checkDots(
  site: unknown,
  sensors: readonly (JsonObject | null)[],
  warnings: ConfigurationFault[],
): void {
  const names = [site, ...sensors.map((one) => one?.["code"])];
  const isDotted = (name: unknown) => typeof name === "string" && name.includes(".");
  const first = names.findIndex(isDotted);
  if (first === -1) return;
  const others = names.filter(isDotted).length - 1;
  const more = others === 0 ? "" : `, and ${others} more names`;
  warnings.push({
    place: first === 0 ? "site" : `sensors[${first - 1}].code`,
    problem: `${shown(String(names[first]))}${more}: RabbitMQ cannot tell a dot in a name from the end of a topic level`,
    remedy:
      "with RabbitMQ, use - or _ instead; its MQTT subscribers get a / for each dot (`gateside collect` is not affected)",
  });
}

/** Hosts publish their state on spBv1.0/STATE/…. */
export function checkGroup(site: unknown, faults: ConfigurationFault[]): void {
  if (site !== "STATE") return;
  faults.push({
    place: "site",
    problem:
      "STATE is a topic level that Sparkplug reserves for hosts, and the site is its group id",
    remedy: "set SPARKPLUG_GROUP_ID, or rename the site",
  });
}

/**
 * Codes are device ids: topic levels as they are, and hosts with case-insensitive stores treat two spellings as one.
 */
export function checkDeviceIds(
  sensors: readonly (JsonObject | null)[],
  faults: ConfigurationFault[],
): void {
  const byId = new Map<string, { readonly code: string; readonly index: number }>();
  for (const [index, sensor] of sensors.entries()) {
    const code = sensor?.["code"];
    if (typeof code !== "string") continue;
    const place = `sensors[${index}].code`;
    const other = byId.get(code.toLowerCase());
    if (topicLevel(code) !== code) {
      faults.push({
        place,
        problem: `${shown(code)} contains + # / or a control character, which Sparkplug does not allow`,
        remedy: "use a code without them, or remove sparkplug from PUBLISH_FORMATS",
      });
    } else if (other !== undefined && other.code !== code) {
      faults.push({
        place,
        problem: `${shown(code)} differs from sensors[${other.index}] only in letter case, which Sparkplug hosts may not distinguish`,
        remedy:
          "use codes that differ in more than letter case, or remove sparkplug from PUBLISH_FORMATS",
      });
    }
    if (other === undefined) byId.set(code.toLowerCase(), { code, index });
  }
}
