/** What a new site file changes, sensor by sensor: applied by a reload, and shown by `check --diff` and the versions. */
import { isJsonObject } from "../record.ts";
import type { Sensor } from "../sensor.ts";
import type { Site } from "../site.ts";

interface SensorChange {
  readonly before: Sensor;
  readonly after: Sensor;
  /** What differs, as paths such as `channels.current1.clamp`. */
  readonly fields: readonly string[];
}

export interface SiteDifference {
  readonly added: readonly Sensor[];
  readonly removed: readonly Sensor[];
  readonly changed: readonly SensorChange[];
  /** Other differences in the file, as paths such as `machines`, and `sensor order`. */
  readonly fields: readonly string[];
  /** The new site file. */
  readonly after: Site | null;
}

/** Sensors are matched by their code as written: the code is a level of their topics. */
export function siteDifference(before: Site, after: Site): SiteDifference {
  const known = new Map(before.sensors.map((sensor) => [sensor.code, sensor]));
  const stays = new Set(after.sensors.map(({ code }) => code));
  const changed: SensorChange[] = [];
  for (const sensor of after.sensors) {
    const old = known.get(sensor.code);
    if (old === undefined || old === sensor) continue;
    const fields = changedFields(old, sensor);
    if (fields.length > 0) changed.push({ before: old, after: sensor, fields });
  }
  return {
    added: after.sensors.filter(({ code }) => !known.has(code)),
    removed: before.sensors.filter(({ code }) => !stays.has(code)),
    changed,
    fields: [
      ...changedFields({ ...before, sensors: null }, { ...after, sensors: null }),
      ...(isReordered([...known.keys()], [...stays]) ? ["sensor order"] : []),
    ],
    after,
  };
}

/** Whether those in both lists are in another order. */
function isReordered(before: readonly string[], after: readonly string[]): boolean {
  const [former, latter] = [new Set(before), new Set(after)];
  const common = after.filter((one) => former.has(one));
  return before.filter((one) => latter.has(one)).some((one, i) => one !== common[i]);
}

/** Of a site, or of its file as written. */
interface Matched {
  readonly sensors: readonly { readonly code: string }[];
  readonly machines?: unknown;
  readonly alarms?: unknown;
}

/**
 * The new site file with the former objects of what is unchanged in it: sensors, and all machines or alarms. What was
 * worked out for these is valid for as long as they are the same.
 */
export function withUnchanged<S extends Matched>(before: S, after: S): S {
  const known = new Map(before.sensors.map((sensor) => [sensor.code, sensor]));
  const sensors = after.sensors.map((sensor) => {
    const old = known.get(sensor.code);
    return old !== undefined && isEqual(old, sensor) ? old : sensor;
  });
  const { alarms, machines } = before;
  return {
    ...after,
    sensors,
    ...(machines !== undefined && isEqual(machines, after.machines) ? { machines } : {}),
    ...(alarms !== undefined && isEqual(alarms, after.alarms) ? { alarms } : {}),
  };
}

/** Of JSON values; members in any order. */
function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, i) => isEqual(one, b[i]));
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isEqual(a[name], b[name]))
  );
}

/** Paths of the differences between two JSON values; a list differs as a whole. */
export function changedFields(before: unknown, after: unknown, path = ""): string[] {
  if (isJsonObject(before) && isJsonObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) =>
      changedFields(before[name], after[name], path === "" ? name : `${path}.${name}`),
    );
  }
  return canonicalJson(before) === canonicalJson(after) ? [] : [path];
}

/**
 * JSON with sorted members and no spaces: equal for equal content, however it was written.
 * @param known texts of objects that were turned into it before
 */
export function canonicalJson(value: unknown, known?: WeakMap<object, string>): string {
  if (Array.isArray(value)) return `[${value.map((one) => canonicalJson(one, known)).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? "null";
  const text = known?.get(value);
  if (text !== undefined) return text;
  const members = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name], known)}`);
  return `{${members.join(",")}}`;
}
