/**
 * Findings of all machines: readings with tones in, findings out. No I/O: what must be written is returned as a
 * FollowUp for the transaction of the readings, like the alarms'; `committed` applies it, `undone` drops it.
 */
import { type AlarmEvent, eventId } from "../alarm/event.ts";
import type { FollowedReading, FollowUp, MachineState } from "../alarm/follow-up.ts";
import type { Machine } from "../machine.ts";
import { type Kind, normalCode, type Sensor, type Site } from "../sensor.ts";
import { findingKey } from "./finding.ts";
import { judge } from "./judge.ts";
import {
  advance,
  type FindingChange,
  loadFindings,
  NO_FINDINGS,
  type SensorFindings,
  saveFindings,
} from "./sensor-findings.ts";
import { endedSentence, findingSentence } from "./sentence.ts";
import { THRESHOLDS, type Thresholds } from "./thresholds.ts";

const FINDING_ALARM = "finding";
/** Findings are stored among the states of the alarms, under the sensor's code with this prefix. */
const SAVED_PREFIX = "finding:";
/** Readings of one sensor that wait for the speed of their time; the oldest are dropped. */
const WAITING_MAX = 48;
/** Readings of the signal that a waiting reading is compared with before it is dropped. */
const TRIES_MAX = 3;

export interface FindingOptions {
  /** r/min; null while it is unknown. */
  readonly speedAt: (machine: number, timeMs: number) => number | null;
  readonly stateAt: (sensor: string, timeMs: number) => MachineState | null;
  readonly thresholds?: Thresholds;
}

interface Waiting {
  readonly reading: FollowedReading;
  readonly tries: number;
}

interface Watched {
  readonly sensor: Sensor;
  readonly machine: Machine;
}

export class FindingEngine {
  readonly #options: FindingOptions;
  #watched: ReadonlyMap<string, Watched> = new Map();
  readonly #states = new Map<string, SensorFindings>();
  readonly #staged = new Map<string, SensorFindings>();
  readonly #texts = new Map<string, string | null>();
  readonly #stagedTexts = new Map<string, string | null>();
  readonly #waiting = new Map<string, readonly Waiting[]>();
  readonly #stagedWaiting = new Map<string, readonly Waiting[]>();
  #machines: readonly Machine[] = [];

  constructor(site: Site, options: FindingOptions) {
    this.#options = options;
    this.setSite(site);
  }

