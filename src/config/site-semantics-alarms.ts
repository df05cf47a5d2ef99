/** Consistency of `alarms`: a rule selects something, its limits are in order, and it can be triggered. */

import {
  type AlarmSelect,
  RESERVED_NAMES,
  selectedKinds,
  selectsSensor,
} from "../core/alarm/rule.ts";
import { alarmValues } from "../core/alarm/values.ts";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import type { JsonObject } from "../core/record.ts";
import type { Sensor } from "../core/sensor.ts";
import { topicLevel } from "../core/topics/topic-level.ts";
import { shown } from "./fault.ts";
import type { SemanticNotes } from "./site-semantics-machines.ts";
import {
  checkNamed,
  checkReach,
  codesOf,
  LIMITS,
  type LimitName,
  type Target,
  targetsOf,
} from "./site-semantics-targets.ts";
import { anyKindsIn, dict, list, numbers, texts } from "./written-parts.ts";

export function checkAlarms(
  alarms: readonly unknown[],
  sensors: readonly Sensor[],
  machines: readonly unknown[],
  notes: SemanticNotes,
): void {
  const names = new Map<string, number>();
  for (const [i, value] of alarms.entries()) {
    const rule = dict(value);
    if (!rule) continue;
    const place = `alarms[${i}]`;
    checkName(rule["name"], i, names, notes.faults);
    checkOrder(rule, place, notes.faults);
    checkBand(rule, place, notes.faults);
    checkCanFire(rule, place, sensors, machines, notes);
  }
}

function checkName(
  name: unknown,
  index: number,
  names: Map<string, number>,
  faults: ConfigurationFault[],
): void {
  if (typeof name !== "string" || name === "") return;
  const place = `alarms[${index}].name`;
  if (topicLevel(name) !== name || name !== name.trim() || name.startsWith("$")) {
    faults.push({
      place,
      problem: `${shown(name)} is not valid as a topic level`,
      remedy:
        "use a name without + # / or control characters, without leading or trailing spaces, and without a leading $",
    });
    return;
  }
  if (RESERVED_NAMES.some((reserved) => reserved === name.toLowerCase())) {
    faults.push({
      place,
      problem: `${shown(name)} is the name of a built-in alarm`,
      remedy: "use another name",
    });
    return;
  }
  const twin = names.get(name.toLowerCase());
  if (twin === undefined) names.set(name.toLowerCase(), index);
  else {
    faults.push({
      place,
      problem: `${shown(name)} is also the name of alarms[${twin}]`,
      remedy: "use a different name for each rule (letter case does not count)",
    });
  }
}

function limitsOf(rule: JsonObject): [LimitName, number][] {
  return LIMITS.flatMap((name): [LimitName, number][] => {
    const limit = rule[name];
    return typeof limit === "number" ? [[name, limit]] : [];
  });
}

function checkOrder(rule: JsonObject, place: string, faults: ConfigurationFault[]): void {
  const limits = limitsOf(rule);
  for (const [i, [name, limit]] of limits.entries()) {
    const before = limits[i - 1];
    if (before === undefined || before[1] < limit) continue;
    faults.push({
      place: `${place}.${name}`,
      problem: `${limit} is not above ${before[0]}, ${before[1]}`,
      remedy: "order the limits: lowLow < low < high < highHigh",
    });
  }
}

/** The hysteresis below one limit must not reach beyond the next one. */
function checkBand(rule: JsonObject, place: string, faults: ConfigurationFault[]): void {
  const { hysteresis } = rule;
  if (typeof hysteresis !== "number" || hysteresis === 0) return;
  const limits = limitsOf(rule);
  for (const [i, [name, limit]] of limits.entries()) {
    const before = limits[i - 1];
    if (before === undefined || before[1] >= limit || limit - before[1] >= hysteresis) continue;
    faults.push({
      place: `${place}.hysteresis`,
      problem: `${hysteresis} is larger than the band from ${before[0]}, ${before[1]}, to ${name}, ${limit}`,
      remedy: "use a smaller hysteresis, or move the limits apart",
    });
    return;
  }
}

