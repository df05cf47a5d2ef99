/** Which signals show the state and speed of the machines, by the site file. */
import type { Machine, RunningSignal } from "../../../core/machine.ts";
import { successors } from "../../../core/replacement.ts";
import { isRead, type Kind, normalCode, type Sensor, streamKey } from "../../../core/sensor.ts";
import { type Site } from "../../../core/site.ts";

/** One value of a sensor and kind. */
export interface Signal {
  /** Of the stream and value. */
  readonly key: string;
  /** Normalised code. */
  readonly sensor: string;
  readonly kind: Kind;
  readonly value: string;
  /** False for a sensor or kind that is never read: nothing waits for it. */
  readonly isRead: boolean;
}

export interface MachineSignalsOf {
  readonly machine: Machine;
  readonly running: Signal | null;
  readonly speed: Signal | null;
}

export class MachineSignals {
  readonly #machines = new Map<number, MachineSignalsOf>();
  readonly #bySensor = new Map<string, MachineSignalsOf>();
  /** Normalised codes. */
  readonly #mounted = new Map<MachineSignalsOf, string[]>();
  /** By stream. */
  readonly #byStream = new Map<string, Signal[]>();

  constructor(site: Site) {
    if ((site.machines ?? []).length === 0) return;
    const sensors = new Map(site.sensors.map((sensor) => [normalCode(sensor.code), sensor]));
    const next = successors(site.sensors);
    // The signal goes on with the sensor that replaces its own.
    const signalOf = (code: string, kind: Kind, value: string) =>
      this.#intern(sensors, normalCode(next.get(normalCode(code))?.code ?? code), kind, value);
    for (const machine of site.machines ?? []) {
      const { running, speed } = machine;
      this.#machines.set(machine.id, {
        machine,
        running:
          running === undefined ? null : signalOf(running.sensor, running.kind, running.value),
        speed: speed === undefined ? null : signalOf(speed.sensor, "rpm", "rpm"),
      });
    }
    for (const [code, { location }] of sensors) {
      const found = location === undefined ? undefined : this.#machines.get(location.machine);
      if (found === undefined) continue;
      this.#bySensor.set(code, found);
      this.#mounted.set(found, [...(this.#mounted.get(found) ?? []), code]);
    }
  }

  #intern(sensors: ReadonlyMap<string, Sensor>, sensor: string, kind: Kind, value: string): Signal {
    const stream = streamKey(sensor, kind);
    const known = this.#byStream.get(stream) ?? [];
    this.#byStream.set(stream, known);
    const same = known.find((signal) => signal.value === value);
    if (same !== undefined) return same;
    const config = sensors.get(sensor);
    const isPolled =
      config !== undefined && isRead(config) && config.kinds.some((one) => one === kind);
    const signal = { key: `${stream}/${value}`, sensor, kind, value, isRead: isPolled };
    known.push(signal);
    return signal;
  }

  get all(): readonly Signal[] {
    return [...this.#byStream.values()].flat();
  }

  /** Signals among the values of a sensor and kind. */
  ofStream(code: string, kind: Kind): readonly Signal[] {
    return this.#byStream.get(streamKey(code, kind)) ?? [];
  }

  /** Those of the machine on which a sensor is mounted; undefined without a machine. */
  ofSensor(code: string): MachineSignalsOf | undefined {
    return this.#bySensor.get(code);
  }

  /** The sensors on its machine. */
  mountedOn(of: MachineSignalsOf): readonly string[] {
    return this.#mounted.get(of) ?? [];
  }

  ofMachine(id: number): MachineSignalsOf | undefined {
    return this.#machines.get(id);
  }
}

/** Whether a machine runs by a value of its signal. */
export function isRunning({ above, below, is }: RunningSignal, value: number): boolean {
  if (above !== undefined) return value > above;
  if (below !== undefined) return value < below;
  return (value !== 0) === (is ?? true);
}
