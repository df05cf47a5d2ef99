import type { SensorState } from "../core/agent-status.ts";
import type { MachineView } from "../core/diagnosis/shown.ts";
import { grouped } from "../core/grouped.ts";
import type { OpenAlarm } from "../core/machine-condition/condition.ts";
import { normalCode, type Sensor } from "../core/sensor.ts";

/** A machine, or a sensor without one that has an open alarm. */
export interface ConditionSubject {
  readonly id: number | null;
  readonly sensor: string | null;
  readonly name: string | null;
  readonly area: string | null;
  readonly sensors: readonly Sensor[];
}

export function* subjectsOf(
  sensors: readonly Sensor[],
  machines: readonly { readonly id: number; readonly name?: string }[],
  { alarms }: KnownSensors,
): Generator<ConditionSubject> {
  const mounted = grouped(sensors, ({ location }) => location?.machine ?? null);
  const names = new Map(machines.map(({ id, name }) => [id, name]));
  for (const id of new Set([...names.keys(), ...mounted.keys()])) {
    if (id === null) continue;
    const own = mounted.get(id) ?? [];
    const locations = own.flatMap(({ location }) => location ?? []);
    const named = locations.find((location) => location.names?.machine !== undefined);
    yield {
      id,
      sensor: null,
      name: names.get(id) ?? named?.names?.machine ?? null,
      area: areaOf(locations),
      sensors: own,
    };
  }
  for (const sensor of mounted.get(null) ?? []) {
    const open = alarms?.get(normalCode(sensor.code)) ?? [];
    if (!open.some(({ isShelved }) => !isShelved)) continue;
    const { code, name = null } = sensor;
    yield { id: null, sensor: code, name, area: null, sensors: [sensor] };
  }
}

function areaOf(locations: readonly NonNullable<Sensor["location"]>[]): string | null {
  const named = locations.find(({ names }) => names?.area !== undefined)?.names?.area;
  const [first] = locations;
  return named ?? (first === undefined ? null : `Area ${first.area}`);
}

/** What is known of all sensors, read once for a list. */
export interface KnownSensors {
  readonly nowMs: number;
  readonly states: ReadonlyMap<string, SensorState>;
  /** By normalised code; null while alarms are disabled. */
  readonly alarms: ReadonlyMap<string, readonly OpenAlarm[]> | null;
  readonly machines: ReadonlyMap<number, MachineView>;
  /** Whether a response that has taken this long may still look back over days. */
  readonly mayCompute: () => boolean;
}
