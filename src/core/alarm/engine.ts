/**
 * The alarm engine: takes readings in the order of their arrival, returns transitions. It does no I/O: every method
 * that changes a state returns what must be written, and the caller writes it in the transaction that stores the
 * readings. `committed` makes the change the state of the engine, `undone` drops it.
 */
import type { SensorState } from "../agent-status.ts";
import { type Kind, normalCode, type Site } from "../sensor.ts";
import { type BaselineState, learn, UNLEARNED } from "./baseline.ts";
import { BaselineSamples } from "./baseline-samples.ts";
import { compileAlarms, type Watch } from "./compile.ts";
import { type AlarmContext, isFollowed, machineStateAt } from "./context.ts";
import type { AlarmEvent } from "./event.ts";
import type {
  FollowedReading,
  FollowUp,
  LearningSample,
  MachineState,
  ReadingFollower,
} from "./follow-up.ts";
import { type FoundAlarm, findAlarm, refreshed, shownAlarms } from "./found-alarm.ts";
import { type Earlier, MachineWatch } from "./machine-watch.ts";
import { applyOperatorChange, relearn } from "./operator-changes.ts";
import type { SavedAlarms } from "./ports.ts";
import { ReadingPass } from "./reading-pass.ts";
import type { Learned } from "./reading-step.ts";
import { reconcile } from "./reconcile.ts";
import type { AlarmState } from "./sensor-alarms.ts";
import { AlarmStates } from "./states.ts";
import { applyTime, hasTimeChanges } from "./time-changes.ts";

export interface EngineOptions {
  /** Signals older than those in memory. */
  readonly earlier?: Earlier;
  /** Called after the commit, with the events in order. */
  readonly onEvents?: (events: readonly AlarmEvent[]) => void;
}

const NOTHING: FollowUp = { events: [], states: [], samples: [], forgotten: [] };

export class AlarmEngine implements ReadingFollower {
  readonly #options: EngineOptions;
  readonly #states = new AlarmStates();
  readonly #samples = new BaselineSamples();
  #context: AlarmContext;

  constructor(site: Site, options: EngineOptions = {}) {
    this.#options = options;
    this.#context = this.#compile(site);
  }

  /** Applies another site file. The states of what it still defines stay; `reconcile` ends the others. */
  setSite(site: Site): void {
    this.#context = this.#compile(site);
  }

