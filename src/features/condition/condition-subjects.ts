import type { SensorState } from "../../core/agent-status.ts";
import { normalCode, type Sensor } from "../../core/sensor.ts";
import type { Site } from "../../core/site.ts";
import { siteMachines } from "../../core/site-machines.ts";
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

export function machineSubjects(site: Subjects): ConditionSubject[] {
  return siteMachines(site).map((machine) => ({
    ...machine,
    sensor: null,
    area: areaOf(machine.sensors.flatMap(({ location }) => location ?? [])),
  }));
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
  /** Whether there is time to look back over days; false: what is known of them stays. */
  readonly mayLookBack: boolean;
}

/** Nothing of it that conditions look at differs. */
export function isSameState(a: SensorState, b: SensorState | undefined): boolean {
  return (
    a.state === b?.state &&
    a.lastReadingMs === b.lastReadingMs &&
    a.batteryV === b.batteryV &&
    a.kinds.length === b.kinds.length &&
    a.kinds.every((kind, at) => {
      const other = b.kinds[at];
      return kind.isSilent === other?.isSilent && kind.lastReadingMs === other?.lastReadingMs;
    })
  );
}
