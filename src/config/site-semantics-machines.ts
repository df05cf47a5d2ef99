/** Consistency of `machines`: the signals exist, and a bearing can be computed. */
import { alarmValues } from "../core/alarm/values.ts";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import type { JsonObject } from "../core/record.ts";
import { successors } from "../core/replacement.ts";
import { normalCode, type Sensor } from "../core/sensor.ts";
import { likely } from "../lib/nearest.ts";
import { shown } from "./fault.ts";
import { SITE_RULES } from "./site-rules.ts";
import { dict, kindsIn, list } from "./written-parts.ts";

export interface SemanticNotes {
  readonly faults: ConfigurationFault[];
  readonly warnings: ConfigurationFault[];
}

const RATIOS = ["bpfo", "bpfi", "bsf", "ftf"] as const;
const NAMES_SHOWN_MAX = 5;
const GEOMETRY = ["balls", "ballMm", "pitchMm"] as const;

export function checkMachines(
  machines: readonly unknown[],
  sensors: readonly Sensor[],
  notes: SemanticNotes,
  sparkplug: boolean,
): void {
  const seen = new Map<number, number>();
  for (const [i, value] of machines.entries()) {
    const machine = dict(value);
    if (!machine) continue;
    const place = `machines[${i}]`;
    const id = machine["id"];
    if (typeof id === "number") checkId(id, i, seen, sensors, notes);
    checkRunning(machine, place, sensors, notes);
    checkSpeed(machine, place, sensors, notes.warnings);
    checkUnused(machine, place, notes.warnings);
    const own = sensors.filter(({ location }) => location !== undefined && location.machine === id);
    checkNames(machine, place, own, notes.warnings);
    checkShafts(machine, place, pointsOf(id, sensors), notes);
    for (const rules of SITE_RULES) rules.machine?.(machine, place, own, notes.faults, sparkplug);
    for (const [j, bearing] of list(machine["bearings"]).entries()) {
      const written = dict(bearing);
      if (written) checkBearing(written, `${place}.bearings[${j}]`, pointsOf(id, sensors), notes);
    }
  }
}

function checkId(
  id: number,
  index: number,
  seen: Map<number, number>,
  sensors: readonly Sensor[],
  { faults, warnings }: SemanticNotes,
): void {
  const place = `machines[${index}].id`;
  const twin = seen.get(id);
  if (twin !== undefined) {
    faults.push({
      place,
      problem: `${id} is also the id of machines[${twin}]`,
      remedy: "merge them into one entry",
    });
    return;
  }
  seen.set(id, index);
  if (sensors.some(({ location }) => location?.machine === id)) return;
  warnings.push({
    place,
    problem: `${id} is in no sensor's location, so this entry has no effect`,
    remedy: "add this machine to the location of its sensors",
  });
}

/** Which name is shown would depend on the page. */
function checkNames(
  { name }: JsonObject,
  place: string,
  sensors: readonly Sensor[],
  warnings: ConfigurationFault[],
): void {
  const names = [name, ...sensors.map(({ location }) => location?.names?.machine)];
  const distinct = [...new Set(names.filter((one) => typeof one === "string"))];
  if (distinct.length < 2) return;
  warnings.push({
    place: `${place}.name`,
    problem: `this machine has ${distinct.length} names: ${distinct.slice(0, NAMES_SHOWN_MAX).map(shown).join(", ")}`,
    remedy: "write the same name here and in location.names.machine of its sensors",
  });
}

/** Without the measured speed there are no findings, and nothing uses these. */
function checkUnused(machine: JsonObject, place: string, warnings: ConfigurationFault[]): void {
  if (machine["speed"] !== undefined) return;
  for (const key of ["bearings", "blades", "teeth", "shafts"]) {
    if (machine[key] === undefined || list(machine[key])?.length === 0) continue;
    warnings.push({
      place: `${place}.${key}`,
      problem: "has no effect without `speed`: findings need the measured shaft speed",
      remedy: "name a sensor of the kind rpm in `speed` of this machine",
    });
  }
}

function checkShafts(
  machine: JsonObject,
  place: string,
  own: ReadonlySet<number>,
  { faults, warnings }: SemanticNotes,
): void {
  const names = new Map<string, number>();
  const taken = new Map<number, number>();
  for (const [i, value] of list(machine["shafts"]).entries()) {
    const shaft = dict(value);
    if (!shaft) continue;
    const at = `${place}.shafts[${i}]`;
    const { name } = shaft;
    if (typeof name === "string") {
      const twin = names.get(name.toLowerCase());
      if (twin === undefined) names.set(name.toLowerCase(), i);
      else
        faults.push({
          place: `${at}.name`,
          problem: `${shown(name)} is also the name of shafts[${twin}]`,
          remedy: "use a different name for each shaft",
        });
    }
    for (const [j, point] of list(shaft["points"]).entries()) {
      if (typeof point !== "number") continue;
      const other = taken.get(point);
      if (other !== undefined)
        faults.push({
          place: `${at}.points[${j}]`,
          problem: `${point} is also a point of shafts[${other}]`,
          remedy: "list each point at the shaft that its sensor is on",
        });
      else if (!own.has(point))
        warnings.push({
          place: `${at}.points[${j}]`,
          problem: `${point} is not a measuring point of this machine's sensors`,
          remedy: own.size === 0 ? "remove it" : `use ${[...own].join(" or ")}`,
        });
      if (other === undefined) taken.set(point, i);
    }
  }
}