function checkCanFire(
  rule: JsonObject,
  place: string,
  sensors: readonly Sensor[],
  machines: readonly unknown[],
  notes: SemanticNotes,
): void {
  const { faults } = notes;
  const limits = limitsOf(rule);
  const hasBaseline = "baseline" in rule;
  if (limits.length === 0 && !hasBaseline && !LIMITS.some((name) => name in rule)) {
    faults.push({
      place,
      problem: "has no limit, so it can never trigger",
      remedy: "add highHigh, high, low or lowLow, or a baseline",
    });
  } else if (limits.length > 0 && hasBaseline) {
    faults.push({
      place: `${place}.baseline`,
      problem: `is set together with ${limits.map(([name]) => name).join(" and ")}`,
      remedy: "split this into two rules",
    });
  }
  const select = dict(rule["select"]) ?? {};
  const found = checkSelect(select, `${place}.select`, sensors, machines, notes.warnings);
  if (found === null) return;
  checkReach(limits, place, found, notes.warnings);
  checkBrokenWire(limits, place, found, notes.warnings);
  if (rule["onlyRunning"] === true) checkRunning(place, found, machines, notes);
}

/**
 * The values a rule evaluates; null if a warning says why there are none. Never a fault: sensors leave the file, and
 * what ran before starts all the same (plant section 17).
 */
function checkSelect(
  written: JsonObject,
  place: string,
  sensors: readonly Sensor[],
  machines: readonly unknown[],
  warnings: ConfigurationFault[],
): readonly Target[] | null {
  const before = warnings.length;
  checkNamed(written, place, sensors, machines, warnings);
  if (warnings.length > before) return null;
  const select: AlarmSelect = {
    kinds: anyKindsIn(written["kinds"]),
    sensors: texts(written["sensors"]),
    areas: numbers(written["areas"]),
    machines: numbers(written["machines"]),
  };
  // A misspelt kind is a schema fault; what it would select is then unknown.
  if (list(written["kinds"]).length !== select.kinds?.length) return null;
  const reachable = sensors
    .filter((sensor) => selectsSensor(select, sensor, codesOf(sensor, sensors)))
    .flatMap((sensor) =>
      selectedKinds(select, sensor).flatMap((kind) =>
        alarmValues(sensor, kind).map((value): Target => ({ sensor, kind, value })),
      ),
    );
  if (reachable.length === 0) {
    if (sensors.length > 0)
      warnings.push({
        place,
        problem: "selects no sensor, so the rule can never trigger",
        remedy: "widen it, or remove it",
      });
    return null;
  }
  const targets = targetsOf(texts(written["values"]), place, reachable, warnings);
  return warnings.length > before ? null : targets;
}

/** Of 0–20 mA, a broken wire reads as the lowest value. */
function checkBrokenWire(
  limits: readonly [LimitName, number][],
  place: string,
  targets: readonly Target[],
  warnings: ConfigurationFault[],
): void {
  const [lower] = limits.filter(([name]) => name === "low" || name === "lowLow");
  const zeroBased = targets.filter(
    ({ sensor, kind, value }) =>
      kind === "loop" && sensor.channels[value.name.replace("_ma", "")]?.signal === "0-20",
  );
  const [first] = zeroBased;
  if (lower === undefined || first === undefined) return;
  const more = zeroBased.length > 1 ? ` and ${zeroBased.length - 1} more` : "";
  warnings.push({
    place: `${place}.${lower[0]}`,
    problem: `${first.value.name} of sensor ${first.sensor.code}${more} has the signal 0-20: this alarm can also mean a broken wire`,
    remedy: "say so in what people do about this alarm",
  });
}

function checkRunning(
  place: string,
  targets: readonly Target[],
  machines: readonly unknown[],
  { warnings }: SemanticNotes,
): void {
  const reported = new Set(
    machines.flatMap((value) => {
      const machine = dict(value);
      return machine && "running" in machine ? [machine["id"]] : [];
    }),
  );
  const codes = new Set(targets.map(({ sensor }) => sensor.code));
  const mute = new Set(
    targets.flatMap(({ sensor }) => (reported.has(sensor.location?.machine) ? [] : [sensor.code])),
  );
  if (mute.size === 0) return;
  const isAll = mute.size === codes.size;
  const names = [...mute];
  const who =
    names.length === 1 ? `sensor ${names[0]}` : `${names.length} sensors (${names[0]}, …)`;
  // Not a fault: the rule waits for the state of its machine (plant section 11), as it does while that is unknown.
  warnings.push({
    place: `${place}.onlyRunning`,
    problem: `${who} ${names.length === 1 ? "is" : "are"} on a machine without "running", so the rule can never trigger${isAll ? "" : " there"}`,
    remedy: "add `running` to the sensor's machine in machines, or remove onlyRunning",
  });
}
