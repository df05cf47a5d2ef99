import type { Site } from "../core/site.ts";
import { BELT_FAN } from "./plant.ts";

/** The bearing whose outer race every machine of the plant has. */
const BEARING = { name: "6205", balls: 9, ballMm: 7.94, pitchMm: 39.04 } as const;

/** The site with what findings and alarms need to know of its machines: when they run, how fast, and their bearings. */
export function diagnosedSite(site: Site): Site {
  const ids = [...new Set(site.sensors.flatMap(({ location }) => location?.machine ?? []))];
  const machines = ids.flatMap((id) => {
    const own = site.sensors.filter(({ location }) => location?.machine === id);
    const rpm = own.find(({ kinds }) => kinds.includes("rpm"));
    const name = own[0]?.location?.names?.machine;
    if (rpm === undefined || name === undefined) return [];
    const bearings = own.flatMap(({ kinds, location }) =>
      kinds.includes("accel") && location !== undefined
        ? [{ ...BEARING, point: location.point }]
        : [],
    );
    const points = own.flatMap(({ location }) =>
      location?.names?.point === BELT_FAN.pointName ? [location.point] : [],
    );
    return [
      {
        id,
        name,
        running: { sensor: rpm.code, kind: "rpm" as const, value: "rpm", above: 300 },
        speed: { sensor: rpm.code },
        lineHz: 50,
        bearings,
        ...(points.length === 0 ? {} : { shafts: [{ ...BELT_FAN.shaft, points }] }),
      },
    ];
  });
  return { ...site, machines, zoneReadings: 2 };
}