function pointsOf(id: unknown, sensors: readonly Sensor[]): ReadonlySet<number> {
  return new Set(
    sensors.flatMap(({ location }) =>
      location !== undefined && location.machine === id ? [location.point] : [],
    ),
  );
}

/** The sensor with this code; warns if it is not, or no longer, in the file (plant section 17). */
function findSensor(
  code: unknown,
  place: string,
  sensors: readonly Sensor[],
  warnings: ConfigurationFault[],
): Sensor | null {
  if (typeof code !== "string") return null;
  // A signal goes on with the sensor that replaces its own.
  const found =
    successors(sensors).get(normalCode(code)) ??
    sensors.find((sensor) => normalCode(sensor.code) === normalCode(code));
  if (found !== undefined) return found;
  const closest = likely(
    code,
    sensors.map((sensor) => sensor.code),
  );
  warnings.push({
    place,
    problem: `${shown(code)} is not a sensor of this file`,
    remedy: closest === null ? "use the code of one of the sensors" : `did you mean ${closest}?`,
  });
  return null;
}

function checkRunning(
  machine: JsonObject,
  place: string,
  sensors: readonly Sensor[],
  { faults, warnings }: SemanticNotes,
): void {
  const running = dict(machine["running"]);
  if (!running) return;
  const at = `${place}.running`;
  const bounds = ["above", "below", "is"].filter((name) => name in running);
  // A contact alone is enough: closed means running.
  const mayBeLeftOut = running["kind"] === "dryContact";
  if (bounds.length > 1 || (bounds.length === 0 && !mayBeLeftOut)) {
    faults.push({
      place: at,
      problem:
        bounds.length === 0 ? "does not say when it runs" : `has ${bounds.join(" and ")} together`,
      remedy: "use exactly one of above, below and is",
    });
  }
  const sensor = findSensor(running["sensor"], `${at}.sensor`, sensors, warnings);
  const [kind] = kindsIn([running["kind"]]);
  if (sensor === null || kind === undefined) return;
  if (!sensor.kinds.includes(kind)) {
    warnings.push({
      place: `${at}.kind`,
      problem: `${shown(kind)} is not a kind of sensor ${sensor.code}`,
      remedy: `use ${sensor.kinds.join(" or ")}, or add the kind to the sensor`,
    });
    return;
  }
  checkSignalValue(running, at, sensor, kind, faults);
}

function checkSignalValue(
  running: JsonObject,
  at: string,
  sensor: Sensor,
  kind: Sensor["kinds"][number],
  faults: ConfigurationFault[],
): void {
  const values = alarmValues(sensor, kind);
  const value = values.find(({ name }) => name === running["value"]);
  if (value === undefined || value.type === "string") {
    const known = values.filter(({ type }) => type !== "string").map(({ name }) => name);
    faults.push({
      place: `${at}.value`,
      problem: `${shown(running["value"])} is not a number or contact of sensor ${sensor.code} ${kind}`,
      remedy: `use one of ${known.join(", ")}`,
    });
    return;
  }
  const isContact = value.type === "boolean";
  for (const bound of ["above", "below", "is"]) {
    if (!(bound in running) || (bound === "is") === isContact) continue;
    faults.push({
      place: `${at}.${bound}`,
      problem: `does not apply to ${value.name}, which is ${isContact ? "a contact" : "a number"}`,
      remedy: isContact ? "use is: true or is: false" : "use above or below",
    });
  }
}

function checkSpeed(
  machine: JsonObject,
  place: string,
  sensors: readonly Sensor[],
  warnings: ConfigurationFault[],
): void {
  const speed = dict(machine["speed"]);
  if (!speed) return;
  const sensor = findSensor(speed["sensor"], `${place}.speed.sensor`, sensors, warnings);
  if (sensor === null || sensor.kinds.includes("rpm")) return;
  warnings.push({
    place: `${place}.speed.sensor`,
    problem: `sensor ${sensor.code} does not have the kind rpm`,
    remedy: "name the sensor that measures this machine's speed",
  });
}

function checkBearing(
  bearing: JsonObject,
  place: string,
  points: ReadonlySet<number>,
  { faults, warnings }: SemanticNotes,
): void {
  const ratios = RATIOS.filter((name) => name in bearing);
  const missing = GEOMETRY.filter((name) => !(name in bearing));
  if (ratios.length === 0 && missing.length > 0) {
    faults.push({
      place,
      problem:
        missing.length === GEOMETRY.length
          ? "has neither balls, ballMm and pitchMm nor ratios, so its frequencies are unknown"
          : `lacks ${missing.join(" and ")}, so its frequencies are unknown`,
      remedy: "add balls, ballMm and pitchMm (angleDeg if it is not 0), or bpfo, bpfi, bsf and ftf",
    });
  }
  const { ballMm, pitchMm } = bearing;
  if (typeof ballMm === "number" && typeof pitchMm === "number" && ballMm >= pitchMm) {
    faults.push({
      place: `${place}.ballMm`,
      problem: `${ballMm} mm is not smaller than the pitch diameter of ${pitchMm} mm`,
      remedy: "enter the diameter of one rolling element",
    });
  }
  const { point } = bearing;
  if (typeof point === "number" && points.size > 0 && !points.has(point)) {
    warnings.push({
      place: `${place}.point`,
      problem: `${point} is not a measuring point of this machine's sensors`,
      remedy: `use ${[...points].join(" or ")}`,
    });
  }
}
