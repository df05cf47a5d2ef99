import type { AlarmRule } from "./alarm/rule.ts";
import type { Machine } from "./machine.ts";
import { isRead, type Sensor, type StateRead } from "./sensor.ts";

export interface Site {
  readonly site: string;
  readonly sensors: readonly Sensor[];
  readonly machines?: readonly Machine[];
  readonly alarms?: readonly AlarmRule[];
  /** Consecutive readings in zone C that or D that raise the built-in warning; default 2. */
  readonly zoneReadings?: number;
}

/** Whether anything of the site is read through the gateway; registers are read from their own devices. */
export function readsGateway({ sensors }: Pick<Site, "sensors">): boolean {
  const isThroughIt = (read: StateRead) => read.via !== "modbus";
  const reads = sensors.filter(isRead);
  // A site without sensors yet will have some.
  if (reads.length === 0) return true;
  return reads.some(({ kinds, stateReads }) => kinds.length > 0 || stateReads?.some(isThroughIt));
}