  setSite(site: Site): void {
    this.#machines = site.machines ?? [];
    const byId = new Map(this.#machines.map((machine) => [machine.id, machine]));
    const watched = new Map<string, Watched>();
    for (const sensor of site.sensors) {
      const machine = sensor.location && byId.get(sensor.location.machine);
      if (machine === undefined || !sensor.kinds.includes("accel")) continue;
      watched.set(normalCode(sensor.code), { sensor, machine });
    }
    this.#watched = watched;
    for (const code of this.#waiting.keys()) if (!watched.has(code)) this.#waiting.delete(code);
  }

  get machines(): readonly Machine[] {
    return this.#machines;
  }

  /** Sensors of a machine that findings are based on. */
  sensorsOf(machine: number): readonly Sensor[] {
    return [...this.#watched.values()]
      .filter((watched) => watched.machine.id === machine)
      .map(({ sensor }) => sensor);
  }

  of(sensor: string): SensorFindings {
    const code = normalCode(sensor);
    return this.#staged.get(code) ?? this.#states.get(code) ?? NO_FINDINGS;
  }

  wantsTones(sensor: string): boolean {
    return this.#watched.has(normalCode(sensor));
  }

  /** Takes its own entries out of the saved states; returns the damaged ones. */
  load(states: readonly { readonly sensor: string; readonly text: string }[]): readonly string[] {
    const damaged: string[] = [];
    for (const { sensor, text } of states) {
      if (!isFindingState(sensor)) continue;
      const code = sensor.slice(SAVED_PREFIX.length);
      try {
        this.#states.set(code, loadFindings(text));
        this.#texts.set(code, text);
      } catch {
        damaged.push(code);
      }
    }
    return damaged;
  }

  /**
   * Everything that should be on disk with the running transaction, for a store that was recreated and lost a part of
   * it.
   */
  saved(): FollowUp["states"] {
    const texts = new Map([...this.#texts, ...this.#stagedTexts]);
    return [...texts].map(([code, text]) => ({ sensor: `${SAVED_PREFIX}${code}`, text }));
  }

  /** The newest reading from before this process started: readings that are not newer count as late. */
  prime(sensor: string, newestMs: number): void {
    const code = normalCode(sensor);
    const state = this.of(code);
    if (this.#watched.has(code) && newestMs > (state.newestMs ?? Number.NEGATIVE_INFINITY)) {
      this.#states.set(code, { ...state, newestMs });
    }
  }

  /** Readings of one sensor and kind, about to be committed; the alarms have processed them. */
  follow(
    sensor: string,
    kind: Kind,
    readings: readonly FollowedReading[],
  ): Pick<FollowUp, "events" | "states"> {
    const code = normalCode(sensor);
    const events: AlarmEvent[] = [];
    const codes: string[] = [];
    if (kind === "accel" && this.#watched.has(code)) {
      const fresh = readings
        .filter(({ isFuture, tones }) => !isFuture && Array.isArray(tones))
        .map((reading) => ({ reading, tries: 0 }));
      events.push(...this.#take(code, fresh));
      codes.push(code);
    }
    for (const [other, { machine }] of this.#watched) {
      const waiting = this.#waitingOf(other);
      if (waiting.length === 0 || !isSignalOf(machine, code, kind)) continue;
      this.#stagedWaiting.set(other, []);
      events.push(...this.#take(other, waiting));
      codes.push(other);
    }
    return { events, states: this.#changed(codes) };
  }

  #waitingOf(code: string): readonly Waiting[] {
    return this.#stagedWaiting.get(code) ?? this.#waiting.get(code) ?? [];
  }

  #take(code: string, items: readonly Waiting[]): AlarmEvent[] {
    const watched = this.#watched.get(code);
    if (watched === undefined) return [];
    const { machine, sensor } = watched;
    const { speedAt, stateAt, thresholds = THRESHOLDS } = this.#options;
    const events: AlarmEvent[] = [];
    const inOrder = items.toSorted((a, b) => a.reading.timeMs - b.reading.timeMs);
    for (const { reading, tries } of inOrder) {
      const before = this.of(code);
      // Findings follow the order of time: a late reading says nothing about the present.
      if (before.newestMs !== null && reading.timeMs <= before.newestMs) continue;
      const speedRpm = speedAt(machine.id, reading.timeMs);
      const known = stateAt(code, reading.timeMs);
      const state = known ?? (machine.running === undefined ? "running" : "unknown");
      const judgement = judge(
        { tones: reading.tones ?? [], values: reading.values },
        {
          machine,
          sensor,
          speedRpm,
          state,
          thresholds,
          isHeld: (key) => (before.states.get(key)?.stands ?? null) !== null,
          fullRpm: (key) => before.states.get(key)?.fullRpm ?? null,
        },
      );
      const { id, timeMs } = reading;
      const isUnknown = state !== "standing" && (speedRpm === null || state === "unknown");
      if (isUnknown && machine.speed !== undefined) {
        if (tries < TRIES_MAX) this.#wait(code, { reading, tries: tries + 1 });
        const seen = { readingId: id, timeMs, speedRpm, cannot: judgement.cannot, judged: [] };
        this.#staged.set(code, { ...before, seen });
        continue;
      }
      const idOf = (key: string) => eventId(FINDING_ALARM, sensor.code, key, id, "stands");
      const { next, changes } = advance(
        before,
        { id, timeMs, speedRpm },
        judgement,
        thresholds,
        idOf,
      );
      this.#staged.set(code, next);
      for (const change of changes) events.push(eventOf(change, watched, id, timeMs));
    }
    return events;
  }

  #wait(code: string, item: Waiting): void {
    this.#stagedWaiting.set(code, [...this.#waitingOf(code), item].slice(-WAITING_MAX));
  }

  /** Forgets sensors that were removed from the site file. */
  reconcile(): FollowUp["states"] {
    const gone = [...this.#texts.keys()].filter((code) => !this.#watched.has(code));
    for (const code of gone) this.#staged.set(code, NO_FINDINGS);
    return this.#changed(gone);
  }

  #changed(codes: readonly string[]): { sensor: string; text: string | null }[] {
    return [...new Set(codes)].flatMap((code) => {
      const text = saveFindings(this.of(code));
      const before = this.#stagedTexts.has(code)
        ? this.#stagedTexts.get(code)
        : (this.#texts.get(code) ?? null);
      if (text === before) return [];
      this.#stagedTexts.set(code, text);
      return [{ sensor: `${SAVED_PREFIX}${code}`, text }];
    });
  }

  committed(): void {
    for (const [code, state] of this.#staged) this.#states.set(code, state);
    for (const [code, text] of this.#stagedTexts) this.#texts.set(code, text);
    for (const [code, waiting] of this.#stagedWaiting) this.#waiting.set(code, waiting);
    this.undone();
  }

  undone(): void {
    this.#staged.clear();
    this.#stagedTexts.clear();
    this.#stagedWaiting.clear();
  }
}

export function isFindingState(sensor: string): boolean {
  return sensor.startsWith(SAVED_PREFIX);
}

function isSignalOf({ speed, running }: Machine, code: string, kind: Kind): boolean {
  const isSpeed = speed !== undefined && kind === "rpm" && normalCode(speed.sensor) === code;
  return isSpeed || (running?.kind === kind && normalCode(running.sensor) === code);
}

function eventOf(
  { change, state }: FindingChange,
  { sensor, machine }: Watched,
  readingId: string,
  timeMs: number,
): AlarmEvent {
  const { finding, bearing, inRow, missed, last, stands } = state;
  const { verdict } = last;
  const value = findingKey(finding, bearing);
  const isEnded = change === "ended";
  return {
    id: isEnded
      ? eventId(FINDING_ALARM, sensor.code, value, readingId, "ended")
      : (stands?.id ?? ""),
    sensor: sensor.code,
    kind: "accel",
    value,
    alarm: FINDING_ALARM,
    severity: state.worstStage === 3 ? "alarm" : "warning",
    state: isEnded ? "cleared" : "active",
    timeMs,
    limit: verdict.limit,
    hysteresis: null,
    measured: isEnded ? null : verdict.level,
    unit: verdict.unit,
    readingId,
    raisedMs: stands?.sinceMs ?? timeMs,
    worst: { measured: verdict.level, timeMs: last.timeMs },
    acknowledged: null,
    shelved: null,
    note: null,
    reason: null,
    text: isEnded
      ? endedSentence(finding, bearing, sensor.code, missed)
      : findingSentence(verdict, inRow, machine, sensor),
    historical: false,
  };
}
