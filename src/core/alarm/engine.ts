/**
 * The alarm engine: takes readings in the order of their arrival, returns transitions. It does no I/O: every method
 * that changes a state returns what must be written, and the caller writes it in the transaction that stores the
 * readings. If that is rolled back, the change is taken back.
 */
import type { SensorState } from "../agent-status.ts";
import type { DayReadAt } from "../machine-state/signal-reads.ts";
import { Wait } from "../machine-state/wait.ts";
import { successors } from "../replacement.ts";
import { type Kind, normalCode, type Site } from "../sensor.ts";
import type { Tx } from "../tx.ts";
import { type BaselineState, learn, UNLEARNED } from "./baseline.ts";
import { BaselineSamples } from "./baseline-samples.ts";
import { compileAlarms, type Watch } from "./compile.ts";
import { type AlarmChange, type AlarmContext, isFollowed } from "./context.ts";
import type { AlarmEvent } from "./event.ts";
import { adoptFindings, restoreFindings } from "./finding-alarms.ts";
import type {
  FollowedReading,
  FollowUp,
  LearningSample,
  MachineState,
  ReadingFollower,
} from "./follow-up.ts";
import { type FoundAlarm, findAlarm, refreshed, shownAlarms } from "./found-alarm.ts";
import { applyOperatorChange, relearn } from "./operator-changes.ts";
import type { SavedAlarms } from "./ports.ts";
import { ReadingPass } from "./reading-pass.ts";
import type { Learned } from "./reading-step.ts";
import { reconcile } from "./reconcile.ts";
import type { AlarmState } from "./sensor-alarms.ts";
import { AlarmStates } from "./states.ts";
import { applyTime, hasTimeChanges, nextShelfEndMs } from "./time-changes.ts";

export interface EngineOptions {
  /** By default one without a store. */
  readonly wait?: Wait;
}

const NOTHING: FollowUp = { events: [], states: [], samples: [], forgotten: [] };

export class AlarmEngine implements ReadingFollower {
  readonly #states = new AlarmStates();
  readonly #samples = new BaselineSamples();
  readonly wait: Wait;
  #context: AlarmContext;

  constructor(site: Site, options: EngineOptions = {}) {
    this.wait = options.wait ?? new Wait(site);
    this.#context = this.#compile(site);
  }

  /** Applies another site file. The states of what it still defines stay; `reconcile` ends the others. */
  setSite(site: Site): void {
    this.wait.setSite(site);
    this.#context = this.#compile(site);
  }

