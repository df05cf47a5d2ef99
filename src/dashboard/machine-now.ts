/** What the page may say of a machine and its sensors while the gateway is silent: what nobody can know is not shown as known. */
import type { ShownSensor } from "../core/query/shown.ts";
import type { RankedMachine } from "../features/condition/rules/shown.ts";
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
export function isOld(
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

export interface MachineNow {
  readonly condition: Condition;
  /** Since when nothing is known of it, ms; null while something is. */
  readonly notKnownSinceMs: number | null;
}

/** An alarm or warning stands until something else is known; every other word is of before. */
export function machineNow(model: Model, machine: RankedMachine): MachineNow {
  const { condition } = machine;
  const known = { condition, notKnownSinceMs: null };
  if (!isGatewayDown(model)) return known;
  const sensors = machine.sensors.flatMap((code) => model.sensors.get(code) ?? []);
  const nowMs = model.gatewayNowMs();
  if (sensors.length === 0 || !sensors.every((sensor) => isOld(sensor, nowMs))) return known;
  const times = sensors.flatMap(({ lastReadingMs }) => lastReadingMs ?? []);
  const stays = condition === "alarm" || condition === "warning";
  return {
    condition: stays ? condition : "unknown",
    notKnownSinceMs: times.length === 0 ? null : Math.max(...times),
  };
}
