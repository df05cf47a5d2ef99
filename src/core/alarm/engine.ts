/**
 * The alarm engine: readings in order of their time, state in, transitions out. It does no I/O: what has to be written is
 * handed to whoever stores the readings, in the transaction that stores them; `committed` makes it so, `undone` unmakes it.
 */
import type { SensorState } from "../ports.ts";
import { type Kind, normalCode, readingKinds, type Sensor, type Site } from "../sensor.ts";
import { type BaselineState, learn, UNLEARNED } from "./baseline.ts";
import { type CompiledSensor, compileAlarms, type Watch } from "./compile.ts";
import { type AlarmEvent, eventId } from "./event.ts";
import type {
  FollowedReading,
  FollowUp,
  LearningSample,
  MachineState,
  ReadingFollower,
} from "./follow-up.ts";
import { MachineWatch } from "./machine-watch.ts";
import type { SavedAlarms } from "./ports.ts";
import { type Learned, type ReadingOutcome, ReadingStep } from "./reading-step.ts";
import {
  type AlarmState,
  copySensor,
  emptySensor,
  eventMembers,
  isNothing,
  loadSensor,
  normalAlarm,
  type SensorAlarms,
  saveSensor,
  type WaitingReading,
} from "./sensor-alarms.ts";
import { removedSentence, silentSentence } from "./sentence.ts";
import type { SignalPoint } from "./signal.ts";
import { heardAgain, ONE_WARNING, transit } from "./transitions.ts";
import { NORMAL } from "./watch-state.ts";

/** Samples kept of one sensor; a baseline that cannot learn from so many begins anew. */
const SAMPLES_MAX = 20_000;
export const SILENT = "silent";
const SILENT_KEY = "silent/state";

export interface EngineOptions {
  /** What was before the readings that are remembered: the newest reading of a signal at or before a time. */
  readonly earlier?: (
    sensor: string,
    kind: Kind,
    value: string,
    timeMs: number,
  ) => SignalPoint | null;
  /** Called after the commit, in order. */
  readonly onEvents?: (events: readonly AlarmEvent[]) => void;
}

export class AlarmEngine implements ReadingFollower {
  readonly #options: EngineOptions;
  #site: Site;
  #sensors: ReadonlyMap<string, CompiledSensor>;
  #machines: MachineWatch;
  readonly #states = new Map<string, SensorAlarms>();
  readonly #staged = new Map<string, SensorAlarms>();
  /** As on disk, and as the running transaction leaves it. */
  readonly #texts = new Map<string, string | null>();
  readonly #stagedTexts = new Map<string, string | null>();
  #stagedEvents: AlarmEvent[] = [];
  readonly #samples = new Map<string, Map<string, number[]>>();
  /** Changes with every commit that changed something. */
  version = 0;

  constructor(site: Site, options: EngineOptions = {}) {
    this.#options = options;
    this.#site = site;
    this.#sensors = compileAlarms(site);
    this.#machines = new MachineWatch(site);
  }

  /** Another site file: states of what is still there stay. `reconcile` ends the others. */
  setSite(site: Site): void {
    this.#site = site;
    this.#sensors = compileAlarms(site);
    this.#machines = new MachineWatch(site);
  }

  get site(): Site {
    return this.#site;
  }