  #compile(site: Site): AlarmContext {
    const states = this.#states;
    const machines = new MachineWatch(site, (code) => states.of(code), this.#options.earlier);
    return { site, sensors: compileAlarms(site), machines, states, samples: this.#samples };
  }

  get site(): Site {
    return this.#context.site;
  }

  /* ---------- content of the store ---------- */

  /** Replaces every state with those of the store. Texts that cannot be read are skipped; returns their sensors. */
  load(saved: SavedAlarms): readonly string[] {
    this.#samples.clear();
    const damaged = [...this.#states.load(saved.states)];
    for (const sample of saved.samples) {
      try {
        this.#loadSample(sample);
      } catch {
        damaged.push(sample.sensor);
      }
    }
    return damaged;
  }

  #loadSample({ sensor, number, text }: LearningSample): void {
    const code = normalCode(sensor);
    const state = this.#states.committed(code);
    state.nextSample = Math.max(state.nextSample, number + 1);
    for (const [key, [value, zone]] of Object.entries(JSON.parse(text) as Learned)) {
      const before = state.baselines.get(key) ?? UNLEARNED;
      if (before.first !== null || number < before.from) continue;
      const watch = this.#context.sensors.get(code)?.byKey.get(key.slice(0, key.lastIndexOf("@")));
      if (watch?.test.type !== "baseline") continue;
      const seen = { value, zone, timeMs: state.newest.get(watch.kind)?.timeMs ?? 0 };
      state.baselines.set(key, learn(before, this.#samples.of(code, key), watch.test, seen));
    }
  }

  /** Every state with the changes of the running transaction, for a store that was recreated and lost some of them. */
  saved(): FollowUp {
    return { ...NOTHING, states: this.#states.saved() };
  }

  /** Sets the newest stored reading of a sensor and kind: readings that are not newer count as late. */
  prime(
    sensor: string,
    kind: Kind,
    newest: { readonly timeMs: number; readonly id: string },
  ): void {
    const state = this.#states.committed(normalCode(sensor));
    const known = state.newest.get(kind);
    if (known === undefined || newest.timeMs > known.timeMs) state.newest.set(kind, newest);
  }

  /** Sets the stored readings of a machine's signal. */
  primeSignal(sensor: string, kind: Kind, readings: readonly FollowedReading[]): void {
    const code = normalCode(sensor);
    const state = this.#states.committed(code);
    for (const reading of readings) this.#context.machines.note(state, code, kind, reading);
  }

  /** Sensors and kinds that show a machine's state or speed. */
  get signals(): readonly { readonly sensor: string; readonly kind: Kind }[] {
    return this.#context.machines.signals;
  }

  /* ---------- readings ---------- */

  isFollowed(sensor: string, kind: Kind): boolean {
    return isFollowed(this.#context, sensor, kind);
  }

  follow(sensor: string, kind: Kind, readings: readonly FollowedReading[]): FollowUp {
    const compiled = this.#context.sensors.get(normalCode(sensor));
    if (compiled === undefined) return NOTHING;
    return new ReadingPass(this.#context).take(compiled, kind, readings);
  }

  committed(): void {
    const events = this.#states.commit();
    if (events.length > 0) this.#options.onEvents?.(events);
  }

  undone(): void {
    this.#states.undo();
  }

  machineStateFor(sensor: string, kind: Kind, timeMs: number): MachineState | null {
    if (this.#context.machines.isSignal(normalCode(sensor), kind)) return null;
    return this.machineState(sensor, timeMs);
  }

  /**
   * Whether the machine of a sensor was running at a time, ms; null while that is unknown, or if no signal shows it.
   */
  machineState(sensor: string, timeMs: number): MachineState | null {
    return machineStateAt(this.#context, sensor, timeMs);
  }

  /** Shaft speed of a machine at a time, r/min; null while it is unknown. */
  speedAt(machine: number, timeMs: number): number | null {
    return this.#context.machines.speedAt(machine, timeMs);
  }

  /* ---------- time, site file and people ---------- */

  /** Whether `tick` would change anything. */
  hasNews(nowMs: number, sensors: readonly SensorState[]): boolean {
    return hasTimeChanges(this.#context, nowMs, sensors);
  }

  /** Raises and clears the alarms of silent sensors, and ends shelves. */
  tick(nowMs: number, sensors: readonly SensorState[], isGatewayUp: boolean): FollowUp {
    return applyTime(this.#context, nowMs, sensors, isGatewayUp);
  }

  /** Ends what the site file no longer defines. */
  reconcile(nowMs: number): FollowUp {
    return reconcile(this.#context, nowMs);
  }

  /** Starts the baselines of a watch again. Null if it has none. */
  relearn(sensor: string, alarm: string, value: string, nowMs: number): FollowUp | null {
    return relearn(this.#context, sensor, alarm, value, nowMs);
  }

  /**
   * Applies an operator's action to an alarm, and reports it while the alarm is active.
   * @param word the action, as part of the event's id
   */
  change(
    found: FoundAlarm,
    next: Pick<AlarmState, "acknowledged" | "shelved" | "note">,
    word: string,
    nowMs: number,
  ): FollowUp {
    return applyOperatorChange(this.#context, found, next, word, nowMs);
  }

  /* ---------- views ---------- */

  /** Every alarm that is active or shelved. */
  alarms(): Iterable<FoundAlarm> {
    return shownAlarms(this.#context);
  }

  /** The alarm that the id of an event or of an alarm belongs to. */
  find(id: string): FoundAlarm | null {
    return findAlarm(this.#context, id);
  }

  /** The same alarm with its current state. */
  refreshed(found: FoundAlarm): FoundAlarm {
    return refreshed(this.#context, found);
  }

  /** Active alarms of a sensor. */
  active(sensor: string): readonly AlarmState[] {
    const { live } = this.#states.of(normalCode(sensor));
    return live.size === 0 ? [] : [...live.values()].filter(({ raised }) => raised !== null);
  }

  /** Time of the newest reading of a sensor and kind, ms; null before the first. */
  newestMs(sensor: string, kind: Kind): number | null {
    return this.#states.of(normalCode(sensor)).newest.get(kind)?.timeMs ?? null;
  }

  /** What is watched of a sensor. */
  watches(sensor: string): readonly Watch[] {
    return [...(this.#context.sensors.get(normalCode(sensor))?.byKey.values() ?? [])];
  }

  /** Baselines of a sensor by `alarm/value@running state`. */
  baselines(sensor: string): ReadonlyMap<string, BaselineState> {
    return this.#states.of(normalCode(sensor)).baselines;
  }
}
