/**
 * The conditions of all machines, computed once and kept: page, API, report, topics, metric and platforms take them from
 * here. A machine is computed anew when something that conditions are made of has changed and at the next moment at
 * which time alone could change it. Most readings change only numbers in sentences: those are made when somebody asks
 * for them (`look`, `want`), so that a reading costs next to nothing. Late readings of a sensor change what is known, and
 * never what is newest, so that no output goes back.
 */
import type { SensorState } from "../../core/agent-status.ts";
import type { RankedMachine } from "../../core/condition/shown.ts";
import { normalCode } from "../../core/sensor.ts";
import type { Site } from "../../core/site.ts";
import { yieldToLoop } from "../../lib/yield-to-loop.ts";
import type { ConditionParts } from "./condition-parts.ts";
import type { NewReading } from "./condition-sensor.ts";
import {
  type ConditionSubject,
  type KnownSensors,
  looseSubjects,
  machineSubjects,
  stateChange,
  subjectKey,
  type Told,
  toldBySensor,
} from "./condition-subjects.ts";
import { EntryMaker, type MachineEntry } from "./machine-entry.ts";
import { OpenAlarms } from "./open-alarms.ts";
import type { PublishedMachine } from "./rules/machine-payload.ts";
import { worseFirst } from "./rules/order.ts";
import { Settled } from "./settled.ts";
import { zonesOf } from "./sound-records.ts";

/** A large site that was just started shows its machines at once; what their past says follows with the next looks. */
const LOOK_BACK_MS = 500;
/** Between looks at the states of sensors, which time changes. */
const LOOK_MS = 5_000;
/** Between two looks, however much changes. */
const LOOKS_APART_MS = 1_000;

/** A machine as it is published. */
export interface MachineNow extends PublishedMachine {
  readonly id: number;
  /** Time of its newest judged reading, ms; null: none. */
  readonly judgedMs: number | null;
  /** Each of its sensors has been read since the start, or has had five minutes for it. */
  readonly isSettled: boolean;
  /** Members that are no change of the machine may be older than its newest readings. */
  readonly isStale: boolean;
}

export class MachineConditions {
  readonly #parts: ConditionParts;
  readonly #maker: EntryMaker;
  readonly #kept = new Map<string, MachineEntry>();
  readonly #due = new Set<string>();
  /** Those with readings since they were computed that change nothing but numbers. */
  readonly #stale = new Set<string>();
  /** Normalised codes of sensors of which something was stored or judged since the last look. */
  readonly #noted = new Set<string>();
  /** Those for whose past a look had no time, in the order in which they get it. */
  readonly #behind = new Set<string>();
  readonly #settled: Settled;
  readonly #listeners = new Set<() => void>();
  #site: Site | null = null;
  #machines: readonly ConditionSubject[] = [];
  #bySensor: ReadonlyMap<string, readonly Told[]> = new Map();
  readonly #alarms: OpenAlarms | null;
  #states: ReadonlyMap<string, SensorState> = new Map();
  #dayMedians = -1;
  #running: Promise<void> = Promise.resolve();
  #queued: Promise<void> | null = null;
  /** The next look computes stale ones, too. */
  #isWhole = false;
  /** Aborted once woken since the last look began. */
  #woken = new AbortController();

  constructor(parts: ConditionParts) {
    this.#parts = parts;
    this.#maker = new EntryMaker(parts);
    this.#settled = new Settled(parts.clock);
    this.#alarms = parts.alarms && new OpenAlarms(parts.alarms);
  }

  /** A reading is durable. */
  stored(reading: NewReading): void {
    this.#maker.stored(reading);
    this.judged(reading.sensor);
  }

  /** What alarms and findings keep of a sensor is another. */
  judged(sensor: string): void {
    const code = normalCode(sensor);
    this.#alarms?.note(code);
    this.#noted.add(code);
  }