  #compile(site: Site): AlarmContext {
    const states = this.#states;
    const { wait } = this;
    return {
      site,
      sensors: compileAlarms(site),
      successors: successors(site.sensors),
      wait,
      states,
      samples: this.#samples,
    };
  }

  get site(): Site {
    return this.#context.site;
  }

  /* ---------- content of the store ---------- */

  /** Replaces every state with those of the store. Texts that cannot be read are skipped; returns their sensors. */
  load(saved: SavedAlarms): readonly string[] {
    this.wait.load();
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
    const state = this.#states.loaded(code);
    state.nextSample = Math.max(state.nextSample, number + 1);
    for (const [key, [value, zone]] of Object.entries(JSON.parse(text) as Learned)) {
      const before = state.baselines.get(key) ?? UNLEARNED;
      if (before.first !== null || number < before.from) continue;
      const watch = this.#watchOf(code, key.slice(0, key.lastIndexOf("@")));
      if (watch?.test.type !== "baseline") continue;
      const seen = { value, zone, timeMs: state.newest.get(watch.kind)?.timeMs ?? 0 };
      state.baselines.set(key, learn(before, this.#samples.of(code, key), watch.test, seen));
    }
  }

  /** What is being learned of a place waits there for the sensor that replaces the one that is gone. */
  #watchOf(code: string, key: string): Watch | undefined {
    const { sensors, successors: next } = this.#context;
    const own = sensors.get(code)?.byKey.get(key);
    return own ?? sensors.get(normalCode(next.get(code)?.code ?? code))?.byKey.get(key);
  }

  /** Every state, for a store that was recreated and lost some of them. */
  saved(): FollowUp {
    return { ...NOTHING, states: this.#states.saved() };
  }

  /** Sets the newest stored reading of a sensor and kind: readings that are not newer count as late. */
  prime(
    sensor: string,
    kind: Kind,
    newest: { readonly timeMs: number; readonly id: string },
  ): void {
    const state = this.#states.loaded(normalCode(sensor));
    const known = state.newest.get(kind);
    if (known === undefined || newest.timeMs > known.timeMs) state.newest.set(kind, newest);
  }

  /* ---------- readings ---------- */

  isFollowed(sensor: string, kind: Kind): boolean {
    return isFollowed(this.#context, sensor, kind);
  }

  follow(
    tx: Tx,
    sensor: string,
    kind: Kind,
    readings: readonly FollowedReading[],
    read: DayReadAt | null = null,
  ): FollowUp {
    this.wait.note(tx, sensor, kind, readings, read);
    const compiled = this.#context.sensors.get(normalCode(sensor));
    if (compiled === undefined) return NOTHING;
    return new ReadingPass(this.#change(tx)).take(compiled, kind, readings);
  }

  #change(tx: Tx): AlarmChange {
    return { ...this.#context, tx };
  }

  /** Transitions of findings. */
  adoptFindings(tx: Tx, transitions: readonly AlarmEvent[]): FollowUp {
    return adoptFindings(this.#change(tx), transitions);
  }

  /** Findings that stood before this process. */
  restoreFindings(standing: readonly AlarmEvent[]): void {
    restoreFindings(this.#context, standing);
  }

  /** Judges what has waited for long enough. */
  judgeDue(tx: Tx): FollowUp {
    return new ReadingPass(this.#change(tx)).takeDue();
  }

  machineStateFor(sensor: string, kind: Kind, timeMs: number): MachineState | null {
    return this.wait.isSignal(sensor, kind) ? null : this.wait.stateAt(sensor, timeMs);
  }

  /* ---------- time, site file and people ---------- */

  /** Whether `tick` would change anything. */
  hasNews(nowMs: number, sensors: readonly SensorState[]): boolean {
    return hasTimeChanges(this.#context, nowMs, sensors);
  }

  /** When the next shelf ends, ms by the gateway's clock; null while nothing is shelved. */
  nextShelfEndMs(): number | null {
    return nextShelfEndMs(this.#context);
  }

  /** Raises and clears the alarms of silent sensors, and ends shelves. */
  tick(tx: Tx, nowMs: number, sensors: readonly SensorState[], isGatewayUp: boolean): FollowUp {
    return applyTime(this.#change(tx), nowMs, sensors, isGatewayUp);
  }

  /** Ends what the site file no longer defines. */
  reconcile(tx: Tx, nowMs: number): FollowUp {
    return reconcile(this.#change(tx), nowMs);
  }

  /** Starts the baselines of a watch again. Null if it has none. */
  relearn(tx: Tx, sensor: string, alarm: string, value: string, nowMs: number): FollowUp | null {
    return relearn(this.#change(tx), sensor, alarm, value, nowMs);
  }

  /**
   * Applies an operator's action to an alarm, and reports it while the alarm is active.
   * @param word the action, as part of the event's id
   */
  change(
    tx: Tx,
    found: FoundAlarm,
    next: Pick<AlarmState, "acknowledged" | "shelved" | "note">,
    word: string,
    nowMs: number,
    by: string,
  ): FollowUp {
    return applyOperatorChange(this.#change(tx), found, next, word, nowMs, by);
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

  /** Whether a reading of this sensor has been followed. */
  hasReadings(sensor: string): boolean {
    return this.#states.of(normalCode(sensor)).newest.size > 0;
  }

  /** Time of the newest reading of a sensor and kind, ms; null before the first. */
  newestMs(sensor: string, kind: Kind): number | null {
    return this.#states.of(normalCode(sensor)).newest.get(kind)?.timeMs ?? null;
  }

  /**
   * Time of the newest reading that an alarm has followed, ms; null before the first. @param key `alarm/value`
   */
  followedMs(sensor: string, key: string): number | null {
    const code = normalCode(sensor);
    const watch = this.#context.sensors.get(code)?.byKey.get(key);
    const kind = watch?.kind ?? this.#states.of(code).live.get(key)?.kind;
    if (kind === undefined) return null;
    const newestMs = this.newestMs(code, kind);
    const waitingMs = this.wait.firstWaitingMs(code, kind);
    return newestMs === null || waitingMs === null ? newestMs : Math.min(newestMs, waitingMs - 1);
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
