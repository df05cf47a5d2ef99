/** The alarm state of each sensor, identified by its normalised code. */
import type { Tx } from "../../../core/tx.ts";
import { boundSamples } from "./baseline-samples.ts";
import type { FollowUp } from "./follow-up.ts";
import { KeptStates } from "./kept-states.ts";
import {
  type AlarmState,
  copySensor,
  emptySensor,
  isNothing,
  isSameSensor,
  loadSensor,
  type SensorAlarms,
  saveSensor,
} from "./sensor-alarms.ts";

const NO_SENSOR: SensorAlarms = emptySensor();

export class AlarmStates extends KeptStates<SensorAlarms> {
  constructor() {
    super({ prefix: "", load: loadSensor, save: saveSensor, isSame: isSameSensor });
  }

  /** Read-only. */
  of(code: string): SensorAlarms {
    return this.get(code) ?? NO_SENSOR;
  }

  /** The code as the site file last wrote it. */
  written(code: string): string {
    return this.of(code).written ?? code;
  }

  /** For changes within a transaction: a copy that is the state from now on, unless it is rolled back. */
  edit(tx: Tx, code: string): SensorAlarms {
    const copies = tx.draft(this, () => new Map<string, SensorAlarms>());
    const copy = copies.get(code) ?? copySensor(this.of(code));
    if (copies.has(code)) this.touch(tx, code);
    else this.change(tx, code, copy);
    copies.set(code, copy);
    return copy;
  }

  /** For changes outside any transaction: for state read back from the store. */
  loaded(code: string): SensorAlarms {
    const state = this.get(code) ?? emptySensor();
    this.set(code, state);
    return state;
  }

  /** Sets the state of one alarm; an alarm with nothing to remember is removed. */
  put(tx: Tx, code: string, key: string, alarm: AlarmState): void {
    const { live } = this.edit(tx, code);
    if (isNothing(alarm)) live.delete(key);
    else live.set(key, alarm);
  }

  /** Every live alarm that is remembered, active or not. Whoever changes states meanwhile takes a copy. */
  *live(
    codes: ReadonlySet<string> | null = null,
  ): Generator<[code: string, key: string, state: AlarmState]> {
    const all =
      codes === null ? this.all() : [...codes].map((code) => [code, this.of(code)] as const);
    for (const [code, { live }] of all) {
      for (const [key, state] of live) yield [code, key, state];
    }
  }

  /** Sensors changed since the last time for which nothing is being learned any more. */
  forgotten(tx: Tx): FollowUp["forgotten"] {
    return [...this.unwritten(tx)].filter((code) => boundSamples(this.of(code)));
  }
}
