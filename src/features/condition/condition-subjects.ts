import type { SensorState } from "../../core/agent-status.ts";
import { grouped } from "../../core/grouped.ts";
import { normalCode, type Sensor } from "../../core/sensor.ts";
import type { Site } from "../../core/site.ts";
import type { OpenAlarm } from "./rules/condition.ts";

/** A machine, or a sensor without one that has an open alarm. */
export interface ConditionSubject {
  readonly id: number | null;
  readonly sensor: string | null;
  readonly name: string | null;
  readonly area: string | null;
  readonly sensors: readonly Sensor[];
}

type Subjects = Pick<Site, "machines" | "sensors">;

/** Machines of `machines` and of every sensor's location. */
export function machineSubjects({ machines = [], sensors }: Subjects): ConditionSubject[] {
  const mounted = grouped(sensors, ({ location }) => location?.machine ?? null);
  const names = new Map(machines.map(({ id, name }) => [id, name]));
  return [...new Set([...names.keys(), ...mounted.keys()])].flatMap((id) => {
    if (id === null) return [];
    const own = mounted.get(id) ?? [];
    const locations = own.flatMap(({ location }) => location ?? []);
    const named = locations.find((location) => location.names?.machine !== undefined);
    const name = names.get(id) ?? named?.names?.machine ?? null;
    return [{ id, sensor: null, name, area: areaOf(locations), sensors: own }];
  });
}

/** @param alarms by normalised code; null while alarms are disabled */
export function looseSubjects(
  { sensors }: Subjects,
  alarms: KnownSensors["alarms"],
): ConditionSubject[] {
  if (alarms === null || alarms.size === 0) return [];
  return sensors.flatMap((sensor) => {
    if (sensor.location !== undefined) return [];
    const open = alarms.get(normalCode(sensor.code)) ?? [];
    if (!open.some(({ isShelved }) => !isShelved)) return [];
    const { code, name = null } = sensor;
    return [{ id: null, sensor: code, name, area: null, sensors: [sensor] }];
  });
}

export const subjectKey = ({ id, sensor }: Pick<ConditionSubject, "id" | "sensor">) =>
  id === null ? `sensor ${sensor}` : `${id}`;

function areaOf(locations: readonly NonNullable<Sensor["location"]>[]): string | null {
  const named = locations.find(({ names }) => names?.area !== undefined)?.names?.area;
  const [first] = locations;
  return named ?? (first === undefined ? null : `Area ${first.area}`);
}

/** What is known of all sensors, read once for all that is computed together. */
export interface KnownSensors {
  readonly nowMs: number;
  readonly states: ReadonlyMap<string, SensorState>;
  /** By normalised code; null while alarms are disabled. */
  readonly alarms: ReadonlyMap<string, readonly OpenAlarm[]> | null;
  /** Whether what has taken this long may still look back over days. */
  readonly mayCompute: () => boolean;
}
