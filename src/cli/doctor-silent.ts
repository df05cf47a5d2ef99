/** Why a sensor has no record of today: whether another type, kind or day of the same serial number has some. */

import { type PolledKind, type Sensor } from "../core/sensor.ts";
import type { Site } from "../core/site.ts";
import { addDays } from "../core/time/time-zone.ts";
import { readOnce } from "../pipeline/poll/one-read.ts";
import type { GatewayAccess } from "./gateway-access.ts";

/** Sensors that are looked into, and requests for each: a site that is all wrong is not searched for minutes. */
export const SILENT_MAX = 5;
const TRIES_MAX = 12;

export interface SilentRead {
  readonly sensor: Sensor;
  readonly kind: PolledKind;
  /** In the gateway's zone. */
  readonly day: string;
}

/** What to change; null if nothing that was tried has a record. Tries only what the site file has for others. */
export async function causeOfSilence(
  gateway: GatewayAccess,
  site: Site,
  { sensor, kind, day }: SilentRead,
  signal: AbortSignal,
): Promise<string> {
  const types = unique(site.sensors.map(({ type }) => type)).filter((type) => type !== sensor.type);
  const kinds = unique(site.sensors.flatMap((one) => one.kinds)).filter(
    (one) => !sensor.kinds.includes(one),
  );
  const tries = [
    ...[addDays(day, -1), addDays(day, 1)].map((other) => ({
      asked: { sensor, kind, day: other },
      cause: `it has records of ${other}: the sensor has stopped, or GATEWAY_TIMEZONE is not the gateway's`,
    })),
    ...types.map((type) => ({
      asked: { sensor: { ...sensor, type }, kind, day },
      cause: `the gateway has records of it as type ${type}: correct "type", which is ${sensor.type}`,
    })),
    ...kinds.map((other) => ({
      asked: { sensor, kind: other, day },
      cause: `the gateway has records of it as ${other}: correct "kinds"`,
    })),
  ];
  for (const { asked, cause } of tries.slice(0, TRIES_MAX)) {
    if (signal.aborted) break;
    const { result, count } = await readOnce(gateway, asked, signal);
    if (result.ok && (count > 0 || (result.rejected?.count ?? 0) > 0)) return cause;
  }
  return `the gateway has no record under ${sensor.code} with any type and kind of the site file: its serial number or its type is wrong, or the sensor is off or not paired`;
}

const unique = <T>(all: readonly T[]): T[] => [...new Set(all)];