  #changed(code: string): void {
    for (const { key } of this.#bySensor.get(code) ?? []) this.#due.add(key);
  }

  /** Has a machine computed anew with the next look, if it is stale, and that look come soon. */
  want(id: number): void {
    const key = subjectKey({ id, sensor: null });
    if (!this.#stale.has(key)) return;
    this.#due.add(key);
    this.wake();
  }

  /** An alarm was raised, or a person waits: looks now rather than within seconds. */
  wake(): void {
    this.#woken.abort();
  }

  /** Calls the listener after each look of `run`, which looks only while somebody listens. */
  onLook(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.wake();
    return () => this.#listeners.delete(listener);
  }

  /** As of the last look, in the order of the site file. */
  get current(): readonly MachineNow[] {
    return this.#machines.flatMap((subject) => {
      const key = subjectKey(subject);
      const entry = this.#kept.get(key);
      const { id, name, sensors } = subject;
      if (entry === undefined || id === null) return [];
      const { members, outlook, judgedMs } = entry;
      const is = { isSettled: this.#settled.has(key), isStale: this.#stale.has(key) };
      return [{ id, machine: { id, name, sensors }, members, outlook, judgedMs, ...is }];
    });
  }

  /** The API's entries, worst first. */
  async worstFirst(): Promise<readonly RankedMachine[]> {
    await this.look();
    return [...this.#kept.values()]
      .toSorted((a, b) => worseFirst(a.ranked, b.ranked))
      .map(({ members }, at) => ({ ...members, order: at + 1 }));
  }

  /** One machine, with the zones of its sensors by normalised code; null if nothing names it. */
  async of(id: number) {
    await this.look();
    const entry = this.#kept.get(subjectKey({ id, sensor: null }));
    if (entry === undefined) return null;
    const zones = zonesOf(this.#parts, entry.subject.sensors, this.#parts.gatewayNow());
    return { ...entry.members, zones };
  }

  /** Computes what is due and stale; rejects after all others where one cannot be. One that began before this call is waited for, but not enough. */
  look(): Promise<void> {
    this.#isWhole = true;
    return this.lookForChanges();
  }

  /** Computes what is due. */
  lookForChanges(): Promise<void> {
    this.#queued ??= this.#running.then(() => {
      this.#queued = null;
      const looking = this.#look();
      this.#running = looking.catch(() => {});
      return looking;
    });
    return this.#queued;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#parts;
    let isWell = true;
    while (!signal.aborted) {
      this.#woken = new AbortController();
      if (this.#isLooking) {
        try {
          await this.lookForChanges();
          isWell = true;
        } catch (err) {
          if (isWell) logger.warn({ err }, "conditions of machines could not be computed yet");
          isWell = false;
        }
        for (const listener of this.#listeners) listener();
        await clock.sleep(LOOKS_APART_MS, signal);
      }
      await this.#rest(signal);
    }
  }

  /** While somebody listens, and until the machines of an answer have their past. */
  get #isLooking(): boolean {
    return this.#listeners.size > 0 || this.#behind.size > 0;
  }

