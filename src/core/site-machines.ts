/** The machines of a site: those of `machines`, and of every sensor's location (plant section 20). */
import { grouped } from "./lists/grouped.ts";
import type { Sensor } from "./sensor.ts";
import type { Site } from "./site.ts";
import { topicLevel } from "./topics/topic-level.ts";
import type { Select, Uplink } from "./uplink.ts";

export interface SiteMachine {
  readonly id: number;
  readonly name: string | null;
  /** In the order of the site file. */
  readonly sensors: readonly Sensor[];
}

export function siteMachines({
  machines = [],
  sensors,
}: Pick<Site, "machines" | "sensors">): SiteMachine[] {
  const mounted = grouped(sensors, ({ location }) => location?.machine ?? null);
  const names = new Map(machines.map(({ id, name }) => [id, name]));
  return [...new Set([...names.keys(), ...mounted.keys()])].flatMap((id) => {
    if (id === null) return [];
    const own = mounted.get(id) ?? [];
    const named = own.find(({ location }) => location?.names?.machine !== undefined);
    return [{ id, name: names.get(id) ?? named?.location?.names?.machine ?? null, sensors: own }];
  });
}

/** The name, otherwise the id, of the area of its first sensor; null without sensors. */
export function machineArea({ sensors }: Pick<SiteMachine, "sensors">): string | null {
  const location = sensors.find((sensor) => sensor.location !== undefined)?.location;
  return location === undefined ? null : (location.names?.area ?? `${location.area}`);
}

/** Machines have no kinds, codes and values: an uplink that selects by them has none. */
export const selectsMachines = ({ kinds, sensors, values }: Select) =>
  kinds.length + sensors.length + values.length === 0;

/** Whether an uplink with machines has this one; an area has it if one of its sensors stands there. */
export function selectsMachine(select: Select, { id, sensors }: SiteMachine): boolean {
  const { areas, machines } = select;
  const isIn = (area: number) => sensors.some(({ location }) => location?.area === area);
  return (
    selectsMachines(select) &&
    (machines.length === 0 || machines.includes(id)) &&
    (areas.length === 0 || areas.some(isIn))
  );
}

/** The id of a machine's Sparkplug device. */
export const machineDevice = (id: number) => `machine-${id}`;

const DEVICE = /^machine-\d+$/;
const MACHINES_MAX = 1_000;

export interface MachineFault {
  readonly member: "machines" | "sparkplug.machines";
  readonly problem: string;
  readonly remedy: string;
}

export function machineFaults(
  { machines, select, sparkplug }: Pick<Uplink, "machines" | "select" | "sparkplug">,
  site: Site,
): MachineFault[] {
  const hasDevices = sparkplug?.machines === true;
  if (!machines && !hasDevices) return [];
  const faults: MachineFault[] = [];
  const member = machines ? "machines" : "sparkplug.machines";
  const count = siteMachines(site).filter((machine) => selectsMachine(select, machine)).length;
  if (count > MACHINES_MAX)
    faults.push({
      member,
      problem: `this uplink would have ${count} machines, but ${MACHINES_MAX} are the most`,
      remedy: "select areas or machines",
    });
  const taken = site.sensors.find(({ code }) => DEVICE.test(topicLevel(code.trim())));
  if (hasDevices && taken !== undefined)
    faults.push({
      member: "sparkplug.machines",
      problem: `the sensor ${taken.code} would have the Sparkplug device of a machine`,
      remedy: "give it another code, or publish machines without Sparkplug",
    });
  return faults;
}

/** Where the store records what is retained about machines at the broker of an uplink. */
export const machinesKey = (uplink: string) => `machines:${uplink}`;
