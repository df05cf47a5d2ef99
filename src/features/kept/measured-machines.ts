/** State, speed and usual speed of machines, for the choice of the measurements that are kept (plant section 19). */

import { SPEED_MIN_RPM } from "../../core/bands/definition.ts";
import { median } from "../../core/lists/median.ts";
import { normalCode } from "../../core/sensor.ts";
import { fromSite, type SiteSource } from "../../core/site-source.ts";
import { isDatedAhead, type StoredReading, storedValues } from "../../core/stored-reading.ts";
import { DAY_MS } from "../../core/time-units.ts";
import { numberOf } from "../../core/value-number.ts";
import {
  isRunning,
  MachineSignals,
  type MachineSignalsOf,
  type Signal,
  type Wait,
} from "../machines/api.ts";

interface MachinesParts {
  readonly site: SiteSource;
  readonly wait: Pick<Wait, "machineAt" | "isAwaited" | "isBehind">;
  readonly history: {
    range(query: {
      readonly sensor: string;
      readonly kind: Signal["kind"];
      readonly fromMs: number;
      readonly toMs: number;
    }): Iterable<StoredReading>;
  };
  /** Gives others their turn. */
  readonly rest: () => Promise<void>;
}

const USUAL_MS = 30 * DAY_MS;
const ROWS_PER_TURN = 200;

export class MachinesOverHistory {
  readonly #parts: MachinesParts;
  /** By machine. */
  readonly #usual = new Map<number, { readonly rpm: number | null; readonly atMs: number }>();

  /** By normalised code of the sensor. */
  readonly #machineOfCode: () => ReadonlyMap<string, number | undefined>;

  constructor(parts: MachinesParts) {
    this.#parts = parts;
    this.#machineOfCode = fromSite(
      parts.site,
      ({ sensors }) =>
        new Map(sensors.map(({ code, location }) => [normalCode(code), location?.machine])),
    );
  }

  at(sensor: string, timeMs: number) {
    const { site, wait } = this.#parts;
    const machine = this.#machineOf(sensor);
    const there = wait.machineAt(sensor, timeMs);
    const hasSignal = site.current.machines?.find(({ id }) => id === machine)?.running;
    return { ...there, isRunning: hasSignal === undefined || there.running === true };
  }

  isAwaited(sensor: string, timeMs: number): boolean {
    return this.#parts.wait.isAwaited(sensor, timeMs);
  }

  usualRpm(sensor: string): number | null {
    return this.#usual.get(this.#machineOf(sensor) ?? -1)?.rpm ?? null;
  }

  together(sensor: string): readonly string[] {
    const machine = this.#machineOf(sensor);
    const others = this.#parts.site.current.sensors.filter(
      ({ code, location }) =>
        machine !== undefined &&
        location?.machine === machine &&
        normalCode(code) !== normalCode(sensor),
    );
    return [sensor, ...others.map(({ code }) => code)];
  }

  async refresh(nowMs: number): Promise<void> {
    const { site, wait } = this.#parts;
    const { current } = site;
    const signals = new MachineSignals(current);
    for (const { id } of current.machines ?? []) {
      const known = this.#usual.get(id);
      if (known !== undefined && Math.abs(nowMs - known.atMs) < DAY_MS) continue;
      const of = signals.ofMachine(id);
      const rpm = of === undefined ? null : await this.#usualOf(of, nowMs);
      // Of a part of the days it would hold for a day.
      const isPart = of !== undefined && wait.isBehind(of, nowMs);
      this.#usual.set(id, { rpm, atMs: isPart ? Number.NEGATIVE_INFINITY : nowMs });
    }
  }

  /** Median speed while running over 30 days, r/min; null if none was measured. */
  async #usualOf({ machine, running, speed }: MachineSignalsOf, nowMs: number) {
    if (speed === null) return null;
    const states = this.#points(running, nowMs);
    let state = await states.next();
    let runs = machine.running === undefined;
    const speeds: number[] = [];
    for await (const { timeMs, value } of this.#points(speed, nowMs)) {
      for (; state.done !== true && state.value.timeMs <= timeMs; state = await states.next()) {
        if (machine.running !== undefined) runs = isRunning(machine.running, state.value.value);
      }
      if (runs && value >= SPEED_MIN_RPM) speeds.push(value);
    }
    return speeds.length === 0 ? null : median(speeds);
  }

  async *#points(signal: Signal | null, nowMs: number) {
    if (signal === null) return;
    const { history, rest } = this.#parts;
    const { sensor, kind } = signal;
    let rows = 0;
    for (const reading of history.range({ sensor, kind, fromMs: nowMs - USUAL_MS, toMs: nowMs })) {
      rows += 1;
      if (rows % ROWS_PER_TURN === 0) await rest();
      const value = numberOf(storedValues(reading)[signal.value]);
      if (value !== null && !isDatedAhead(reading)) yield { timeMs: reading.timeMs, value };
    }
  }

  #machineOf(sensor: string): number | undefined {
    return this.#machineOfCode().get(normalCode(sensor));
  }
}
