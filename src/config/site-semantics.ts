/**
 * Rules of a site file that the schema cannot express. They are checked even if the schema found faults, so that an
 * operator sees all of them at once; parts of the wrong shape are left to the schema.
 */

import type { ConfigurationFault } from "../core/configuration.ts";
import type { JsonObject } from "../core/record.ts";
import { normalCode, POLLED_KINDS, type PolledKind } from "../core/sensor.ts";
import { topicLevel } from "../core/topic-level.ts";
import { shown } from "./fault.ts";
import { dict, list, roughSensor } from "./site-parts.ts";
import { checkAlarms } from "./site-semantics-alarms.ts";
import { withRoughBands } from "./site-semantics-bands.ts";
import { checkMachines } from "./site-semantics-machines.ts";
import { checkReplaced } from "./site-semantics-replaced.ts";
import { checkStateReads } from "./site-semantics-state.ts";

export interface SemanticFaults {
  readonly faults: readonly ConfigurationFault[];
  readonly warnings: readonly ConfigurationFault[];
}
/** Channel names by kind, and the members that apply there (besides `name`). */
const CHANNELS: Readonly<
  Record<PolledKind, { word: string; count: number; members: readonly string[] }>
> = {
  accel: { word: "channel", count: 3, members: ["axis"] },
  current: { word: "current", count: 3, members: ["clamp"] },
  currentV2: { word: "current", count: 4, members: ["clamp"] },
  // The clamp is a property of the channel whatever is read from it, although ampere-hours need no factor.
  accCurrent: { word: "current", count: 4, members: ["clamp"] },
  loop: { word: "channel", count: 4, members: ["unit", "low", "high", "resistorOhm"] },
  dryContact: { word: "input", count: 4, members: ["invert"] },
  rpm: { word: "", count: 0, members: [] },
};
const AXES = ["H", "V", "A"];

/** Sparkplug's own rules are checked if that format is enabled. */
export interface SemanticOptions {
  readonly sparkplug?: boolean;
  readonly isSparkplugGroup?: boolean;
}

export function checkSemantics(written: unknown, options: SemanticOptions): SemanticFaults {
  const faults: ConfigurationFault[] = [];
  const warnings: ConfigurationFault[] = [];
  const site = dict(written);
  const sensors = Array.isArray(site?.["sensors"]) ? site["sensors"].map(dict) : [];
  checkCodes(sensors, faults);
  checkTopicLevels(site?.["site"], sensors, warnings);
  if (options.sparkplug) {
    if (options.isSparkplugGroup) checkGroup(site?.["site"], faults);
    checkDeviceIds(sensors, faults);
  }
  for (const [i, sensor] of sensors.entries()) {
    if (sensor) checkSensor(sensor, `sensors[${i}]`, faults, warnings);
  }
  checkReplaced(sensors, faults);
  checkLocations(sensors, warnings);
  const machines = list(site?.["machines"]);
  const known = sensors
    .map(roughSensor)
    .filter((sensor) => sensor !== null)
    .map((sensor) => withRoughBands(sensor, machines));
  checkMachines(machines, known, { faults, warnings });
  checkAlarms(list(site?.["alarms"]), known, machines, { faults, warnings });
  return { faults, warnings };
}

