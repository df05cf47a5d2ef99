/**
 * The alarm state of each sensor, as the running transaction leaves it. Sensors are identified by their normalised code.
 * Texts are the content of the store; a text is written only if it differs from the last one.
 */
import { normalCode } from "../sensor.ts";
import { type Tx, TxMap } from "../tx.ts";
import { boundSamples } from "./baseline-samples.ts";
import type { AlarmEvent } from "./event.ts";
import type { FollowUp, LearningSample } from "./follow-up.ts";
import type { SavedAlarms } from "./ports.ts";
import {
  type AlarmState,
  copySensor,
  emptySensor,
  isNothing,
  loadSensor,
  type SensorAlarms,
  saveSensor,
} from "./sensor-alarms.ts";

const NO_SENSOR: SensorAlarms = emptySensor();

export class AlarmStates {
  readonly #states = new TxMap<string, SensorAlarms>();
  readonly #texts = new TxMap<string, string | null>();

  /** Replaces everything with what the store holds. Returns the sensors whose text cannot be read. */
  load(saved: SavedAlarms["states"]): readonly string[] {
    this.#states.clear();
    this.#texts.clear();
    const damaged: string[] = [];
    for (const { sensor, text } of saved) {
      const code = normalCode(sensor);
      try {
        this.#states.set(code, loadSensor(text));
        this.#texts.set(code, text);
      } catch {
        damaged.push(sensor);
      }
    }
    return damaged;
  }

  /** All texts, for a store that was recreated and lost some of them. */
  saved(): FollowUp["states"] {
    return [...this.#texts].map(([sensor, text]) => ({ sensor, text }));
  }

  /** The sensors with remembered state. */
  codes(): ReadonlySet<string> {
    return new Set(this.#states.keys());
  }

  /** Read-only. */
  of(code: string): SensorAlarms {
    return this.#states.get(code) ?? NO_SENSOR;
  }

  /** For changes within a transaction: a copy that is the state from now on, unless it is rolled back. */
  edit(tx: Tx, code: string): SensorAlarms {
    const copies = tx.draft(this, () => new Map<string, SensorAlarms>());
    const known = copies.get(code);
    if (known !== undefined) return known;
    const copy = copySensor(this.of(code));
    copies.set(code, copy);
    this.#states.change(tx, code, copy);
    return copy;
  }

  /** For changes outside any transaction: for state read back from the store. */
  loaded(code: string): SensorAlarms {
    const state = this.#states.get(code) ?? emptySensor();
    this.#states.set(code, state);
    return state;
  }

  /** Sets the state of one alarm; an alarm with nothing to remember is removed. */
  put(tx: Tx, code: string, key: string, alarm: AlarmState): void {
    const state = this.edit(tx, code);
    state.isChanged = true;
    if (isNothing(alarm)) state.live.delete(key);
    else state.live.set(key, alarm);
  }

  /** Every live alarm that is remembered, active or not. */
  *live(): Generator<[code: string, key: string, state: AlarmState]> {
    for (const code of this.codes()) {
      for (const [key, state] of this.of(code).live) yield [code, key, state];
    }
  }

  /** What the transaction has to write for these events, and for the sensors that changed. */
  followUp(
    tx: Tx,
    codes: Iterable<string>,
    events: readonly AlarmEvent[],
    samples: readonly LearningSample[] = [],
  ): FollowUp {
    const states: { sensor: string; text: string | null }[] = [];
    const forgotten: string[] = [];
    for (const code of new Set(codes)) {
      const state = this.of(code);
      if (boundSamples(state)) forgotten.push(code);
      if (!state.isChanged) continue;
      const text = saveSensor(state);
      if (text === (this.#texts.get(code) ?? null)) continue;
      this.#texts.change(tx, code, text);
      states.push({ sensor: code, text });
    }
    const sampled = samples.map((sample) => ({ ...sample, sensor: normalCode(sample.sensor) }));
    return { events, states, samples: sampled, forgotten };
  }
}
