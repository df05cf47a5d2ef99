/**
 * The alarm engine: takes readings in the order of their arrival, returns transitions. It does no I/O: every method
 * that changes a state returns what must be written, and the caller writes it in the transaction that stores the
 * readings. If that is rolled back, the change is taken back. In one file: each method is a change of the same states.
 */
import type { SensorState } from "../../../core/agent-status.ts";
import { compileAlarms, type Watch } from "../../../core/alarm/compile.ts";
import type { NewestShown } from "../../../core/alarm/shown.ts";
import type { FollowedReading, MachineState } from "../../../core/followed-reading.ts";
import { successors } from "../../../core/replacement.ts";
import { type Kind, normalCode } from "../../../core/sensor.ts";
import type { Site } from "../../../core/site.ts";
import { inOneGo } from "../../../core/steps.ts";
import type { Tx } from "../../../core/tx.ts";
import { Wait } from "../../machines/api.ts";
import type { BaselineState } from "./baseline.ts";
import { BaselineSamples } from "./baseline-samples.ts";
import type { AlarmChange, AlarmContext, UsualLevel } from "./context.ts";
import {
  adoptFindings,
  codeOfFindings,
  dateFindings,
  FINDING_ALARM,
  NORMAL_STATE,
} from "./finding-alarms.ts";
import type { Findings } from "./findings.ts";
import { followReadings, isFollowed, judgeDue } from "./follow-readings.ts";
import type { FollowUp } from "./follow-up.ts";
import { type FoundAlarm, findAlarm, keepTold, refreshed, shownAlarms } from "./found-alarm.ts";
import { type DamagedAlarms, loadAlarms, type SavedAlarms } from "./load-alarms.ts";
import { newestOf } from "./newest.ts";
import { applyOperatorChange, relearn } from "./operator-changes.ts";
import { endForgotten, reconcile } from "./reconcile.ts";
import { doubtedSinceMs, mayDoubt } from "./running-signal.ts";
import { type AlarmState, type Newest, waited } from "./sensor-alarms.ts";
import { AlarmStates } from "./states.ts";
import { applyTime, hasTimeChanges, nextShelfEndMs } from "./time-changes.ts";

export interface EngineOptions {
  /** By default one without a store. */
  readonly wait?: Wait;
  /** Follow the same readings, and are alarms; none by default. */
  readonly findings?: Findings;
  /** Of machines without a class; by default nothing is known. */
  readonly usualLevel?: UsualLevel;
  /** After findings were looked for: a bug in their rules, with which alarms and reading continue without them, or null. */
  readonly onFound?: (error: unknown, sensor: string) => void;
}

/** With the states of findings that must be written. */
interface EngineChange extends AlarmChange {
  readonly ofFindings: FollowUp["states"][number][];
}

export class AlarmEngine {
  readonly #states = new AlarmStates();
  readonly #learning = new BaselineSamples();
  readonly #options: EngineOptions;
  readonly wait: Wait;
  #context: AlarmContext;

  constructor(site: Site, options: EngineOptions = {}) {
    this.#options = options;
    this.wait = options.wait ?? new Wait(site);
    this.#context = this.#compile(site);
    this.wait.isDoubted = (code, timeMs) => {
      const sinceMs = doubtedSinceMs(this.#context, code);
      return sinceMs !== null && timeMs >= sinceMs;
    };
  }

  /** Applies another site file, after `wait`. The states of what it still defines stay; `reconcile` ends the others. */
  setSite(site: Site): void {
    this.#states.replaced();
    this.#options.findings?.setSite(site);
    this.#context = this.#compile(site, this.#context);
  }

  #compile(site: Site, before?: AlarmContext): AlarmContext {
    return {
      site,
      sensors: compileAlarms(site, before),
      successors: successors(site.sensors),
      wait: this.wait,
      states: this.#states,
      learning: this.#learning,
      usualLevel: this.#options.usualLevel ?? (() => null),
      findings: this.#options.findings ?? null,
    };
  }

  get site(): Site {
    return this.#context.site;
  }

  /* ---------- content of the store ---------- */

  load(saved: SavedAlarms): DamagedAlarms {
    return inOneGo(this.loading(saved));
  }

