/**
 * The conditions of all machines, computed once and kept: page, API, report, topics, metric and platforms take them from
 * here. A machine is computed anew when something of it has changed (`note`, an alarm, a state of a sensor, the site
 * file) and at the next moment at which time alone could change it. Late readings of a sensor change what is known, and
 * never what is newest, so that no output goes back.
 */
import type { SensorState } from "../../core/agent-status.ts";
import { formerCodes, successors } from "../../core/replacement.ts";
import { isRead, normalCode, type StreamKey } from "../../core/sensor.ts";
import type { Site } from "../../core/site.ts";
import { MINUTE_MS } from "../../core/time-units.ts";
import { yieldToLoop } from "../../lib/yield-to-loop.ts";
import type { ConditionParts } from "./condition-parts.ts";
import { zoneAt } from "./condition-sensor.ts";
import {
  type ConditionSubject,
  isSameState,
  type KnownSensors,
  looseSubjects,
  machineSubjects,
  subjectKey,
} from "./condition-subjects.ts";
import { EntryMaker, type MachineEntry } from "./machine-entry.ts";
import { OpenAlarms } from "./open-alarms.ts";
import type { PublishedMachine } from "./rules/machine-payload.ts";
import { worseFirst } from "./rules/order.ts";
import type { RankedMachine } from "./rules/shown.ts";

/** A large site that was just started shows its machines at once; what their past says follows with the next looks. */
const LOOK_BACK_MS = 500;
/** Between looks at the states of sensors, which time changes. */
const LOOK_MS = 5_000;
/** Between two looks, however much changes. */
const LOOKS_APART_MS = 1_000;
/** A machine whose sensors cannot all be read is shown after this time. */
const SETTLE_MAX_MS = 5 * MINUTE_MS;

/** A machine as it is published. */
export interface MachineNow extends PublishedMachine {
  readonly id: number;
  /** Time of its newest judged reading, ms; null: none. */
  readonly judgedMs: number | null;
  /** Each of its sensors has been read since the start, or has had five minutes for it. */
  readonly isSettled: boolean;
}

export class MachineConditions {
  readonly #parts: ConditionParts;
  readonly #maker: EntryMaker;
  readonly #kept = new Map<string, MachineEntry>();
  readonly #due = new Set<string>();
  /** Those for whose past a look had no time, in the order in which they get it. */
  readonly #behind = new Set<string>();
  readonly #settled = new Set<string>();
  /** When a machine was first looked at, monotonic ms. */
  readonly #appearedAt = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  #site: Site | null = null;
  #machines: readonly ConditionSubject[] = [];
  /** Machines by the normalised code of each sensor that says something about them. */
  #bySensor: ReadonlyMap<string, readonly string[]> = new Map();
  readonly #alarms: OpenAlarms | null;
  #states: ReadonlyMap<string, SensorState> = new Map();
  #dayMedians = -1;
  #running: Promise<void> = Promise.resolve();
  #queued: Promise<void> | null = null;
  /** Aborted once woken since the last look began. */
  #woken = new AbortController();

  constructor(parts: ConditionParts) {
    this.#parts = parts;
    this.#maker = new EntryMaker(parts);
    this.#alarms = parts.alarms && new OpenAlarms(parts.alarms);
  }

  /** A reading is durable. */
  stored(reading: StreamKey & { readonly timeMs: number }): void {
    this.#maker.stored(reading);
    this.note(reading.sensor);
  }

  /** Something of a sensor was stored or judged. */
  note(sensor: string): void {
    const code = normalCode(sensor);
    this.#alarms?.note(code);
    this.#maker.note(code);
    this.#changed(code);
  }

  #changed(code: string): void {
    for (const key of this.#bySensor.get(code) ?? []) this.#due.add(key);
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

  /** The machines as of the last look, in the order of the site file. */
  get current(): readonly MachineNow[] {
    return this.#machines.flatMap((subject) => {
      const entry = this.#kept.get(subjectKey(subject));
      const { id, name, sensors } = subject;
      if (entry === undefined || id === null) return [];
      const { members, outlook, judgedMs } = entry;
      const isSettled = this.#settled.has(subjectKey(subject));
      return [{ id, machine: { id, name, sensors }, members, outlook, judgedMs, isSettled }];
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
    const nowMs = this.#parts.gatewayNow();
    const zones = entry.subject.sensors.map(
      (sensor) => [normalCode(sensor.code), zoneAt(this.#parts, sensor, nowMs)] as const,
    );
    return { ...entry.members, zones: new Map(zones) };
  }

  /** Computes what is due; rejects after all others where one cannot be. One that began before this call is waited for, but not enough. */
  look(): Promise<void> {
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
          await this.look();
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
    if (dayMedians.changes !== this.#dayMedians) this.#allDue();
    this.#dayMedians = dayMedians.changes;
    for (const code of this.#alarms?.look() ?? []) {
      this.#maker.note(code);
      this.#changed(code);
    }
    this.#lookAtStates();
    const nowMs = gatewayNow();
    const alarms = this.#alarms?.bySensor ?? null;
    const known = { nowMs, states: this.#states, alarms };
    const subjects = [...this.#machines, ...looseSubjects(site.current, alarms)];
    const byKey = new Map(subjects.map((subject) => [subjectKey(subject), subject]));
    for (const of of [this.#kept, this.#behind])
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
      if (!this.#settled.has(key)) this.#settle(subject);
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

  #allDue(): void {
    for (const key of this.#kept.keys()) this.#due.add(key);
  }

  #follow(site: Site): void {
    this.#site = site;
    this.#machines = machineSubjects(site);
    this.#kept.clear();
    this.#due.clear();
    this.#behind.clear();
    this.#maker.clear();
    const bySensor = new Map<string, string[]>();
    const next = successors(site.sensors);
    for (const subject of this.#machines) {
      const machine = site.machines?.find(({ id }) => id === subject.id);
      const signals = [machine?.running?.sensor, machine?.speed?.sensor].flatMap((code) =>
        code === undefined ? [] : [code, next.get(normalCode(code))?.code ?? code],
      );
      const own = subject.sensors.flatMap((sensor) => [
        sensor.code,
        ...formerCodes(site.sensors, sensor),
      ]);
      for (const code of new Set([...own, ...signals].map(normalCode)))
        bySensor.set(code, [...(bySensor.get(code) ?? []), subjectKey(subject)]);
    }
    for (const { code, location } of site.sensors)
      if (location === undefined && !bySensor.has(normalCode(code)))
        bySensor.set(normalCode(code), [subjectKey({ id: null, sensor: code })]);
    this.#bySensor = bySensor;
    const keys = new Set(this.#machines.map(subjectKey));
    for (const known of [this.#settled, this.#appearedAt])
      for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
  }

  #lookAtStates(): void {
    const states = new Map<string, SensorState>();
    for (const state of this.#parts.sensors()) {
      const code = normalCode(state.code);
      states.set(code, state);
      if (!isSameState(state, this.#states.get(code))) this.#changed(code);
    }
    this.#states = states;
  }

  #settle(subject: ConditionSubject): void {
    const key = subjectKey(subject);
    const now = this.#parts.clock.monotonic();
    const appearedAt = this.#appearedAt.get(key) ?? now;
    this.#appearedAt.set(key, appearedAt);
    const isKnown = subject.sensors.filter(isRead).every(({ code }) => {
      const kinds = this.#states.get(normalCode(code))?.kinds;
      return kinds?.every(({ lastReadAtMs, lastError }) => lastReadAtMs !== null && !lastError);
    });
    if (isKnown || now - appearedAt >= SETTLE_MAX_MS) this.#settled.add(key);
  }
}