  /** Takes over what is on disk. Texts that cannot be read are passed over and returned. */
  load(saved: SavedAlarms): readonly string[] {
    const damaged: string[] = [];
    for (const map of [this.#states, this.#staged, this.#texts, this.#stagedTexts, this.#samples]) {
      map.clear();
    }
    this.#stagedEvents = [];
    for (const { sensor, text } of saved.states) {
      const code = normalCode(sensor);
      try {
        this.#states.set(code, loadSensor(text));
        this.#texts.set(code, text);
      } catch {
        damaged.push(sensor);
      }
    }
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
    const state = this.#states.get(code) ?? emptySensor();
    this.#states.set(code, state);
    state.nextSample = Math.max(state.nextSample, number + 1);
    for (const [key, [value, zone]] of Object.entries(JSON.parse(text) as Learned)) {
      const before = state.baselines.get(key) ?? UNLEARNED;
      if (before.first !== null || number < before.from) continue;
      const watch = this.#sensors.get(code)?.byKey.get(key.slice(0, key.lastIndexOf("@")));
      if (watch?.test.type !== "baseline") continue;
      const seen = { value, zone, timeMs: state.newest.get(watch.kind)?.timeMs ?? 0 };
      state.baselines.set(key, learn(before, this.#samplesOf(code, key), watch.test, seen));
    }
  }

  /** All that is to be on disk with the running transaction, for a store that began anew and lost a part of it. */
  saved(): FollowUp {
    const texts = new Map([...this.#texts, ...this.#stagedTexts]);
    const states = [...texts].map(([sensor, text]) => ({ sensor, text }));
    return { ...NOTHING, states };
  }

  /** What the store remembers of a sensor and kind from before this process: what is not newer counts as late. */
  prime(
    sensor: string,
    kind: Kind,
    newest: { readonly timeMs: number; readonly id: string },
  ): void {
    const code = normalCode(sensor);
    const state = this.#states.get(code) ?? emptySensor();
    this.#states.set(code, state);
    const known = state.newest.get(kind);
    if (known === undefined || newest.timeMs > known.timeMs) state.newest.set(kind, newest);
  }

  /** Readings of a machine's signal from before this process. */
  primeSignal(sensor: string, kind: Kind, readings: readonly FollowedReading[]): void {
    const code = normalCode(sensor);
    const state = this.#states.get(code) ?? emptySensor();
    this.#states.set(code, state);
    for (const reading of readings) this.#machines.note(state, code, kind, reading);
  }

  /** Sensors and kinds that show a machine's state or speed. */
  get signals(): readonly { readonly sensor: string; readonly kind: Kind }[] {
    return this.#machines.signals;
  }

  /* ---------- readings ---------- */

  isFollowed(sensor: string, kind: Kind): boolean {
    const code = normalCode(sensor);
    const compiled = this.#sensors.get(code);
    if (compiled === undefined) return false;
    if ((compiled.watches.get(kind) ?? []).length > 0) return true;
    if (this.#machines.isSignal(code, kind)) return true;
    const { live, past } = this.#of(code);
    return live.size > 0 || past.size > 0;
  }

  machineStateFor(sensor: string, kind: Kind, timeMs: number): MachineState | null {
    if (this.#machines.isSignal(normalCode(sensor), kind)) return null;
    return this.machineState(sensor, timeMs);
  }

  /** Whether the machine of a sensor ran at a time; null while that is unknown, or nothing says. */
  machineState(sensor: string, timeMs: number): MachineState | null {
    const compiled = this.#sensors.get(normalCode(sensor));
    if (compiled === undefined) return null;
    return this.#machines.stateAt(compiled.sensor, timeMs, this.#lookAt, this.#options.earlier);
  }

  /** Shaft speed of a machine at a time, r/min; null while it is unknown. */
  speedAt(machine: number, timeMs: number): number | null {
    return this.#machines.speedAt(machine, timeMs, this.#lookAt, this.#options.earlier);
  }

  readonly #lookAt = (code: string): SensorAlarms => this.#of(code);

  follow(sensor: string, kind: Kind, readings: readonly FollowedReading[]): FollowUp {
    const code = normalCode(sensor);
    const compiled = this.#sensors.get(code);
    if (compiled === undefined) return NOTHING;
    const state = this.#edit(code);
    const events: AlarmEvent[] = [];
    const samples: LearningSample[] = [];
    const inOrder = readings
      .filter(({ isFuture }) => !isFuture)
      .toSorted((a, b) => a.timeMs - b.timeMs);
    const codes = new Set([code]);
    const isSignal = this.#machines.isSignal(code, kind);
    for (const [i, reading] of inOrder.entries()) {
      this.#machines.note(state, code, kind, reading);
      this.#step(compiled, kind, reading, (step) => step.take(), events, samples);
      if (!isSignal) continue;
      const untilMs = inOrder[i + 1]?.timeMs ?? Number.POSITIVE_INFINITY;
      for (const own of this.#judgeWaiting(code, kind, reading.timeMs, untilMs, events, samples)) {
        codes.add(own);
      }
    }
    return this.#followUp([...codes], events, samples);
  }

  #step(
    { sensor, watches }: CompiledSensor,
    kind: Kind,
    reading: FollowedReading,
    take: (step: ReadingStep) => ReadingOutcome,
    events: AlarmEvent[],
    samples: LearningSample[],
  ): void {
    const code = normalCode(sensor.code);
    const state = this.#edit(code);
    const around = {
      site: this.#site,
      sensor,
      watches: watches.get(kind) ?? [],
      hasRunning: this.#machines.hasRunning(sensor),
      machine: this.machineState(code, reading.timeMs),
      samples: (key: string) => this.#samplesOf(code, key),
    };
    const outcome = take(new ReadingStep(state, around, kind, reading));
    events.push(...outcome.events);
    if (outcome.learned === null) return;
    const text = JSON.stringify(outcome.learned);
    samples.push({ sensor: sensor.code, number: state.nextSample, text });
    state.nextSample += 1;
  }

  /**
   * Judges readings from `fromMs` to before `untilMs` that waited for this signal, and are within its reach now; answers
   * their sensors. Sensors are read one after the other: what a machine drives may well come before its speed.
   */
  #judgeWaiting(
    signal: string,
    signalKind: Kind,
    fromMs: number,
    untilMs: number,
    events: AlarmEvent[],
    samples: LearningSample[],
  ): readonly string[] {
    const codes: string[] = [];
    for (const [code, compiled] of this.#sensors) {
      if (this.#of(code).waiting.size === 0) continue;
      if (!this.#machines.isRunningSignal(compiled.sensor, signal, signalKind)) continue;
      for (const [kind, waiting] of this.#of(code).waiting) {
        const isDue = ({ reading: { timeMs } }: WaitingReading) =>
          timeMs >= fromMs && timeMs < untilMs && this.machineState(code, timeMs) !== null;
        const due = waiting.filter(isDue);
        if (due.length === 0) continue;
        codes.push(code);
        const rest = waiting.filter((one) => !due.includes(one));
        const state = this.#edit(code);
        state.isChanged = true;
        if (rest.length === 0) state.waiting.delete(kind);
        else state.waiting.set(kind, rest);
        for (const { reading, isLate } of due) {
          this.#step(compiled, kind, reading, (step) => step.takeWaiting(isLate), events, samples);
        }
      }
    }
    return codes;
  }

  #samplesOf(code: string, key: string): number[] {
    const ofSensor = this.#samples.get(code) ?? new Map<string, number[]>();
    this.#samples.set(code, ofSensor);
    const samples = ofSensor.get(key) ?? [];
    ofSensor.set(key, samples);
    return samples;
  }

  /* ---------- time and people ---------- */

  /** What time alone brings: sensors that fell silent or send again, and shelves that end. */
  tick(nowMs: number, sensors: readonly SensorState[], isGatewayUp: boolean): FollowUp {
    const events: AlarmEvent[] = [];
    const codes: string[] = [];
    for (const seen of sensors) {
      const code = normalCode(seen.code);
      const compiled = this.#sensors.get(code);
      if (compiled === undefined) continue;
      const event = this.#silence(code, compiled.sensor, seen, nowMs, isGatewayUp);
      if (event === null) continue;
      events.push(event);
      codes.push(code);
    }
    for (const [code, key, alarm] of this.#all()) {
      if (alarm.shelved === null || alarm.shelved.untilMs > nowMs) continue;
      const event = this.#say(
        code,
        key,
        { ...alarm, shelved: null },
        "unshelved",
        nowMs,
        alarm.shelved.untilMs,
      );
      if (event !== null) events.push(event);
      codes.push(code);
    }
    return this.#followUp(codes, events, []);
  }

  #silence(
    code: string,
    sensor: Sensor,
    { state, lastReadingMs }: SensorState,
    nowMs: number,
    isGatewayUp: boolean,
  ): AlarmEvent | null {
    const known = this.#of(code);
    const kind = sensor.kinds[0];
    if (kind === undefined) return null;
    const before =
      known.live.get(SILENT_KEY) ?? normalAlarm({ alarm: SILENT, kind, value: "state", unit: "s" });
    const isActive = before.raised !== null;
    if (lastReadingMs === null || (state === "silent") === isActive || state === "unknown") {
      return null;
    }
    let readingId = `${lastReadingMs}`;
    for (const { timeMs, id } of known.newest.values())
      if (timeMs === lastReadingMs) readingId = id;
    const seconds = Math.max(0, Math.round((nowMs - lastReadingMs) / 1000));
    const cause = { readingId, timeMs: nowMs, measured: seconds };
    const subject = { site: this.#site, sensor, type: null, isHistorical: false };
    const worst = { measured: seconds, timeMs: nowMs };
    const next = isActive
      ? heardAgain(before, cause, subject)
      : transit(
          before,
          { passing: null, active: ONE_WARNING, worst },
          "raised",
          cause,
          subject,
          silentSentence(sensor, this.#site, seconds, isGatewayUp),
        );
    this.#put(this.#edit(code), SILENT_KEY, next.state);
    return next.event;
  }

  /** Ends what the site file no longer has, and forgets its baselines. */
  reconcile(nowMs: number): FollowUp {
    const events: AlarmEvent[] = [];
    const codes: string[] = [];
    for (const code of this.#states.keys()) {
      const compiled = this.#sensors.get(code);
      const before = this.#of(code);
      for (const [key, alarm] of before.live) {
        if (compiled !== undefined && this.#isKnown(compiled, key, alarm)) continue;
        const state = this.#edit(code);
        state.live.delete(key);
        state.isChanged = true;
        codes.push(code);
        if (alarm.raised === null) continue;
        events.push(this.#removed(compiled?.sensor.code ?? code, alarm, nowMs));
      }
      for (const key of before.baselines.keys()) {
        const watch = compiled?.byKey.get(key.slice(0, key.lastIndexOf("@")));
        if (watch?.test.type === "baseline") continue;
        const state = this.#edit(code);
        state.baselines.delete(key);
        state.isChanged = true;
        codes.push(code);
      }
    }
    return this.#followUp(codes, events, []);
  }

  #isKnown({ byKey, sensor }: CompiledSensor, key: string, { alarm, kind }: AlarmState): boolean {
    if (byKey.has(key) || alarm === SILENT) return true;
    // Its values come with the readings: they go by themselves.
    return alarm === "bad_quality" && readingKinds(sensor).includes(kind);
  }

  #removed(code: string, alarm: AlarmState, nowMs: number): AlarmEvent {
    const text = removedSentence(alarm.alarm, alarm.value, code);
    return this.#eventOf(code, alarm, "removed", nowMs, { state: "cleared", text });
  }

  /** Begins the baselines of a watch anew; an alarm by the old ones ends. Null where there is no such baseline. */
  relearn(sensor: string, alarm: string, value: string, nowMs: number): FollowUp | null {
    const code = normalCode(sensor);
    const key = `${alarm}/${value}`;
    const watch = this.#sensors.get(code)?.byKey.get(key);
    if (watch?.test.type !== "baseline") return null;
    const state = this.#edit(code);
    state.isChanged = true;
    const from = state.nextSample;
    for (const name of ["running", "standing", "any"]) {
      const own = `${key}@${name}`;
      if (!state.baselines.has(own)) continue;
      state.baselines.set(own, { ...UNLEARNED, from });
    }
    const events: AlarmEvent[] = [];
    const before = state.live.get(key);
    if (before?.raised) {
      const text = `Cleared: the baseline of ${alarm} on ${value} of sensor ${watch.sensor} is learned anew.`;
      events.push(
        this.#eventOf(watch.sensor, before, "relearned", nowMs, { state: "cleared", text }),
      );
      this.#put(state, key, {
        ...before,
        watch: NORMAL,
        raised: null,
        acknowledged: null,
        note: null,
      });
    } else state.live.delete(key);
    return this.#followUp([code], events, []);
  }

  /**
   * Takes over what a person said of an alarm and reports it, where the alarm is active.
   * @param word what was said, as part of the event's id
   */
  change(
    found: FoundAlarm,
    next: Pick<AlarmState, "acknowledged" | "shelved" | "note">,
    word: string,
    nowMs: number,
  ): FollowUp {
    const event = this.#say(found.code, found.key, { ...found.state, ...next }, word, nowMs, nowMs);
    return this.#followUp([found.code], event === null ? [] : [event], []);
  }

  #say(
    code: string,
    key: string,
    alarm: AlarmState,
    word: string,
    nowMs: number,
    mark: number,
  ): AlarmEvent | null {
    const state = this.#edit(code);
    if (alarm.raised === null) {
      this.#put(state, key, alarm);
      return null;
    }
    const sensor = this.#sensors.get(code)?.sensor.code ?? code;
    const { text } = alarm.raised;
    const event = this.#eventOf(sensor, alarm, `${word}:${mark}`, nowMs, { state: "active", text });
    this.#put(state, key, { ...alarm, raised: { ...alarm.raised, eventId: event.id } });
    return event;
  }

  /** An event that no reading caused. */
  #eventOf(
    sensor: string,
    of: AlarmState,
    transition: string,
    nowMs: number,
    said: Pick<AlarmEvent, "state" | "text">,
  ): AlarmEvent {
    const { alarm, value, raised } = of;
    const readingId = raised?.readingId ?? "";
    const { active, worst } = of.watch;
    return {
      ...eventMembers(of),
      id: eventId(alarm, sensor, value, readingId, transition),
      sensor,
      readingId,
      severity: active?.rank === 2 ? "alarm" : "warning",
      ...said,
      timeMs: nowMs,
      limit: active?.limit ?? null,
      hysteresis: active?.hysteresis ?? null,
      measured: raised?.measured ?? null,
      raisedMs: raised?.timeMs ?? nowMs,
      worst: worst ?? { measured: raised?.measured ?? null, timeMs: raised?.seenMs ?? nowMs },
      historical: false,
    };
  }

  /* ---------- views ---------- */

  /** Every alarm that is active or shelved. */
  *alarms(): Generator<FoundAlarm> {
    for (const [code, key, state] of this.#all()) {
      if (state.raised === null && state.shelved === null) continue;
      const compiled = this.#sensors.get(code);
      yield { code, key, state, sensor: compiled?.sensor ?? null };
    }
  }

  /** The alarm that an event's or alarm's id belongs to. */
  find(id: string): FoundAlarm | null {
    for (const alarm of this.alarms()) {
      const { raised } = alarm.state;
      if (raised?.id === id || raised?.eventId === id || shelfId(alarm) === id) return alarm;
    }
    return null;
  }

  /** The same alarm as it stands now. */
  again(found: FoundAlarm): FoundAlarm {
    const state = this.#of(found.code).live.get(found.key);
    return state === undefined
      ? { ...found, state: normalAlarm(found.state) }
      : { ...found, state };
  }

  /** Alarms of a sensor that are active. */
  active(sensor: string): readonly AlarmState[] {
    const { live } = this.#of(normalCode(sensor));
    return live.size === 0 ? [] : [...live.values()].filter(({ raised }) => raised !== null);
  }

  /** Time of the newest reading of a sensor and kind that was followed, ms; null before the first. */
  newestMs(sensor: string, kind: Kind): number | null {
    return this.#of(normalCode(sensor)).newest.get(kind)?.timeMs ?? null;
  }

  /** Whether `tick` has anything to report. */
  hasNews(nowMs: number, sensors: readonly SensorState[]): boolean {
    for (const { code, state, lastReadingMs } of sensors) {
      if (lastReadingMs === null || state === "unknown") continue;
      const silent = this.#of(normalCode(code)).live.get(SILENT_KEY);
      if ((state === "silent") !== (silent !== undefined && silent.raised !== null)) return true;
    }
    for (const [, , { shelved }] of this.#all()) {
      if (shelved !== null && shelved.untilMs <= nowMs) return true;
    }
    return false;
  }

  /** The payload's event of an alarm as it stands; null while it is not active. */
  current({ code, state, sensor }: FoundAlarm): AlarmEvent | null {
    const { raised } = state;
    if (raised === null) return null;
    const event = this.#eventOf(sensor?.code ?? code, state, "", raised.seenMs, {
      state: "active",
      text: raised.text,
    });
    return { ...event, id: raised.eventId };
  }

