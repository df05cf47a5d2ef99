/** What the page may say of a machine and its sensors while the gateway is silent: what nobody can know is not shown as known. */

import type { RankedMachine } from "../core/condition/shown.ts";
import type { ShownSensor } from "../core/query/shown.ts";
import type { Model } from "./model.ts";

type Condition = RankedMachine["condition"];

const INTERVALS_MAX = 3;
/** Of a sensor whose cadence is not learned yet. */
const USUAL_INTERVAL_S = 600;

export function isGatewayDown({ status }: Model): boolean {
  if (status === null) return false;
  const { isUp, isNeeded, lastAnswerAtMs, lastError } = status.gateway;
  return !isUp && isNeeded !== false && (lastAnswerAtMs !== null || lastError !== null);
}

/** Nothing of it came within three of its intervals. */
function isOld(
  { lastReadingMs, reads }: Pick<ShownSensor, "lastReadingMs" | "reads">,
  nowMs: number,
): boolean {
  if (lastReadingMs === null) return true;
  const known = reads.flatMap(({ cadenceS }) => cadenceS ?? []);
  const intervalS = known.length === 0 ? USUAL_INTERVAL_S : Math.max(...known);
  return nowMs - lastReadingMs > INTERVALS_MAX * intervalS * 1000;
}

/** The gateway is down, and what this sensor told last is older than three of its intervals. */
export function isNotKnown(model: Model, sensor: ShownSensor): boolean {
  return isGatewayDown(model) && isOld(sensor, model.gatewayNowMs());
}

/** False for a sensor that is silent, not read or not known: what it told last is not what is. */
export function isLive(model: Model, sensor: ShownSensor): boolean {
  return sensor.state === "online" && !isNotKnown(model, sensor);
}

export interface MachineNow {
  readonly condition: Condition;
  /** Since when nothing came of any of its sensors, ms; null while something does. */
  readonly notLiveSinceMs: number | null;
  /** The gateway is down: nobody can know, either. */
  readonly isNotKnown: boolean;
}

/** An alarm or warning stands until something else is known; every other word is of before. */
export function machineNow(model: Model, machine: RankedMachine): MachineNow {
  const { condition } = machine;
  const sensors = machine.sensors.flatMap((code) => model.sensors.get(code) ?? []);
  const times = sensors.flatMap(({ lastReadingMs }) => lastReadingMs ?? []);
  const isSilent = times.length > 0 && !sensors.some((sensor) => isLive(model, sensor));
  const sinceMs = isSilent ? Math.max(...times) : null;
  const nowMs = model.gatewayNowMs();
  const areOld = sensors.length > 0 && sensors.every((sensor) => isOld(sensor, nowMs));
  if (!isGatewayDown(model) || !areOld)
    return { condition, notLiveSinceMs: sinceMs, isNotKnown: false };
  const stays = condition === "alarm" || condition === "warning";
  return {
    condition: stays ? condition : "unknown",
    notLiveSinceMs: sinceMs,
    isNotKnown: true,
  };
}
