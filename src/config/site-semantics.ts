/**
 * Rules of a site file that the schema cannot express. They are checked even if the schema found faults, so that an
 * operator sees all of them at once; parts of the wrong shape are left to the schema.
 */

import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import type { JsonObject } from "../core/record.ts";
import { POLLED_KINDS, type PolledKind } from "../core/sensor.ts";
import type { SemanticOptions } from "../features/formats.ts";
import { shown } from "./fault.ts";
import { roughSensor } from "./rough-sensor.ts";
import { SITE_RULES } from "./site-rules.ts";
import { checkAlarms } from "./site-semantics-alarms.ts";
import { checkAxes, checkChannel, checkPresence, fits } from "./site-semantics-channels.ts";
import { checkMachines } from "./site-semantics-machines.ts";
import {
  checkCodes,
  checkDeviceIds,
  checkGroup,
  checkTopicLevels,
} from "./site-semantics-names.ts";
import { checkReplaced } from "./site-semantics-replaced.ts";
import { dict, list } from "./written-parts.ts";

export interface SemanticFaults {
  readonly faults: readonly ConfigurationFault[];
  readonly warnings: readonly ConfigurationFault[];
}

/** Written sensors, which nothing changes, without a fault or warning of their own. */
const SOUND = new WeakSet<JsonObject>();

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
    if (sensor === null || SOUND.has(sensor)) continue;
    const found = faults.length + warnings.length;
    checkSensor(sensor, `sensors[${i}]`, faults, warnings);
    if (faults.length + warnings.length === found) SOUND.add(sensor);
  }
  checkReplaced(sensors, faults);
  checkLocations(sensors, warnings);
  const machines = list(site?.["machines"]);
  const known = sensors
    .map(roughSensor)
    .filter((sensor) => sensor !== null)
    .map((sensor) =>
      SITE_RULES.reduce((known, rules) => rules.known?.(known, machines) ?? known, sensor),
    );
  checkMachines(machines, known, { faults, warnings }, options.sparkplug === true);
  checkAlarms(list(site?.["alarms"]), known, machines, { faults, warnings });
  return { faults, warnings };
}

function checkSensor(
  sensor: JsonObject,
  place: string,
  faults: ConfigurationFault[],
  warnings: ConfigurationFault[],
): void {
  for (const rules of SITE_RULES) rules.sensor?.(sensor, place, faults);
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

function checkClass(
  sensor: JsonObject,
  kinds: readonly PolledKind[],
  place: string,
  faults: ConfigurationFault[],
  warnings: ConfigurationFault[],
): void {
  for (const member of [
    "machineClass",
    "limits",
    "checkDisplacement",
    "fullScaleCounts",
    "sampleRateFactor",
  ]) {
    if (member in sensor && !kinds.includes("accel")) {
      warnings.push({
        place: `${place}.${member}`,
        problem: "has no effect without the kind accel",
        remedy: "leave it out, or add the kind",
      });
    }
  }
  if ("pulsesPerRevolution" in sensor && !kinds.includes("rpm")) {
    faults.push({
      place: `${place}.pulsesPerRevolution`,
      problem: "has no effect without the kind rpm",
      remedy: "remove it, or add the kind",
    });
  }
  const factor = sensor["sampleRateFactor"];
  if (typeof factor === "number" && factor !== 1 && kinds.includes("accel")) {
    warnings.push({
      place: `${place}.sampleRateFactor`,
      problem: `all frequencies, velocities and displacements of this sensor are made by its sample rate × ${shown(factor)}, waveforms and spectra too; ids stay`,
      remedy: "keep it only if the sensor's clock is known to be off",
    });
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
