/** State and speed of machines at a time, by the signals that the site file names. */
import type { Machine, RunningSignal } from "../machine.ts";
import { type Kind, normalCode, type Sensor, type Site } from "../sensor.ts";
import type { FollowedReading, MachineState } from "./follow-up.ts";
import type { SensorAlarms } from "./sensor-alarms.ts";
import { addPoint, numberOf, type SignalPoint, type SignalPoints, valueAt } from "./signal.ts";

interface Signal {
  /** Normalised code. */
  readonly sensor: string;
  readonly kind: Kind;
  readonly value: string;
}

type Look = (code: string) => Pick<SensorAlarms, "signals">;
/** The newest point of a signal at or before a time, ms, if those in memory do not reach back that far. */
export type Earlier = (
  sensor: string,
  kind: Kind,
  value: string,
  timeMs: number,
) => SignalPoint | null;

export class MachineWatch {
  readonly #machines: ReadonlyMap<number, Machine>;
  readonly #signals: readonly Signal[];
  readonly #look: Look;
  readonly #earlier: Earlier | undefined;

  constructor(site: Site, look: Look, earlier: Earlier | undefined) {
    this.#look = look;
    this.#earlier = earlier;
    const machines = site.machines ?? [];
    this.#machines = new Map(machines.map((machine) => [machine.id, machine]));
    const bySignal = new Map<string, Signal>();
    for (const { running, speed } of machines) {
      const found = [
        ...(running === undefined ? [] : [signalOf(running)]),
        ...(speed === undefined ? [] : [speedSignal(speed.sensor)]),
      ];
      for (const signal of found) {
        bySignal.set(`${signal.sensor} ${signal.kind}/${signal.value}`, signal);
      }
    }
    this.#signals = [...bySignal.values()];
  }

  get signals(): readonly { readonly sensor: string; readonly kind: Kind }[] {
    return this.#signals;
  }

  isSignal(code: string, kind: Kind): boolean {
    return this.#signals.some((signal) => signal.sensor === code && signal.kind === kind);
  }

  /** Remembers what a reading says about the machines. */
  note(state: SensorAlarms, code: string, kind: Kind, reading: FollowedReading): void {
    for (const signal of this.#signals) {
      if (signal.sensor !== code || signal.kind !== kind) continue;
      const isBad = reading.quality[signal.value]?.quality === "bad";
      const value = isBad ? null : numberOf(reading.values[signal.value]);
      const key = keyOf(signal);
      const points = state.signals.get(key) ?? [];
      state.signals.set(key, addPoint(points, { timeMs: reading.timeMs, value }));
    }
  }

  hasRunning(sensor: Sensor): boolean {
    return this.#runningOf(sensor) !== undefined;
  }

  /** Whether readings of this sensor and kind show when the machine of `sensor` runs. */
  isRunningSignal(sensor: Sensor, code: string, kind: Kind): boolean {
    const running = this.#runningOf(sensor);
    return running?.kind === kind && normalCode(running.sensor) === code;
  }

  #runningOf({ location }: Sensor): RunningSignal | undefined {
    return location === undefined ? undefined : this.#machines.get(location.machine)?.running;
  }

  stateAt(sensor: Sensor, timeMs: number): MachineState | null {
    const running = this.#runningOf(sensor);
    if (running === undefined) return null;
    const value = this.#at(signalOf(running), timeMs);
    if (value === null) return null;
    return isRunning(running, value) ? "running" : "standing";
  }

  speedAt(machine: number, timeMs: number): number | null {
    const speed = this.#machines.get(machine)?.speed;
    if (speed === undefined) return null;
    return this.#at(speedSignal(speed.sensor), timeMs);
  }

  #at(signal: Signal, timeMs: number): number | null {
    const points: SignalPoints = this.#look(signal.sensor).signals.get(keyOf(signal)) ?? [];
    const oldest = points[0]?.timeMs ?? Number.POSITIVE_INFINITY;
    if (timeMs >= oldest || this.#earlier === undefined) return valueAt(points, timeMs);
    const point = this.#earlier(signal.sensor, signal.kind, signal.value, timeMs);
    return point === null ? null : valueAt([point, ...points], timeMs);
  }
}

function signalOf({ sensor, kind, value }: RunningSignal): Signal {
  return { sensor: normalCode(sensor), kind, value };
}

function speedSignal(sensor: string): Signal {
  return { sensor: normalCode(sensor), kind: "rpm", value: "rpm" };
}

const keyOf = ({ kind, value }: Signal) => `${kind}/${value}`;

function isRunning({ above, below, is }: RunningSignal, value: number): boolean {
  if (above !== undefined) return value > above;
  if (below !== undefined) return value < below;
  return (value !== 0) === (is ?? true);
}