function checkCodes(sensors: readonly (JsonObject | null)[], faults: ConfigurationFault[]): void {
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
function checkTopicLevels(
  site: unknown,
  sensors: readonly (JsonObject | null)[],
  warnings: ConfigurationFault[],
): void {
  checkDots(site, sensors, warnings);
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

/** RabbitMQ's routing keys separate levels by dots, and it turns every dot back into a slash. */
function checkDots(
  site: unknown,
  sensors: readonly (JsonObject | null)[],
  warnings: ConfigurationFault[],
): void {
  const names = [["site", site], ...sensors.map((one, i) => [`sensors[${i}].code`, one?.["code"]])];
  const dotted = names.filter(([, name]) => typeof name === "string" && name.includes("."));
  const [first] = dotted;
  if (first === undefined) return;
  const more = dotted.length === 1 ? "" : `, and ${dotted.length - 1} more names`;
  warnings.push({
    place: String(first[0]),
    problem: `${shown(String(first[1]))}${more}: RabbitMQ cannot tell a dot in a name from the end of a topic level`,
    remedy:
      "with RabbitMQ, use - or _ instead; its MQTT subscribers get a / for each dot (`gateside collect` is not affected)",
  });
}

/** Hosts publish their state on spBv1.0/STATE/…. */
function checkGroup(site: unknown, faults: ConfigurationFault[]): void {
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
function checkDeviceIds(
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

function checkSensor(
  sensor: JsonObject,
  place: string,
  faults: ConfigurationFault[],
  warnings: ConfigurationFault[],
): void {
  checkStateReads(sensor, place, faults);
  const named: unknown = sensor["kinds"] ?? [];
  if (!Array.isArray(named)) return;
  if (named.length === 0 && list(sensor["stateReads"]).length === 0) {
    faults.push({
      place: `${place}.kinds`,
      problem: "names no kind of reading, and there are no stateReads: nothing would be read",
      remedy: `add "kinds", such as ["rpm"], or "stateReads"`,
    });
    return;
  }
  const kinds = POLLED_KINDS.filter((kind) => named.includes(kind));
  // A misspelt kind is a schema fault; what its channels would be is then unknown.
  const isComplete = named.every((name) => POLLED_KINDS.some((kind) => kind === name));
  const channels = dict(sensor["channels"]);
  checkPresence(kinds, channels, place, faults);
  for (const [name, value] of Object.entries(channels ?? {})) {
    const channel = dict(value);
    const isUnknown = !isComplete && !kinds.some((kind) => fits(name, kind));
    if (channel && !isUnknown && /^(channel|current|input)[1-4]$/.test(name))
      checkChannel(name, channel, kinds, `${place}.channels.${name}`, faults, warnings);
  }
  if (kinds.includes("accel") && channels) checkAxes(channels, place, warnings);
  checkClass(sensor, kinds, place, faults, warnings);
}

/** Kinds that publish nothing without channels, and channel lists that leave a kind without any. */
function checkPresence(
  kinds: readonly PolledKind[],
  channels: JsonObject | null,
  place: string,
  faults: ConfigurationFault[],
): void {
  for (const kind of kinds) {
    const needs = NEEDS[kind];
    if (needs === undefined) continue;
    const { word, count } = CHANNELS[kind];
    // If accel shares a loop channel, only loop members make it one.
    const isShared = kind === "loop" && kinds.includes("accel");
    const hasOne = Object.entries(channels ?? {}).some(
      ([name, value]) =>
        fits(name, kind) && !(isShared && fits(name, "accel") && !hasLoopFields(dict(value))),
    );
    if (!hasOne) {
      faults.push({
        place: `${place}.channels`,
        problem: `lists no channel for ${kind}, so nothing would be published for it`,
        remedy: `add ${word}1${count > 1 ? ` to ${word}${count}` : ""}, each with ${needs}`,
      });
    }
  }
}
const NEEDS: Readonly<Partial<Record<PolledKind, string>>> = {
  current: "a clamp",
  currentV2: "a clamp",
  loop: "unit, low and high",
};

function fits(name: string, kind: PolledKind): boolean {
  const { word, count } = CHANNELS[kind];
  const n = Number(name.slice(-1));
  return word !== "" && name.slice(0, -1) === word && n <= count;
}

function checkChannel(
  name: string,
  channel: JsonObject,
  kinds: readonly PolledKind[],
  place: string,
  faults: ConfigurationFault[],
  warnings: ConfigurationFault[],
): void {
  const users = kinds.filter((kind) => fits(name, kind));
  if (users.length === 0) {
    const usable = kinds
      .filter((kind) => CHANNELS[kind].count > 0)
      .map((kind) => `${CHANNELS[kind].word}1…${CHANNELS[kind].count} (${kind})`);
    faults.push({
      place,
      problem: `fits none of the sensor's kinds (${kinds.join(", ")})`,
      remedy: usable.length > 0 ? `use ${usable.join(", ")}, or remove it` : "remove it",
    });
    return;
  }
  const members = new Set(["name", ...users.flatMap((kind) => CHANNELS[kind].members)]);
  const all = new Set(POLLED_KINDS.flatMap((kind) => CHANNELS[kind].members));
  for (const member of Object.keys(channel)) {
    if (all.has(member) && !members.has(member)) {
      faults.push({
        place: `${place}.${member}`,
        problem: `has no effect for ${users.join(" and ")}`,
        remedy: "remove it",
      });
    }
  }
  if (users.some((kind) => kind === "current" || kind === "currentV2") && !("clamp" in channel)) {
    faults.push({
      place: `${place}.clamp`,
      problem: "is missing, so the values cannot be converted to amperes",
      remedy: "enter the rating of the fitted clamp: 50, 100, 250 or 500",
    });
  }
  // With accel on the same channel, its loop half is optional as a whole.
  const isLoop = users.includes("loop") && (!users.includes("accel") || hasLoopFields(channel));
  if (isLoop) checkRange(channel, place, faults, warnings);
}

function hasLoopFields(channel: JsonObject | null): boolean {
  return channel !== null && ["unit", "low", "high"].some((member) => member in channel);
}

function checkRange(
  channel: JsonObject,
  place: string,
  faults: ConfigurationFault[],
  warnings: ConfigurationFault[],
): void {
  const remedies = {
    unit: "enter the engineering unit, e.g. bar",
    low: "enter the value at 4 mA",
    high: "enter the value at 20 mA",
  };
  for (const [member, remedy] of Object.entries(remedies)) {
    if (!(member in channel))
      faults.push({ place: `${place}.${member}`, problem: "is missing", remedy });
  }
  // The readings say so too, channel by channel (signal-definitions section 9), and the current in mA is right.
  if (typeof channel["low"] === "number" && channel["low"] === channel["high"]) {
    warnings.push({
      place: `${place}.high`,
      problem: `${shown(channel["high"])} is also the value of low, so every value is bad (no_calibration)`,
      remedy: "enter different values for 4 mA and 20 mA",
    });
  }
}

function checkAxes(channels: JsonObject, place: string, warnings: ConfigurationFault[]): void {
  const taken = new Map<string, string>();
  for (const [i, standard] of AXES.entries()) {
    const name = `channel${i + 1}`;
    const channel = dict(channels[name]);
    if (!channel) continue;
    const axis = typeof channel["axis"] === "string" ? channel["axis"] : standard;
    const other = taken.get(axis);
    if (other !== undefined) {
      warnings.push({
        place: `${place}.channels.${name}.axis`,
        problem: `${axis} is also the axis of ${other}`,
        remedy: "use a different axis for each channel",
      });
    }
    taken.set(axis, name);
  }
}

function checkClass(
  sensor: JsonObject,
  kinds: readonly PolledKind[],
  place: string,
  faults: ConfigurationFault[],
  warnings: ConfigurationFault[],
): void {
  for (const member of ["machineClass", "limits", "checkDisplacement", "fullScaleCounts"]) {
    if (member in sensor && !kinds.includes("accel")) {
      warnings.push({
        place: `${place}.${member}`,
        problem: "has no effect without the kind accel",
        remedy: "leave it out, or add the kind",
      });
    }
  }
  const limits: unknown = sensor["limits"];
  if (Array.isArray(limits) && limits.length === 3) {
    const [a, b, c] = limits.map(Number);
    if (a !== undefined && b !== undefined && c !== undefined && !(a < b && b < c)) {
      faults.push({
        place: `${place}.limits`,
        problem: `${shown(limits)} is not in ascending order`,
        remedy: "list [A/B, B/C, C/D] in ascending order",
      });
    }
  }
  const machineClass = sensor["machineClass"];
  const isGroup = typeof machineClass === "string" && machineClass.startsWith("group");
  if (sensor["checkDisplacement"] === true && !isGroup) {
    faults.push({
      place: `${place}.checkDisplacement`,
      problem: "has displacement limits for the machine classes group1 and group2 only",
      remedy: "use such a machineClass, or remove it",
    });
  }
}

/** One id with two parents or two names: the query service could return only one of them. */
function checkLocations(
  sensors: readonly (JsonObject | null)[],
  warnings: ConfigurationFault[],
): void {
  const seen = new Map<string, { text: string; index: number }>();
  const note = (key: string, text: string, index: number, place: string, what: string) => {
    const before = seen.get(key);
    if (before === undefined) seen.set(key, { text, index });
    else if (before.text !== text) {
      warnings.push({
        place,
        problem: `${what} differs from sensors[${before.index}], which has the same id`,
        remedy: "make them agree",
      });
    }
  };
  for (const [i, sensor] of sensors.entries()) {
    const location = dict(sensor?.["location"]);
    if (!location) continue;
    const place = `sensors[${i}].location`;
    note(`area ${location["area"]}`, String(location["company"]), i, `${place}.company`, "company");
    note(`machine ${location["machine"]}`, String(location["area"]), i, `${place}.area`, "area");
    const names = dict(location["names"]);
    for (const level of ["company", "area", "machine"]) {
      const name = names?.[level];
      if (typeof name === "string")
        note(`${level} name ${location[level]}`, name, i, `${place}.names.${level}`, "the name");
    }
  }
}
