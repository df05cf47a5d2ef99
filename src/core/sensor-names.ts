/** What sensors are called in sentences for people (plant sections 26 and 28). */

import type { Machine } from "./machine.ts";
import { type Sensor, sameCode } from "./sensor.ts";
import type { Site } from "./site.ts";

type NamedSensor = Pick<Sensor, "code" | "name" | "location">;

const ownName = ({ name, location }: NamedSensor) => name ?? location?.names?.point;

/** Whether people call it anything but its code. */
export const isNamed = (sensor: NamedSensor) => ownName(sensor) !== undefined;

/** How many sensors of a site have each name. */
const counted = new WeakMap<Site["sensors"], ReadonlyMap<string, number>>();

function namesakes({ sensors }: Pick<Site, "sensors">, name: string): number {
  let counts = counted.get(sensors);
  if (counts === undefined) {
    const made = new Map<string, number>();
    for (const sensor of sensors) {
      const own = ownName(sensor);
      if (own !== undefined) made.set(own, (made.get(own) ?? 0) + 1);
    }
    counts = made;
    counted.set(sensors, counts);
  }
  return counts.get(name) ?? 0;
}

/** Its name, or that of its point; with the code where two share it, and `sensor` with the code where there is none. */
export function nameInSite(sensor: NamedSensor, site: Pick<Site, "sensors">): string {
  const own = ownName(sensor);
  if (own === undefined) return `sensor ${sensor.code}`;
  return namesakes(site, own) > 1 ? `${own} (${sensor.code})` : own;
}

/** The same at the beginning of a sentence; names stay as they are written. */
export function nameAtStart(sensor: NamedSensor, site: Pick<Site, "sensors">): string {
  return ownName(sensor) === undefined ? `Sensor ${sensor.code}` : nameInSite(sensor, site);
}

const machineWords = ({ id, name }: Pick<Machine, "id" | "name">) => name ?? `machine ${id}`;

/** Where it is mounted: its name, and its machine where the name does not say that. */
export function placeInSite(sensor: NamedSensor, site: Pick<Site, "sensors" | "machines">): string {
  const own = nameInSite(sensor, site);
  const { location } = sensor;
  const machine =
    site.machines?.find(({ id }) => id === location?.machine)?.name ?? location?.names?.machine;
  const isTold = machine === undefined || own.toLowerCase().includes(machine.toLowerCase());
  return isTold ? own : `${own}, ${machine}`;
}

/** Machine and sensor; the machine once, where the sensor's name says it. */
export function findingPlace(
  machine: Machine,
  sensor: NamedSensor,
  site: Pick<Site, "sensors">,
): string {
  const [on, own] = [machineWords(machine), nameInSite(sensor, site)];
  return own.toLowerCase().includes(on.toLowerCase()) ? own : `${on}, ${own}`;
}

/** The same by a code, which the site may not know any more. */
export function placeOfCode(code: string, site: Pick<Site, "sensors" | "machines">): string {
  const sensor = site.sensors.find((one) => sameCode(one.code, code));
  return sensor === undefined ? `sensor ${code}` : placeInSite(sensor, site);
}