  /**
   * Replaces every state with those of the store, a row a step, once `wait` has loaded its own: nothing may be judged
   * before the last one. Texts that cannot be read are skipped.
   */
  *loading(saved: SavedAlarms): Generator<void, DamagedAlarms> {
    this.#learning.clear();
    this.#states.clear();
    return yield* loadAlarms(() => this.#context, this.#options.findings, saved);
  }

  /** Every state, for a store that was recreated and lost some of them. */
  saved(): FollowUp {
    const states = [...this.#states.saved(), ...(this.#options.findings?.saved() ?? [])];
    return { events: [], states, samples: [], forgotten: [] };
  }

  /** Whether a sensor may show that the running signal of its machine is wrong. */
  mayDoubt(sensor: string): boolean {
    const { sensors, site } = this.#context;
    const own = sensors.get(normalCode(sensor))?.sensor;
    const machine = site.machines?.find(({ id }) => id === own?.location?.machine);
    return own !== undefined && mayDoubt(machine, own);
  }

  /** Sets the newest stored reading of a sensor and kind: readings that are not newer count as late. */
  prime(sensor: string, kind: Kind, newest: Newest): void {
    const state = this.#states.loaded(normalCode(sensor));
    const known = state.newest.get(kind);
    if (known === undefined || newest.timeMs > known.timeMs) state.newest.set(kind, newest);
    state.normalMs.set(kind, newest.timeMs);
    const waitingMs = this.wait.firstWaitingMs(sensor, kind);
    if (waitingMs !== null) state.normalMs.set(waited(kind), waitingMs - 1);
    if (kind !== "accel") return;
    const firstMs = this.wait.firstWaitingMs(sensor, kind, "finding");
    this.#options.findings?.prime(sensor, newest.timeMs, firstMs);
  }

  /* ---------- readings ---------- */

  isFollowed(sensor: string, kind: Kind): boolean {
    const isDiagnosed = kind === "accel" && this.#options.findings?.isDiagnosed(sensor) === true;
    return isDiagnosed || isFollowed(this.#context, sensor, kind);
  }

  /** After `wait` has noted them. */
  follow(tx: Tx, sensor: string, kind: Kind, readings: readonly FollowedReading[]): FollowUp {
    return this.#within(tx, (change) => {
      const compiled = change.sensors.get(normalCode(sensor));
      if (compiled !== undefined) followReadings(change, compiled, kind, readings);
      this.#find(change, sensor, (findings) => findings.follow(tx, sensor, kind, readings));
    });
  }

  /** Judges what has waited for long enough. */
  judgeDue(tx: Tx): FollowUp {
    return this.#within(tx, (change) => {
      judgeDue(change);
      this.#find(change, "any", (findings) => findings.judgeDue(tx));
    });
  }

  /** Changes states, and returns what must be written because of that. */
  #within(tx: Tx, act: (change: EngineChange) => void): FollowUp {
    const change: EngineChange = {
      ...this.#context,
      tx,
      events: [],
      samples: [],
      completed: [],
      ofFindings: [],
    };
    act(change);
    keepTold(change);
    const { completed, events, ofFindings, samples } = change;
    const forgotten = this.#states.forgotten(tx);
    const changes = [...this.#states.changes(tx)];
    tx.onCommit(() => {
      for (const { sensor } of changes)
        this.#learning.prune(sensor, this.#states.of(sensor).baselines);
    });
    const states = [...changes, ...ofFindings];
    return { events, states, samples, forgotten, completed };
  }

  #find(
    change: EngineChange,
    sensor: string,
    find: (findings: Findings) => Pick<FollowUp, "events" | "states">,
  ): void {
    const { findings, onFound } = this.#options;
    if (findings === undefined) return;
    try {
      const { events, states } = find(findings);
      adoptFindings(change, events);
      for (const { sensor: saved } of states) {
        const code = codeOfFindings(saved);
        dateFindings(change, code, findings.standingSince(code));
      }
      change.ofFindings.push(...states);
      onFound?.(null, sensor);
    } catch (error) {
      if (onFound === undefined) throw error;
      onFound(error, sensor);
    }
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
    return this.#within(tx, (change) => applyTime(change, nowMs, sensors, isGatewayUp));
  }

  /** Ends what the site file no longer defines. */
  reconcile(tx: Tx, nowMs: number): FollowUp {
    return this.#within(tx, (change) => {
      reconcile(change, nowMs);
      const { findings } = this.#options;
      if (findings === undefined) return;
      change.ofFindings.push(...findings.reconcile(tx, (code) => this.hasReadings(code)));
      endForgotten(change, (code, value) => findings.standingAs(code, value) !== null, nowMs);
    });
  }

  /** Starts the baselines of a watch again, or the normal state of a sensor's findings. Null if it has none. */
  relearn(tx: Tx, sensor: string, alarm: string, value: string, nowMs: number): FollowUp | null {
    const { findings } = this.#options;
    const isNormalState = alarm === FINDING_ALARM && value === NORMAL_STATE;
    let isLearned = isNormalState && findings?.isDiagnosed(sensor) === true;
    const up = this.#within(tx, (change) => {
      isLearned ||= relearn(change, sensor, alarm, value, nowMs);
      if (isLearned) change.ofFindings.push(...(findings?.relearn(tx, sensor) ?? []));
    });
    return isLearned ? up : null;
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
    return this.#within(tx, (change) => applyOperatorChange(change, found, next, word, nowMs, by));
  }

  /* ---------- views ---------- */

  /** Another number after any change of an alarm or of the site file. */
  get revision(): number {
    return this.#states.revision;
  }

  /** Normalised codes of which an alarm has changed since a revision; null: any may have. */
  changedSince(revision: number): ReadonlySet<string> | null {
    return this.#states.changedSince(revision);
  }

  /** Every alarm that is active or shelved. @param codes normalised, of the sensors; null: of all */
  alarms(codes: ReadonlySet<string> | null = null): Iterable<FoundAlarm> {
    return shownAlarms(this.#context, codes);
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

  /** The code of a sensor as its alarms have it; null while unknown. */
  written(sensor: string): string | null {
    return this.#states.of(normalCode(sensor)).written;
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

  /** What an alarm shows now; null while it is not active. */
  newest(found: FoundAlarm): NewestShown | null {
    const { key, code, state } = found;
    const watch = this.#context.sensors.get(code)?.byKey.get(key);
    const finding = this.#options.findings?.standingAs(code, state.value) ?? null;
    return newestOf(found, this.#context.site, watch, finding);
  }

  /** What a line that nothing explains adds to the words of a zone alarm that stands; null: nothing. */
  hint({ code, state }: FoundAlarm): string | null {
    const { alarm, raised, value } = state;
    const channel = /^channel(\d)_vel_rms$/.exec(value)?.[1];
    if (alarm !== "zone" || raised === null || channel === undefined) return null;
    return this.#options.findings?.hintOf(code, Number(channel)) ?? null;
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
