import type { SensorState } from "../../core/agent-status.ts";
import { formerCodes, successors } from "../../core/replacement.ts";
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
  readonly alarms: Pick<ReadonlyMap<string, readonly OpenAlarm[]>, "get" | "size"> | null;
  /** Whether there is time to look back over days; false: what is known of them stays. */
  readonly mayLookBack: boolean;
}

/** What a sensor is to a machine. */
export interface Told {
  readonly key: string;
  /** It is mounted there. */
  readonly isOwn: boolean;
  /** It shows state or speed. */
  readonly isSignal: boolean;
}

/** Machines by the normalised code of each sensor that says something about them. */
export function toldBySensor(
  site: Subjects,
  machines: readonly ConditionSubject[],
): ReadonlyMap<string, readonly Told[]> {
  const bySensor = new Map<string, Told[]>();
  const next = successors(site.sensors);
  for (const subject of machines) {
    const machine = site.machines?.find(({ id }) => id === subject.id);
    const signals = [machine?.running?.sensor, machine?.speed?.sensor].flatMap((code) =>
      code === undefined ? [] : [code, next.get(normalCode(code))?.code ?? code],
    );
    const own = subject.sensors.flatMap((sensor) => [
      sensor.code,
      ...formerCodes(site.sensors, sensor),
    ]);
    const [owned, signalled] = [own, signals].map((codes) => new Set(codes.map(normalCode)));
    for (const code of new Set([...own, ...signals].map(normalCode))) {
      const isOwn = owned?.has(code) === true;
      const told = { key: subjectKey(subject), isOwn, isSignal: signalled?.has(code) === true };
      bySensor.set(code, [...(bySensor.get(code) ?? []), told]);
    }
  }
  for (const { code, location } of site.sensors)
    if (location === undefined && !bySensor.has(normalCode(code))) {
      const key = subjectKey({ id: null, sensor: code });
      bySensor.set(normalCode(code), [{ key, isOwn: true, isSignal: false }]);
    }
  return bySensor;
}

/** What conditions are made of differs, or only what they say beside. Null: nothing of it does. */
export function stateChange(
  now: SensorState,
  before: SensorState | undefined,
): "condition" | "rest" | null {
  const { kinds, lastReadingMs } = now;
  if (before === undefined) return "condition";
  const isAsFresh =
    now.state === before.state &&
    (lastReadingMs === null) === (before.lastReadingMs === null) &&
    kinds.length === before.kinds.length &&
    kinds.every((kind, at) => {
      const other = before.kinds[at];
      const isNever = (one: typeof other) => (one?.lastReadingMs ?? null) === null;
      return kind.isSilent === other?.isSilent && isNever(kind) === isNever(other);
    });
  if (!isAsFresh) return "condition";
  return lastReadingMs === before.lastReadingMs && now.batteryV === before.batteryV ? null : "rest";
}
