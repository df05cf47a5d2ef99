/** Consistency of a machine's `bands` (plant section 18): each can be measured, and no two share a name. */

import { dict, list, numbers } from "../../config/written-parts.ts";
import type { Band, BandSettings, CustomBand } from "../../core/bands/band.ts";
import { bandsOf, bearingPrefix, bearingsAt, followsShaft } from "../../core/bands/definition.ts";
import type { ConfigurationFault } from "../../core/configuration/configuration-fault.ts";
import type { Bearing, Machine } from "../../core/machine.ts";
import type { JsonObject } from "../../core/record.ts";
import type { Sensor } from "../../core/sensor.ts";
import type { Shaft } from "../../core/shaft.ts";
import { publishedChannels } from "../../pipeline/convert/accel.ts";

/** More would fill topics, log and disk with numbers that nobody looks at. */
const VALUES_MAX = 200;
const SOURCES = [
  ["bearings", "list its bearings"],
  ["blades", "enter the number of its blades"],
  ["teeth", "enter the teeth of its wheels"],
] as const;

/** @param own sensors on this machine @param sparkplug true if that format is enabled */
export function checkBands(
  written: JsonObject,
  place: string,
  own: readonly Sensor[],
  faults: ConfigurationFault[],
  sparkplug: boolean,
): void {
  const bands = dict(written["bands"]);
  if (!bands) return;
  const at = `${place}.bands`;
  for (const [member, remedy] of SOURCES) {
    const source = written[member];
    if (bands[member] !== true || (source !== undefined && list(source).length !== 0)) continue;
    if (typeof source === "number") continue;
    // Those of another shaft are enough.
    const isOfShaft =
      member !== "bearings" &&
      list(written["shafts"]).some((shaft) => member in (dict(shaft) ?? {}));
    if (isOfShaft) continue;
    faults.push({
      place: `${at}.${member}`,
      problem: `is true, but the machine has no ${member}`,
      remedy: `${remedy}, or remove it`,
    });
  }
  const machine = roughMachine(written, bands);
  for (const [i, { from, to }] of (machine.bands?.custom ?? []).entries()) {
    if (from < to) continue;
    faults.push({
      place: `${at}.custom[${i}].to`,
      problem: `${to} is not above from, ${from}`,
      remedy: "make it larger",
    });
  }
  if (!("speed" in written)) checkNeedsSpeed(machine, at, faults);
  const measured = own.filter(({ kinds }) => kinds.includes("accel"));
  const points = new Set(measured.map(({ location }) => location?.point));
  if (points.size === 0) points.add(undefined);
  for (const point of points) checkPoint(machine, point, { at, place, own, faults, sparkplug });
}

/** The sensor with the bands that its machine gives it, as far as both have the schema's shape. */
export function withRoughBands(sensor: Sensor, machines: readonly unknown[]): Sensor {
  const written = machines
    .map(dict)
    .find((one) => one !== null && one["id"] === sensor.location?.machine);
  const settings = dict(written?.["bands"]);
  if (!written || !settings || !sensor.kinds.includes("accel")) return sensor;
  const bands = bandsOf(roughMachine(written, settings), sensor.location);
  if (bands.length === 0) return sensor;
  return { ...sensor, bands: { bands, hasSpeed: "speed" in written } };
}

/** As far as it has the schema's shape. */
function roughMachine(written: JsonObject, bands: JsonObject): Machine {
  const custom = list(bands["custom"]).filter((item): item is CustomBand => {
    const { name, from, to } = dict(item) ?? {};
    return typeof name === "string" && typeof from === "number" && typeof to === "number";
  });
  const bearings = list(written["bearings"]).filter(
    (item): item is Bearing => typeof dict(item)?.["point"] === "number",
  );
  const { blades } = written;
  const settings: BandSettings = {
    orders: numbers(bands["orders"]),
    bearings: bands["bearings"] === true,
    blades: bands["blades"] === true,
    teeth: bands["teeth"] === true,
    custom,
  };
  return {
    id: 0,
    bearings,
    teeth: numbers(written["teeth"]),
    ...(typeof blades === "number" ? { blades } : {}),
    shafts: roughShafts(written["shafts"]),
    bands: settings,
  };
}

