/**
 * The alarm state of each sensor, in two layers: as committed, and as the running transaction leaves it. Sensors are
 * identified by their normalised code. Texts are the content of the store; a text is written only if it differs from
 * the last one.
 */
import { normalCode } from "../sensor.ts";
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
  readonly #committed = new Map<string, SensorAlarms>();
  readonly #staged = new Map<string, SensorAlarms>();
  readonly #texts = new Map<string, string | null>();
  readonly #stagedTexts = new Map<string, string | null>();
  #stagedEvents: AlarmEvent[] = [];

  /** Replaces everything with what the store holds. Returns the sensors whose text cannot be read. */
  load(saved: SavedAlarms["states"]): readonly string[] {
    this.#committed.clear();
    this.#texts.clear();
    this.undo();
    const damaged: string[] = [];
    for (const { sensor, text } of saved) {
      const code = normalCode(sensor);
      try {
        this.#committed.set(code, loadSensor(text));
        this.#texts.set(code, text);
      } catch {
        damaged.push(sensor);
      }
    }
    return damaged;
  }

  /** All texts as the running transaction leaves them, for a store that was recreated and lost some of them. */
  saved(): FollowUp["states"] {
    const texts = new Map([...this.#texts, ...this.#stagedTexts]);
    return [...texts].map(([sensor, text]) => ({ sensor, text }));
  }

  /** The sensors with remembered state. */
  codes(): ReadonlySet<string> {
    return new Set([...this.#committed.keys(), ...this.#staged.keys()]);
  }

  /** Read-only: the state of a sensor as the running transaction leaves it. */
  of(code: string): SensorAlarms {
    return this.#staged.get(code) ?? this.#committed.get(code) ?? NO_SENSOR;
  }

  /** For changes within the running transaction: a copy that `commit` makes the state and `undo` drops. */
  edit(code: string): SensorAlarms {
    const staged = this.#staged.get(code);
    if (staged !== undefined) return staged;
    const copy = copySensor(this.of(code));
    this.#staged.set(code, copy);
    return copy;
  }

  /** For immediate changes outside any transaction: for state read back from the store. */
  committed(code: string): SensorAlarms {
    const state = this.#committed.get(code) ?? emptySensor();
    this.#committed.set(code, state);
    return state;
  }

  /** Stages the state of one alarm; an alarm with nothing to remember is removed. */
  put(code: string, key: string, alarm: AlarmState): void {
    const state = this.edit(code);
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

  /** Stages the events, and returns what the transaction has to write for the sensors that changed. */
  followUp(
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
      if (text === this.#textOf(code)) continue;
      this.#stagedTexts.set(code, text);
      states.push({ sensor: code, text });
    }
    this.#stagedEvents.push(...events);
    const sampled = samples.map((sample) => ({ ...sample, sensor: normalCode(sample.sensor) }));
    return { events, states, samples: sampled, forgotten };
  }

  #textOf(code: string): string | null | undefined {
    if (this.#stagedTexts.has(code)) return this.#stagedTexts.get(code);
    return this.#texts.get(code) ?? null;
  }

  /** The staged changes are durable. Returns their events in order. */
  commit(): readonly AlarmEvent[] {
    for (const [code, state] of this.#staged) this.#committed.set(code, state);
    for (const [code, text] of this.#stagedTexts) this.#texts.set(code, text);
    const events = this.#stagedEvents;
    this.undo();
    return events;
  }

  /** Drops the staged changes. */
  undo(): void {
    this.#staged.clear();
    this.#stagedTexts.clear();
    this.#stagedEvents = [];
  }
}