  async #rest(signal: AbortSignal): Promise<void> {
    const { clock, gatewayNow } = this.#parts;
    // While nobody listens nothing is computed anew at that moment: it would stay in the past, with no sleep at all.
    const kept = this.#isLooking ? [...this.#kept.values()] : [];
    const untilMs =
      this.#behind.size > 0 ? gatewayNow() : Math.min(...kept.map((entry) => entry.untilMs));
    const restMs = Math.min(LOOK_MS, Math.max(0, untilMs - gatewayNow())) - LOOKS_APART_MS;
    if (restMs > 0) await clock.sleep(restMs, AbortSignal.any([signal, this.#woken.signal]));
  }

  async #look(): Promise<void> {
    const { clock, dayMedians, gatewayNow, site } = this.#parts;
    if (site.current !== this.#site) this.#follow(site.current);
    if (dayMedians.changes !== this.#dayMedians)
      for (const key of this.#kept.keys()) this.#due.add(key);
    this.#dayMedians = dayMedians.changes;
    for (const code of this.#alarms?.look() ?? []) this.#changed(code);
    this.#lookAtStates();
    const nowMs = gatewayNow();
    this.#review(nowMs);
    if (this.#isWhole) for (const key of this.#stale) this.#due.add(key);
    this.#isWhole = false;
    const known = { nowMs, states: this.#states, alarms: this.#alarms };
    const subjects = [...this.#machines, ...looseSubjects(site.current, this.#alarms)];
    const byKey = new Map(subjects.map((subject) => [subjectKey(subject), subject]));
    for (const of of [this.#kept, this.#behind, this.#stale])
      for (const key of of.keys()) if (!byKey.has(key)) of.delete(key);
    // The first one always gets its past, so that a slow machine gets on, too.
    let mayLookBack = true;
    let failure: unknown = null;
    const startedAt = clock.monotonic();
    for (const key of new Set([...this.#behind, ...byKey.keys()])) {
      const subject = byKey.get(key);
      if (subject === undefined) continue;
      if (this.#isDue(subject, nowMs)) {
        // One that fails keeps no other from its turn.
        await this.#compute(subject, { ...known, mayLookBack }).catch((error) => {
          failure ??= error;
        });
        mayLookBack = clock.monotonic() - startedAt < LOOK_BACK_MS;
      }
      this.#settled.look(subject, this.#states);
    }
    if (failure !== null) throw failure;
  }

  #isDue(subject: ConditionSubject, nowMs: number): boolean {
    const key = subjectKey(subject);
    const entry = this.#kept.get(key);
    return entry === undefined || entry.isBehind || this.#due.has(key) || nowMs >= entry.untilMs;
  }

  async #compute(subject: ConditionSubject, known: KnownSensors): Promise<void> {
    const key = subjectKey(subject);
    // What is noted meanwhile counts for the next look.
    this.#due.delete(key);
    this.#stale.delete(key);
    try {
      const entry = await this.#maker.make(subject, known);
      this.#kept.set(key, entry);
      if (entry.isBehind) this.#behind.add(key);
      else this.#behind.delete(key);
    } catch (error) {
      this.#due.add(key);
      throw error;
    }
    await yieldToLoop();
  }

  #follow(site: Site): void {
    this.#site = site;
    this.#machines = machineSubjects(site);
    this.#kept.clear();
    this.#due.clear();
    this.#stale.clear();
    this.#behind.clear();
    this.#maker.clear();
    this.#bySensor = toldBySensor(site, this.#machines);
    this.#settled.retain(new Set(this.#machines.map(subjectKey)));
  }

  #lookAtStates(): void {
    const before = this.#states;
    this.#states = new Map(this.#parts.sensors().map((one) => [normalCode(one.code), one]));
    for (const [code, state] of this.#states) {
      const change = stateChange(state, before.get(code));
      if (change === "condition") this.#changed(code);
      else if (change === "rest") this.#noted.add(code);
    }
  }

  /** Which of the sensors that were noted change a condition: nearly none. */
  #review(nowMs: number): void {
    for (const code of this.#noted) {
      const told = this.#bySensor.get(code) ?? [];
      const isOwn = told.some((one) => one.isOwn);
      const isSame = isOwn && this.#maker.saysTheSame(code, nowMs);
      for (const one of told) {
        const entry = this.#kept.get(one.key);
        const isKept = (isSame || !one.isOwn) && !this.#due.has(one.key);
        if (isKept && entry !== undefined && this.#maker.holds(entry, one, nowMs)) {
          this.#stale.add(one.key);
          this.#kept.set(one.key, this.#maker.continued(entry, code, one, nowMs));
        } else this.#due.add(one.key);
      }
    }
    this.#noted.clear();
  }
}