  /** What is watched of a sensor. */
  watches(sensor: string): readonly Watch[] {
    return [...(this.#sensors.get(normalCode(sensor))?.byKey.values() ?? [])];
  }

  /** Baselines of a sensor by `alarm/value@running state`. */
  baselines(sensor: string): ReadonlyMap<string, BaselineState> {
    return this.#of(normalCode(sensor)).baselines;
  }

  *#all(): Generator<[code: string, key: string, state: AlarmState]> {
    for (const code of new Set([...this.#states.keys(), ...this.#staged.keys()])) {
      for (const [key, state] of this.#of(code).live) yield [code, key, state];
    }
  }

  /* ---------- transactions ---------- */

  #of(code: string): SensorAlarms {
    return this.#staged.get(code) ?? this.#states.get(code) ?? NO_SENSOR;
  }

  #edit(code: string): SensorAlarms {
    const staged = this.#staged.get(code);
    if (staged !== undefined) return staged;
    const copy = copySensor(this.#of(code));
    this.#staged.set(code, copy);
    return copy;
  }

  #put(state: SensorAlarms, key: string, alarm: AlarmState): void {
    state.isChanged = true;
    if (isNothing(alarm)) state.live.delete(key);
    else state.live.set(key, alarm);
  }

  #followUp(
    codes: readonly string[],
    events: readonly AlarmEvent[],
    samples: readonly LearningSample[],
  ): FollowUp {
    const states: { sensor: string; text: string | null }[] = [];
    const forgotten: string[] = [];
    for (const code of new Set(codes)) {
      const state = this.#of(code);
      if (this.#boundSamples(state)) forgotten.push(code);
      if (!state.isChanged) continue;
      const text = saveSensor(state);
      const before = this.#stagedTexts.has(code)
        ? this.#stagedTexts.get(code)
        : (this.#texts.get(code) ?? null);
      if (text === before) continue;
      this.#stagedTexts.set(code, text);
      states.push({ sensor: code, text });
    }
    this.#stagedEvents.push(...events);
    const sampled = samples.map((sample) => ({ ...sample, sensor: normalCode(sample.sensor) }));
    return { events, states, samples: sampled, forgotten };
  }

  /** True when no baseline needs the samples any more. */
  #boundSamples(state: SensorAlarms): boolean {
    if (state.nextSample === 0) return false;
    const learning = [...state.baselines].filter(([, { first }]) => first === null);
    for (const [key, { from }] of learning) {
      if (state.nextSample - from <= SAMPLES_MAX) continue;
      state.baselines.set(key, { ...UNLEARNED, from: state.nextSample });
      state.isChanged = true;
    }
    if (learning.some(([, { count }]) => count > 0)) return false;
    state.nextSample = 0;
    state.isChanged = true;
    for (const [key, before] of learning) state.baselines.set(key, { ...before, from: 0 });
    return true;
  }

  committed(): void {
    if (this.#staged.size === 0) return;
    for (const [code, state] of this.#staged) this.#states.set(code, state);
    for (const [code, text] of this.#stagedTexts) this.#texts.set(code, text);
    const events = this.#stagedEvents;
    if (this.#stagedTexts.size > 0) this.version += 1;
    this.#clear();
    if (events.length > 0) this.#options.onEvents?.(events);
  }

  undone(): void {
    this.#clear();
  }

  #clear(): void {
    this.#staged.clear();
    this.#stagedTexts.clear();
    this.#stagedEvents = [];
  }
}

export interface FoundAlarm {
  /** Normal sensor code. */
  readonly code: string;
  readonly key: string;
  readonly state: AlarmState;
  /** Null where the sensor has left the site file. */
  readonly sensor: Sensor | null;
}

/** Id under which an alarm is shown that is shelved and not active. */
export function shelfId({ code, key }: Pick<FoundAlarm, "code" | "key">): string {
  return eventId("shelf", code, key, "", "");
}

const NO_SENSOR: SensorAlarms = emptySensor();
const NOTHING: FollowUp = { events: [], states: [], samples: [], forgotten: [] };
