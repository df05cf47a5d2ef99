import type { Kind, Site } from "../sensor.ts";
import { normalCode } from "../sensor.ts";
import type { BaselineSamples } from "./baseline-samples.ts";
import type { CompiledSensor } from "./compile.ts";
import type { MachineState } from "./follow-up.ts";
import type { MachineWatch } from "./machine-watch.ts";
import type { AlarmStates } from "./states.ts";

/** Shared by the parts of the alarm engine: the compiled site file, and the remembered state. */
export interface AlarmContext {
  readonly site: Site;
  /** By normalised code. */
  readonly sensors: ReadonlyMap<string, CompiledSensor>;
  readonly machines: MachineWatch;
  readonly states: AlarmStates;
  readonly samples: BaselineSamples;
}

/** Whether the machine of a sensor was running at a time, ms; null while that is unknown, or if no signal shows it. */
export function machineStateAt(
  { sensors, machines }: AlarmContext,
  sensor: string,
  timeMs: number,
): MachineState | null {
  const compiled = sensors.get(normalCode(sensor));
  return compiled === undefined ? null : machines.stateAt(compiled.sensor, timeMs);
}

/** Whether anything of a sensor and kind is watched, is a signal of a machine, or may still clear an alarm. */
export function isFollowed(
  { sensors, machines, states }: AlarmContext,
  sensor: string,
  kind: Kind,
): boolean {
  const code = normalCode(sensor);
  const compiled = sensors.get(code);
  if (compiled === undefined) return false;
  if ((compiled.watches.get(kind) ?? []).length > 0) return true;
  if (machines.isSignal(code, kind)) return true;
  const { live, past } = states.of(code);
  return live.size > 0 || past.size > 0;
}