function roughShafts(written: unknown): Shaft[] {
  return list(written).flatMap((one): Shaft[] => {
    const { name, speedRatio, points, blades, teeth } = dict(one) ?? {};
    if (typeof name !== "string" || typeof speedRatio !== "number") return [];
    return [
      {
        name,
        speedRatio,
        points: numbers(points),
        ...(typeof blades === "number" ? { blades } : {}),
        ...(teeth === undefined ? {} : { teeth: numbers(teeth) }),
      },
    ];
  });
}

/** Only bands in Hz stay where they are at another speed. */
function checkNeedsSpeed(machine: Machine, at: string, faults: ConfigurationFault[]): void {
  const { orders = [], custom = [], ...switches } = machine.bands ?? {};
  const remedy = "add the machine's speed, or remove it";
  const problem = "needs the measured speed, and the machine has no speed";
  if (orders.length > 0) faults.push({ place: `${at}.orders`, problem, remedy });
  for (const [member, isOn] of Object.entries(switches))
    if (isOn === true) faults.push({ place: `${at}.${member}`, problem, remedy });
  for (const [i, { unit }] of custom.entries())
    if (unit === "order") faults.push({ place: `${at}.custom[${i}].unit`, problem, remedy });
}

interface PointCheck {
  readonly at: string;
  readonly place: string;
  readonly own: readonly Sensor[];
  readonly faults: ConfigurationFault[];
  readonly sparkplug: boolean;
}

function checkPoint(
  machine: Machine,
  point: number | undefined,
  { at, place, own, faults, sparkplug }: PointCheck,
): void {
  const location = point === undefined ? undefined : { point };
  if (machine.bands?.bearings === true) {
    for (const [i, bearing] of bearingsAt(machine, location).entries()) {
      if (bearingPrefix(bearing, i) !== null) continue;
      const index = machine.bearings?.indexOf(bearing);
      faults.push({
        place: `${place}.bearings[${index}].name`,
        problem: `is missing: this is not the first bearing at point ${point}, and its bands need a name`,
        remedy: "enter one",
      });
    }
  }
  const bands = bandsOf(machine, location);
  const there = point === undefined ? "" : ` at point ${point}`;
  const twins = bands.filter(({ name }, i) => bands.findIndex((one) => one.name === name) !== i);
  for (const name of new Set(twins.map((twin) => twin.name)))
    faults.push({
      place: at,
      problem: `two bands${there} would be called channel1_${name}`,
      remedy: "rename or remove one",
    });
  if (sparkplug) checkLetterCase(bands, there, at, faults);
  const counts = own
    .filter((sensor) => sensor.location?.point === point && sensor.kinds.includes("accel"))
    .map((sensor) => publishedChannels(sensor, true).length * bands.length + speedValue(bands));
  const most = Math.max(0, ...counts);
  if (most > VALUES_MAX)
    faults.push({
      place: at,
      problem: `gives a sensor${there} ${most} values; at most ${VALUES_MAX} are allowed`,
      remedy: "remove some bands, or list only the channels that are needed",
    });
}

/** Metric names do not differ by case only (Sparkplug 3.0, case-sensitivity-metric-names). */
function checkLetterCase(
  bands: readonly Band[],
  there: string,
  at: string,
  faults: ConfigurationFault[],
): void {
  const byLowerCase = new Map<string, string>();
  for (const { name } of bands) {
    const other = byLowerCase.get(name.toLowerCase()) ?? name;
    byLowerCase.set(name.toLowerCase(), other);
    if (other === name) continue;
    faults.push({
      place: at,
      problem: `channel1_${name}${there} differs from channel1_${other} only in letter case, which Sparkplug hosts may not distinguish`,
      remedy:
        "use names that differ in more than letter case, or remove sparkplug from PUBLISH_FORMATS",
    });
  }
}

const speedValue = (bands: readonly Band[]) => (bands.some(followsShaft) ? 1 : 0);
